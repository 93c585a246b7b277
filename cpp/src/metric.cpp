#include "idm/metric.hpp"

#include <cmath>
#include <vector>

#include "selection.hpp"
#include "symmetric.hpp"

namespace idm {
namespace {

// dH for |dx| = distance; `difference` is a buffer for dx.
double length(const double* from, const double* to, const double* derivative, Index m, Index n, double distance,
              Flow flow, double* difference) {
    for (Index c = 0; c < m; ++c) difference[c] = to[c] - from[c];
    double mapped = 0;  // |DH dx|^2
    for (Index f = 0; f < n; ++f) {
        const double change = dot(derivative + f * m, difference, m);
        mapped += change * change;
    }
    if (flow.mixing == Mixing::lengths) return (1 - flow.tau) * distance + flow.tau * std::sqrt(mapped);
    return std::sqrt((1 - flow.tau) * distance * distance + flow.tau * mapped);
}

}  // namespace

void metric_neighbors(ConstMatrixView points, ConstMatrixView bases, ConstMatrixView derivatives,
                      ConstIndexMatrixView candidates, ConstMatrixView distances, Flow flow, bool self,
                      IndexMatrixView indices, MatrixView lengths, const Execution& execution) {
    const Index m = points.cols(), n = derivatives.cols() / m;
    struct Workspace {
        std::vector<double> difference;
        NearestWriter nearest;
    };
    parallel_for(
        bases.rows(), 16, execution, [&] { return Workspace{std::vector<double>(m), {}}; },
        [&](Index begin, Index end, Workspace& w, Region& region) {
            for (Index i = begin; i < end; ++i) {
                w.nearest.clear();
                for (Index j = 0; j < candidates.cols(); ++j) {
                    const Index point = candidates(i, j);
                    w.nearest.offer(length(bases.row(i).data(), points.row(point).data(), derivatives.row(i).data(), m,
                                           n, distances(i, j), flow, w.difference.data()),
                                    static_cast<std::int32_t>(point));
                }
                w.nearest.write(indices.cols(), self ? i : -1, &indices(i, 0), &lengths(i, 0));
                region.checkpoint();
            }
        });
}

void reverse_lengths(ConstMatrixView points, ConstMatrixView bases, ConstMatrixView derivatives, Flow flow,
                     SparseMatrix& distances, const Execution& execution) {
    const Index m = points.cols(), n = derivatives.cols() / m;
    parallel_for(
        bases.rows(), 16, execution, [&] { return std::vector<double>(m); },
        [&](Index begin, Index end, std::vector<double>& difference, Region& region) {
            for (Index i = begin; i < end; ++i) {
                for (std::int64_t e = distances.row_start[i]; e < distances.row_start[i + 1]; ++e) {
                    const Index point = distances.columns[e];
                    distances.values[e] =
                        length(points.row(point).data(), bases.row(i).data(), derivatives.row(point).data(), m, n,
                               distances.values[e], flow, difference.data());
                }
                region.checkpoint();
            }
        });
}

}  // namespace idm
