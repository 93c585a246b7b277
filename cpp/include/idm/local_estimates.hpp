// The feature at a point from its neighbours: the affine regression of local_derivatives.hpp for many bandwidths and
// ridges at once, so that those can be chosen which predict left-out points best.
//
// With eps = f times the bandwidth of the base, normalised weights w = c exp(-r^2 / (2 eps)), means x~ and y~, the rows
// w_j^(1/2) (x_j - x~) of R, and the base point as the origin, so that the regression is y~ - DH x~ there:
//     fitted = y~ - sum_j w_j (y_j - y~) (x_j - x~)^T t,     (R^T R + gamma eps I) t = x~
// or, where there are more coordinates than neighbours, with the matrix S = R R^T of inner products,
//     fitted = y~ - sum_j w_j^(1/2) (y_j - y~) u_j,          (S + gamma eps I) u = R x~
// in which the inner products are computed once for all bandwidths.
#pragma once

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"

namespace idm {

// N points, each of which may stand for the mean of several: their number is its weight.
struct WeightedPoints {
    ConstMatrixView points;  // N x m
    ConstMatrixView values;  // N x n, the features
    ConstMatrixView counts;  // N x 1, c, positive
};

// Q base points with the points near them.
struct LocalBases {
    ConstMatrixView points;         // Q x m
    ConstIndexMatrixView indices;   // Q x k, by increasing distance
    ConstMatrixView distances;      // Q x k
    ConstMatrixView bandwidths;     // Q x 1
    ConstIndexMatrixView left_out;  // Q x 1, the point near each base that is not used, the last if that is not among
                                    // them; or empty
};

// A row of `fitted` holds the estimates of the n features at a base for each factor f and each ridge gamma, F x G x n
// numbers. A ridge below 1e-12 of the matrix is raised to that.
void local_estimates(const WeightedPoints& data, const LocalBases& bases, ConstMatrixView factors,
                     ConstMatrixView gammas, MatrixView fitted, const Execution& execution);

}  // namespace idm
