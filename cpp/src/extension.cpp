#include "idm/extension.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "weighted_rows.hpp"

namespace idm {

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
        indices.rows(), 64, execution, [&] { return Workspace{std::vector<std::int32_t>(n, -1), {}, {}}; },
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
