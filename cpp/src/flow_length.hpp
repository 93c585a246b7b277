// A length in the metric of the flow.
#pragma once

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

// What a length must stay below.
constexpr double largest_length = 1e300;

// Replaces |dy|^2 of several points by dH, given |dx|.
template <class Distances, class Changes>
void mix(const Distances& distances, Flow flow, Changes&& changes) {
    if (flow.mixing == Mixing::lengths) {
        changes = (1 - flow.tau) * distances + flow.tau * changes.sqrt();
    } else {
        changes = ((1 - flow.tau) * distances.square() + flow.tau * changes).sqrt();
    }
    if (!(changes < largest_length).all()) {
        throw std::invalid_argument("lengths of the flow overflow; rescale X and y");
    }
}

}  // namespace idm
