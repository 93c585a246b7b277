#include "idm/weights.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace idm {

void Weights::start(const double* distances) {
    const Index k = squared_.size();
    bool sorted = distances[0] >= 0;
    for (Index j = 1; j < k; ++j) sorted &= distances[j] >= distances[j - 1];
    if (!sorted) throw std::invalid_argument("distances of neighbors must be sorted along each row, without NaN");
    for (Index j = 0; j < k; ++j) squared_[j] = distances[j] * distances[j];
}

Moments Weights::at(double epsilon) {
    const double limit = squared_[0] + 2 * epsilon * largest_exponent;
    const double* begin = squared_.data();
    count_ = std::upper_bound(begin, begin + squared_.size(), limit) - begin;
    auto x = x_.head(count_);
    auto w = w_.head(count_);
    x = squared_.head(count_) / (2 * epsilon);
    w = ((squared_[0] - squared_.head(count_)) / (2 * epsilon)).exp();
    sum_ = w.sum();
    const double mean = (w * x).sum() / sum_;
    return {sum_ * std::exp(-x[0]), mean, (w * x * x).sum() / sum_};
}

}  // namespace idm
