// The singular values of one neighbourhood and how they scale with the bandwidth: a workspace for one thread.
//
// With the weights, x and E[.] of weights.hpp, g = (x_j - x)(x_j - x)^T and ' = d / dlog eps:
//     C   = E[g],  eigenvalues sigma_l^2, eigenvectors v_l
//     C'  = E[x g] - E[x] C
//     C'' = E[x^2 g] - (1 + 2 E[x]) E[x g] - (E[x^2] - E[x] - 2 E[x]^2) C
//     alpha_l = dlog sigma_l / dlog eps = v_l^T C' v_l / (2 sigma_l^2)
//     d2 = 2 sum_l c_l alpha_l,  c = 1 for l <= floor(d1), d1 - floor(d1) for the next, 0 beyond
//     M = |d1 - d2| / d_ave + |dlog d1 / dlog eps| + |dlog d2 / dlog eps|,  d_ave = (d1 + d2) / 2
// with dlog d2 from second-order perturbation of the eigenvalues: no differences between bandwidths.
#pragma once

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"
#include "idm/weights.hpp"

namespace idm {

// What the criterion says at one bandwidth.
struct Agreement {
    double d2, d_ave, disagreement;  // disagreement: M, infinite where d2 is not positive
};

// One neighbourhood of k points in R^m. Where m exceeds the number of points with weight, their Gram matrix
// is solved instead of C. For m up to 4 the products of coordinates are kept, so that a bandwidth costs little more
// than its weights.
class Neighborhood {
  public:
    Neighborhood(Index k, Index m);

    // Takes the differences of the neighbours from the base point, in units of a typical distance, so that products of
    // them neither overflow nor vanish.
    void start(ConstMatrixView points, const double* base, const Index* indices, double unit, Region& region);

    // Singular values and vectors with the weights at a bandwidth, which stay the caller's and must stay as they are
    // until the results below are read.
    void decompose(const Weights& weights, Region& region);

    // After decompose(): the exponents of the first n singular values, and the criterion.
    Agreement agreement(const Weights& weights, const Moments& moments, Index n_exponents, Region& region);
    // As many as agreement() needs at least.
    Index n_exponents(const Moments& moments) const;

    // Results. Beyond the rank, singular values are 0 and their exponents 1, that of normal directions.
    double singular_value(Index l) const;
    double exponent(Index l) const { return exponents_[l]; }
    // v_l, 0 where it is not determined; its largest component is positive.
    void vector(Index l, double* v) const;

  private:
    bool vanishes(Index l) const;
    void extend_gram(Index n, Region& region);
    void find_moments(const Weights& weights);
    struct Projected {
        double first, second;  // v^T E[x g] v and v^T E[x^2 g] v
    };
    Projected project(Index l, const Weights& weights);

    Index k_, m_, q_;  // q = min(k, m): the most that are solved for
    Index n_ = 0;      // points with weight
    Index size_ = 0;   // of the system solved: m, or n if that is smaller
    bool dual_ = false;
    Index n_rows_ = 0, n_gram_ = 0;   // how many rows_ and how much of gram_ are ready
    const double* points_ = nullptr;  // N x m
    const double* base_ = nullptr;
    double unit_ = 1;
    const Index* indices_ = nullptr;
    bool small_;
    Matrix pairs_;    // m (m + 1) / 2 x k: products of two coordinates, if m is small
    Matrix powers_;   // 3 x k: w / D, w x / D, w x^2 / D
    Matrix moments_;  // m (m + 1) / 2 x 3: E[g], E[x g], E[x^2 g]
    Eigen::ArrayXd zeros_;
    Matrix coordinates_;   // m x k: differences, a row per coordinate
    Matrix rows_;          // q x m: differences, a row per point
    Matrix gram_;          // q x q: their inner products
    Matrix scaled_;        // m x k: coordinates_ times the roots of the weights
    Matrix system_;        // q x q
    Matrix vectors_;       // q x q: its eigenvectors as rows
    Matrix dual_vectors_;  // q x q: those of the Gram matrix, such that v_l = rows_^T dual_vectors_.row(l)
    Eigen::ArrayXd values_, exponents_, root_weights_, scratch_;
    // Of one vector; z_p . image_ = v_p^T E[x g] v_l.
    Eigen::ArrayXd projection_, weighted_, image_;
};

}  // namespace idm
