#include "idm/landmarks.hpp"

#include <algorithm>
#include <limits>

namespace idm {

// In turn, not in parallel: the next choice needs all distances from the last, and there are few points to look at.
// They are kept by columns, so that their distances from one point are computed side by side.
void farthest_points(ConstMatrixView points, Index n_given, IndexMatrixView chosen, const Execution& execution) {
    const Index n = points.rows(), m = points.cols();
    const Matrix columns = points.transpose();
    Eigen::ArrayXd nearest = Eigen::ArrayXd::Constant(n, std::numeric_limits<double>::infinity()), squared(n);
    Region region(execution);
    for (Index l = 0; l < chosen.rows(); ++l) {
        const Index next = l < n_given ? l : std::max_element(nearest.begin(), nearest.end()) - nearest.begin();
        chosen(l, 0) = next;
        squared.setZero();
        for (Index c = 0; c < m; ++c) {
            squared += (columns.row(c).transpose().array() - points(next, c)).square();
            region.checkpoint_after(n);
        }
        nearest = nearest.min(squared);
        nearest[next] = -1;  // never twice, whatever coincides
        region.checkpoint();
    }
}

}  // namespace idm
