// The scale of one point, of the data or new.
#pragma once

#include <algorithm>
#include <cmath>

#include "idm/eigen.hpp"

namespace idm {

// The neighbour that the bridge leads to, counted from 0, which is the point itself.
constexpr Index bridged = 8;
// Copies of a point have no length: r is at least this share of the median.
constexpr double least_scale = 1e-3;
// s_ij / R at most, so that its square stays in range.
constexpr double longest_bridge = 1e50;

// (mean of d^2)^(1/2), without overflow. Lengths are told by length(j).
template <class Length>
double root_mean_square(Index n, Length&& length) {
    double largest = 0, sum = 0;
    for (Index j = 0; j < n; ++j) largest = std::max(largest, length(j));
    if (!(largest > 0)) return 0;
    const double unit = 1 / std::max(largest, 1e-300);
    for (Index j = 0; j < n; ++j) {
        const double d = length(j) * unit;
        sum += d * d;
    }
    return largest * std::sqrt(sum / static_cast<double>(n));
}

// a, for r and its median.
inline double first_scale(double r, double unit) { return std::sqrt(std::max(r / unit, least_scale)); }

// rho, for a, the length to the eighth neighbour, and its a.
inline double bridged_scale(double a, double length, double a_of_other, double reach) {
    const double ratio = std::min(length / std::sqrt(a * a_of_other) / reach, longest_bridge);
    return a * std::max(1.0, ratio * ratio);
}

}  // namespace idm
