// Step 2: the local bandwidth that maximises d1 (Algorithm 1, steps 2 to 6).
//
// For one neighbourhood with distances r_j, in closed form, with E[.] the mean with weights w_j / D:
//     x_j = r_j^2 / (2 eps),   w_j = exp(-x_j),   D = sum_j w_j
//     d1 = 2 dlog D / dlog eps = 2 E[x],    dlog d1 / dlog eps = E[x^2] / E[x] - E[x] - 1
#pragma once

#include <limits>
#include <vector>

#include "idm/eigen.hpp"

namespace idm {

// Weights of less than this share of the largest are left out of all sums: exp(-36.8) = 1e-16.
constexpr double largest_exponent = 36.8;

// D, E[x] and E[x^2] at one bandwidth.
struct Moments {
    double weight, mean, mean_square;

    double d1() const { return 2 * mean; }
    // dlog d1 / dlog eps; infinite where only one point has weight.
    double d1_slope() const {
        return mean > 0 ? mean_square / mean - mean - 1 : std::numeric_limits<double>::infinity();
    }
};

// The sweep over the bandwidths of one neighbourhood: n_bandwidths values, evenly spaced in log eps, from
// r_min^2 / (2 |log machine epsilon|), where r_min is the smallest distance that is not 0, to 10 r_k^2.
class BandwidthSweep {
  public:
    BandwidthSweep(Index k, Index n_bandwidths);

    // Takes a row of k distances, which must not decrease. False if they are all 0 and there is no bandwidth.
    bool start(const double* distances);

    double bandwidth(Index l) const;
    Index n_bandwidths() const { return n_bandwidths_; }

    // The sums at a bandwidth. Leaves the weights for those who need them too: x(), w() / weight_sum() and
    // n_weighted(). The w are relative to that of the nearest point, which is 1 even where all of them
    // vanish.
    Moments moments(double epsilon);
    double weight_sum() const { return weight_sum_; }
    const Eigen::ArrayXd& x() const { return x_; }
    const Eigen::ArrayXd& w() const { return w_; }
    Index n_weighted() const { return n_weighted_; }

    // All bandwidths of the sweep at once, in single precision: good to about 1e-5, if it can hold their spread.
    bool can_screen() const { return smallest_ > 1e-30 * largest_; }
    struct Screened {
        float weight, d1, slope;
    };
    const std::vector<Screened>& screen();

    // The bandwidth of the sweep with the largest d1: screened, then decided in double precision.
    Index argmax_d1();

  private:
    Index n_bandwidths_;
    double log_first_ = 0, log_step_ = 0;
    Index n_weighted_ = 0;
    double weight_sum_ = 0;
    Eigen::ArrayXd squared_, x_, w_;
    std::vector<float> relative_;        // r^2 / r_k^2, filled up to whole vector registers
    double smallest_ = 0, largest_ = 0;  // r_min^2 and r_k^2
    std::vector<Screened> screened_;
};

}  // namespace idm
