#include "idm/metric.hpp"

#include <cmath>
#include <stdexcept>
#include <vector>

#include "collect_rows.hpp"
#include "selection.hpp"
#include "symmetric.hpp"

namespace idm {
namespace {

// dH from one point to another, |dx| = distance apart; `difference` is a buffer for dx.
double length(FeaturePoints from, Index i, FeaturePoints to, Index j, double distance, Flow flow, double* difference) {
    double change = 0;  // |dy|^2
    if (flow.change == Change::derivative) {
        const Index m = from.points.cols(), n = from.values.cols() / m;
        for (Index c = 0; c < m; ++c) difference[c] = to.points(j, c) - from.points(i, c);
        for (Index f = 0; f < n; ++f) {
            const double dy = dot(from.values.row(i).data() + f * m, difference, m);
            change += dy * dy;
        }
    } else {
        change = squared_distance(from.values.row(i).data(), to.values.row(j).data(), from.values.cols());
    }
    if (flow.mixing == Mixing::lengths) return (1 - flow.tau) * distance + flow.tau * std::sqrt(change);
    return std::sqrt((1 - flow.tau) * distance * distance + flow.tau * change);
}

}  // namespace

void metric_neighbors(FeaturePoints points, FeaturePoints bases, ConstIndexMatrixView twins,
                      ConstIndexMatrixView candidates, ConstMatrixView distances, Flow flow, IndexMatrixView indices,
                      MatrixView lengths, const Execution& execution) {
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
                    const double dh = length(bases, i, points, j, distances(i, c), flow, w.difference.data());
                    if (!(dh < 1e300)) throw std::invalid_argument("lengths of the flow overflow; rescale X and y");
                    w.nearest.offer(dh, static_cast<std::int32_t>(j));
                }
                w.nearest.write(indices.cols(), twins(i, 0), &indices(i, 0), &lengths(i, 0));
                region.checkpoint();
            }
        });
}

SparseMatrix reverse_metric_neighbors(const NeighborIndex& index, ConstMatrixView values, Reach pool, Reach reach,
                                      FeaturePoints bases, ConstIndexMatrixView twins, Flow flow,
                                      const Execution& execution) {
    const FeaturePoints points{index.points(), values};
    const SparseMatrix candidates = index.reverse(pool, bases.points, twins, execution);
    return collect_rows(
        candidates.n_rows, candidates.n_columns, execution, [&] { return std::vector<double>(points.points.cols()); },
        [&](Index i, std::vector<double>& difference, auto& row) {
            for (std::int64_t e = candidates.row_start[i]; e < candidates.row_start[i + 1]; ++e) {
                const std::int32_t j = candidates.columns[e];
                const double dh = length(points, j, bases, i, candidates.values[e], flow, difference.data());
                if (reach.includes(j, dh, twins(i, 0))) row.add(j, dh);
            }
        });
}

}  // namespace idm
