// The weights of one neighbourhood at a bandwidth, and their moments.
//
// With distances r_j, in closed form, and E[.] the mean with weights w_j / D:
//     x_j = r_j^2 / (2 eps),   w_j = exp(-x_j),   D = sum_j w_j
//     d1 = 2 dlog D / dlog eps = 2 E[x],    dlog d1 / dlog eps = E[x^2] / E[x] - E[x] - 1
#pragma once

#include <limits>

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

class Weights {
  public:
    explicit Weights(Index k) : squared_(k), x_(k), w_(k) {}

    // Takes a row of k distances, which must not decrease.
    void start(const double* distances);

    // Finds x and w at a bandwidth, which must be positive. The w are relative to that of the nearest point, which is 1
    // even where all of them vanish; those that count are the first count().
    Moments at(double epsilon);

    const Eigen::ArrayXd& squared() const { return squared_; }  // r^2
    const Eigen::ArrayXd& x() const { return x_; }
    const Eigen::ArrayXd& w() const { return w_; }
    double sum() const { return sum_; }
    Index count() const { return count_; }

  private:
    Eigen::ArrayXd squared_, x_, w_;
    double sum_ = 0;
    Index count_ = 0;
};

}  // namespace idm
