#include "idm/metric.hpp"

#include <vector>

#include "flow_length.hpp"
#include "selection.hpp"

namespace idm {

void metric_neighbors(FeaturePoints points, ConstIndexMatrixView candidates, ConstMatrixView distances, Flow flow,
                      IndexMatrixView indices, MatrixView lengths, const Execution& execution) {
    struct Workspace {
        std::vector<double> difference;
        Eigen::ArrayXd lengths;
        NearestWriter nearest;
    };
    const Index n = candidates.cols();
    parallel_for(
        candidates.rows(), 16, execution,
        [&] { return Workspace{std::vector<double>(points.points.cols()), Eigen::ArrayXd(n), {}}; },
        [&](Index begin, Index end, Workspace& w, Region& region) {
            for (Index i = begin; i < end; ++i) {
                for (Index c = 0; c < n; ++c) {
                    w.lengths[c] = squared_change(points, i, points, candidates(i, c), flow, w.difference.data());
                }
                mix(Eigen::Map<const Eigen::ArrayXd>(distances.row(i).data(), n), flow, w.lengths);
                w.nearest.clear(n);
                for (Index c = 0; c < n; ++c) {
                    w.nearest.offer(w.lengths[c], static_cast<std::int32_t>(candidates(i, c)));
                }
                w.nearest.write(indices.cols(), i, &indices(i, 0), &lengths(i, 0));
                region.checkpoint();
            }
        });
}

}  // namespace idm
