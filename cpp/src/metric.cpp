#include "idm/metric.hpp"

#include <vector>

#include "flow_length.hpp"
#include "selection.hpp"

namespace idm {

void metric_neighbors(FeaturePoints points, ConstIndexMatrixView candidates, ConstMatrixView distances, Flow flow,
                      IndexMatrixView indices, MatrixView lengths, const Execution& execution) {
    struct Workspace {
        std::vector<double> difference;
        NearestWriter nearest;
    };
    parallel_for(
        candidates.rows(), 16, execution, [&] { return Workspace{std::vector<double>(points.points.cols()), {}}; },
        [&](Index begin, Index end, Workspace& w, Region& region) {
            for (Index i = begin; i < end; ++i) {
                w.nearest.clear();
                for (Index c = 0; c < candidates.cols(); ++c) {
                    const Index j = candidates(i, c);
                    const double change = squared_change(points, i, points, j, flow, w.difference.data());
                    const double length = mixed_length(distances(i, c), change, flow);
                    if (!(length < largest_length)) throw lengths_overflow();
                    w.nearest.offer(length, static_cast<std::int32_t>(j));
                }
                w.nearest.write(indices.cols(), i, &indices(i, 0), &lengths(i, 0));
                region.checkpoint();
            }
        });
}

}  // namespace idm
