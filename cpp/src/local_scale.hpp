// The scale of one point, of the data or new.
#pragma once

#include <algorithm>
#include <cmath>

#include "idm/eigen.hpp"

namespace idm {

// The neighbour of k that the bridge leads to, counted from 0, which is the point itself: the eighth, but with few
// first neighbours a third of them. Farther ones are out of reach everywhere, not only where data are thin.
inline Index bridged(Index n_near, Index k) { return std::min({Index{8}, std::max<Index>(1, n_near / 3), k - 1}); }

// Copies of a point have no length: r is at least this share of the median. And at most that: rho stays in range.
constexpr double least_scale = 1e-3, largest_scale = 1e100;
// s_ij / R at most, so that scales stay in range.
constexpr double longest_bridge = 1e100;

// (mean of d^2)^(1/2) of lengths d that are told by length(j), without overflow, in a fixed order.
template <class Length>
double root_mean_square(Index n, Length&& length) {
    constexpr Index lanes = 4;
    double largest = 0;
    for (Index j = 0; j < n; ++j) largest = std::max(largest, length(j));
    if (!(largest > 0)) return 0;
    const double unit = std::max(largest, 1e-300), inverse = 1 / unit;
    double sums[lanes] = {};
    for (Index j = 0; j < n; ++j) {
        const double d = length(j) * inverse;
        sums[j % lanes] += d * d;
    }
    return unit * std::sqrt(((sums[0] + sums[1]) + (sums[2] + sums[3])) / static_cast<double>(n));
}

// a, for r and its median.
inline double first_scale(double r, double unit) { return std::sqrt(std::clamp(r / unit, least_scale, largest_scale)); }

// b for a, or rho for b, the length to the eighth neighbour, and the same of it.
inline double bridged_scale(double a, double length, double a_of_other, double reach) {
    return a * std::clamp(length / std::sqrt(a * a_of_other) / reach, 1.0, longest_bridge);
}

}  // namespace idm
