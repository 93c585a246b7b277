#include "idm/extension.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kd_tree.hpp"
#include "selection.hpp"
#include "weighted_rows.hpp"

namespace idm {
namespace {

constexpr Index block = 64;  // of queries

bool reaches(Reach reach, Index point, double distance, Index twin) {
    const double radius = reach.radii(point, 0);
    if (distance != radius) return distance < radius || point == twin;
    return point == twin || (twin >= 0 && twin <= reach.last(point, 0));
}

// Compressed rows whose lengths show only when they are filled: fill(i, row) appends the entries of row i.
template <class MakeWorkspace, class Fill>
SparseMatrix collect_rows(Index n_rows, const Execution& execution, MakeWorkspace&& make_workspace, Fill&& fill) {
    struct Block {
        std::vector<std::int32_t> columns;
        std::vector<double> values;
        void add(std::int32_t column, double value) {
            columns.push_back(column);
            values.push_back(value);
        }
    };
    std::vector<Block> blocks((n_rows + block - 1) / block);
    SparseMatrix result;
    result.n_rows = n_rows;
    result.row_start = make_buffer<std::int64_t>(n_rows + 1);
    parallel_for(n_rows, block, execution, make_workspace,
                 [&](Index begin, Index end, auto& workspace, Region& region) {
                     Block& rows = blocks[begin / block];
                     for (Index i = begin; i < end; ++i) {
                         const std::size_t before = rows.columns.size();
                         fill(i, workspace, rows);
                         result.row_start[i + 1] = static_cast<std::int64_t>(rows.columns.size() - before);
                         region.checkpoint();
                     }
                 });
    result.row_start[0] = 0;
    for (Index i = 0; i < n_rows; ++i) result.row_start[i + 1] += result.row_start[i];
    result.columns = make_buffer<std::int32_t>(result.n_entries());
    result.values = make_buffer<double>(result.n_entries());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        const std::int64_t first = result.row_start[static_cast<Index>(b) * block];
        std::copy(blocks[b].columns.begin(), blocks[b].columns.end(), result.columns.get() + first);
        std::copy(blocks[b].values.begin(), blocks[b].values.end(), result.values.get() + first);
    }
    return result;
}

}  // namespace

SparseMatrix reverse_neighbors(ConstMatrixView points, Reach reach, ConstMatrixView queries, ConstIndexMatrixView twins,
                               const Execution& execution) {
    Region region(execution);
    const KdTree tree(points, region);
    const Index m = points.cols();
    // Squared radii with room for the rounding of distances, per node.
    std::vector<double> limits = tree.largest(reach.radii.data());
    const double slack = 1 + 1e-15 * static_cast<double>(m + 16);
    for (double& limit : limits) limit = std::pow(limit * slack, 2) + 1e-300;
    return collect_rows(
        queries.rows(), execution, [] { return 0; },
        [&](Index i, int, auto& row) {
            const double* query = queries.row(i).data();
            const auto limit = [&](Index node) { return limits[node]; };
            tree.search(query, limit, [&](Index first, Index count, const double* squared) {
                for (Index j = 0; j < count; ++j) {
                    const std::int32_t point = tree.point(first + j);
                    const double bound = reach.radii(point, 0) * slack;
                    if (squared[j] > bound * bound + 1e-300) continue;
                    const double d = distance(query, points.row(point).data(), m);
                    if (reaches(reach, point, d, twins(i, 0))) row.add(point, d);
                }
            });
        });
}

SparseMatrix within_reach(SparseView distances, Reach reach, ConstIndexMatrixView twins, const Execution& execution) {
    return collect_rows(
        distances.n_rows, execution, [] { return 0; },
        [&](Index i, int, auto& row) {
            for (std::int64_t e = distances.row_start[i]; e < distances.row_start[i + 1]; ++e) {
                if (reaches(reach, distances.columns[e], distances.values[e], twins(i, 0))) {
                    row.add(distances.columns[e], distances.values[e]);
                }
            }
        });
}

void extend(ConstIndexMatrixView indices, ConstMatrixView distances, SparseView reverse, double epsilon,
            ConstMatrixView weights, ConstMatrixView values, MatrixView extended, MatrixView support,
            const Execution& execution) {
    struct Workspace {
        std::vector<std::int32_t> place;  // of each point among the columns of the row, or -1
        std::vector<std::int32_t> columns;
        std::vector<double> kernel;
    };
    const Index n = values.rows(), k = indices.cols();
    parallel_for(
        indices.rows(), block, execution, [&] { return Workspace{std::vector<std::int32_t>(n, -1), {}, {}}; },
        [&](Index begin, Index end, Workspace& w, Region& region) {
            for (Index i = begin; i < end; ++i) {
                const std::int64_t first = reverse.row_start[i], last = reverse.row_start[i + 1];
                double nearest = distances.row(i).minCoeff();
                for (std::int64_t e = first; e < last; ++e) nearest = std::min(nearest, reverse.values[e]);
                const double exponent = -0.5 / epsilon;
                w.columns.clear();
                w.kernel.clear();
                const auto add = [&](std::int32_t point, double d) {
                    // d^2 - nearest^2 without rounding where they are equal, whatever the compiler contracts.
                    const double half = std::exp(exponent * ((d - nearest) * (d + nearest))) / 2;
                    if (w.place[point] < 0) {
                        w.place[point] = static_cast<std::int32_t>(w.columns.size());
                        w.columns.push_back(point);
                        w.kernel.push_back(half);
                    } else {
                        w.kernel[w.place[point]] += half;
                    }
                };
                for (Index j = 0; j < k; ++j) add(static_cast<std::int32_t>(indices(i, j)), distances(i, j));
                for (std::int64_t e = first; e < last; ++e) add(reverse.columns[e], reverse.values[e]);
                double sum = 0, total = 0;
                for (std::size_t e = 0; e < w.columns.size(); ++e) {
                    sum += w.kernel[e];
                    w.kernel[e] *= weights(w.columns[e], 0);
                    total += w.kernel[e];
                    w.place[w.columns[e]] = -1;
                }
                support(i, 0) = sum * std::exp(exponent * (nearest * nearest));
                for (double& weight : w.kernel) weight /= total;
                weighted_rows(w.columns.data(), w.kernel.data(), static_cast<std::int64_t>(w.columns.size()),
                              values.data(), values.cols(), extended.row(i).data());
                region.checkpoint();
            }
        });
}

}  // namespace idm
