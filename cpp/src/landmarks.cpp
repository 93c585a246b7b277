#include "idm/landmarks.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "selection.hpp"

namespace idm {

// In turn, not in parallel: the next choice needs all distances from the last, and there are few points to look at.
void farthest_points(ConstMatrixView points, Index n_given, IndexMatrixView chosen, const Execution& execution) {
    const Index n = points.rows(), m = points.cols();
    std::vector<double> squared(n, std::numeric_limits<double>::infinity());  // distances from those chosen
    Region region(execution);
    for (Index l = 0; l < chosen.rows(); ++l) {
        const Index next = l < n_given ? l : std::max_element(squared.begin(), squared.end()) - squared.begin();
        chosen(l, 0) = next;
        const double* x = points.row(next).data();
        for (Index i = 0; i < n; ++i) squared[i] = std::min(squared[i], squared_distance(points.row(i).data(), x, m));
        squared[next] = -1;  // never twice, whatever coincides
        region.checkpoint();
    }
}

}  // namespace idm
