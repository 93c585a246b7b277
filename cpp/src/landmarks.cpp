#include "idm/landmarks.hpp"

#include <algorithm>
#include <limits>

namespace idm {

// In turn, not in parallel: the next choice needs all distances from the last, and there are few points to look at.
// They are kept by columns, so that their distances from one point are computed side by side, a few points at a time.
void farthest_points(ConstMatrixView points, Index n_given, IndexMatrixView chosen, const Execution& execution) {
    constexpr Index few = 512;
    const Index n = points.rows(), m = points.cols();
    const Matrix columns = points.transpose();
    Eigen::ArrayXd nearest = Eigen::ArrayXd::Constant(n, std::numeric_limits<double>::infinity()), squared(few),
                   largest((n + few - 1) / few);  // of `nearest`, a few points each
    const auto farthest = [&] {
        const Index first = few * (std::max_element(largest.begin(), largest.end()) - largest.begin());
        const auto begin = nearest.begin() + first;
        return std::max_element(begin, begin + std::min(few, n - first)) - nearest.begin();
    };
    Region region(execution);
    for (Index l = 0; l < chosen.rows(); ++l) {
        const Index next = l < n_given ? l : farthest();
        chosen(l, 0) = next;
        nearest[next] = -1;  // never twice, whatever coincides
        for (Index first = 0; first < n; first += few) {
            const Index count = std::min(few, n - first);
            Eigen::Map<Eigen::ArrayXd> d(squared.data(), count), part(nearest.data() + first, count);
            d.setZero();
            for (Index c = 0; c < m; ++c) {
                d += (columns.row(c).segment(first, count).transpose().array() - points(next, c)).square();
            }
            part = part.min(d);
            largest[first / few] = part.maxCoeff();
            region.checkpoint_after(count * m);
        }
        region.checkpoint();
    }
}

}  // namespace idm
