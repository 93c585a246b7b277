// A length in the metric of the flow.
#pragma once

#include <cmath>
#include <stdexcept>

#include "idm/metric.hpp"
#include "symmetric.hpp"

namespace idm {

// |dy|^2 from one point to another; `difference` is a buffer for dx.
inline double squared_change(FeaturePoints from, Index i, FeaturePoints to, Index j, Flow flow, double* difference) {
    double change = 0;
    if (flow.change == Change::difference) {
        for (Index f = 0; f < from.values.cols(); ++f) {
            const double dy = from.values(i, f) - to.values(j, f);
            change += dy * dy;
        }
        return change;
    }
    const Index m = from.points.cols(), n = from.values.cols() / m;
    for (Index c = 0; c < m; ++c) difference[c] = to.points(j, c) - from.points(i, c);
    for (Index f = 0; f < n; ++f) {
        const double dy = dot(from.values.row(i).data() + f * m, difference, m);
        change += dy * dy;
    }
    return change;
}

// dH of |dx| and |dy|^2.
inline double mixed_length(double distance, double squared_change, Flow flow) {
    if (flow.mixing == Mixing::lengths) return (1 - flow.tau) * distance + flow.tau * std::sqrt(squared_change);
    return std::sqrt((1 - flow.tau) * distance * distance + flow.tau * squared_change);
}

// What a length must stay below, and what is thrown where it does not.
constexpr double largest_length = 1e300;
inline std::invalid_argument lengths_overflow() {
    return std::invalid_argument("lengths of the flow overflow; rescale X and y");
}

}  // namespace idm
