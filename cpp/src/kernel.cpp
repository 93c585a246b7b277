#include "idm/kernel.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

namespace idm {
namespace {

constexpr Index n_parts = 16;  // of the rows that are transposed side by side

SparseMatrix allocate(Index n_rows) {
    SparseMatrix matrix;
    matrix.n_rows = n_rows;
    matrix.row_start.reset(new std::int64_t[n_rows + 1]);
    return matrix;
}

void allocate_entries(SparseMatrix& matrix) {
    matrix.columns.reset(new std::int32_t[matrix.n_entries()]);
    matrix.values.reset(new double[matrix.n_entries()]);
}

// exp(-d_ij^2 / (2 eps)) for the k neighbours of point i.
void kernel_row(ConstMatrixView distances, Index i, double epsilon, Eigen::ArrayXd& values) {
    std::copy_n(distances.row(i).data(), values.size(), values.data());
    values = (values.square() * (-0.5 / epsilon)).exp();
}

// J^T. The rows of J are split in parts; each part counts its entries per column, then writes them where those of the
// parts before it end. So entries come by increasing row of J, whatever thread does which part.
SparseMatrix reversed(ConstIndexMatrixView indices, ConstMatrixView distances, double epsilon,
                      const Execution& execution) {
    const Index n = indices.rows(), k = indices.cols(), part_size = (n + n_parts - 1) / n_parts;
    std::vector<std::int64_t> next(n_parts * n, 0);  // per part and column: the count, then where the next entry goes
    parallel_for(
        n, part_size, execution, [] { return 0; },
        [&](Index begin, Index end, int, Region& region) {
            std::int64_t* count = next.data() + begin / part_size * n;
            for (Index i = begin; i < end; ++i) {
                for (Index j = 0; j < k; ++j) ++count[indices(i, j)];
                region.checkpoint();
            }
        });
    SparseMatrix result = allocate(n);
    std::int64_t total = 0;
    for (Index c = 0; c < n; ++c) {
        result.row_start[c] = total;
        for (Index p = 0; p < n_parts; ++p) {
            const std::int64_t count = next[p * n + c];
            next[p * n + c] = total;
            total += count;
        }
    }
    result.row_start[n] = total;
    allocate_entries(result);
    parallel_for(
        n, part_size, execution, [&] { return Eigen::ArrayXd(k); },
        [&](Index begin, Index end, Eigen::ArrayXd& values, Region& region) {
            std::int64_t* position = next.data() + begin / part_size * n;
            for (Index i = begin; i < end; ++i) {
                kernel_row(distances, i, epsilon, values);
                for (Index j = 0; j < k; ++j) {
                    const std::int64_t to = position[indices(i, j)]++;
                    result.columns[to] = static_cast<std::int32_t>(i);
                    result.values[to] = values[j];
                }
                region.checkpoint();
            }
        });
    return result;
}

struct Workspace {
    Eigen::ArrayXd values;
    std::vector<std::int32_t> place;  // of each point among the neighbours of the current one, or -1
};

}  // namespace

SparseMatrix symmetric_kernel(ConstIndexMatrixView indices, ConstMatrixView distances, double epsilon,
                              const Execution& execution) {
    const Index n = indices.rows(), k = indices.cols();
    if (n >= std::numeric_limits<std::int32_t>::max()) throw std::invalid_argument("kernel: more than 2^31 - 2 points");
    const SparseMatrix reverse = reversed(indices, distances, epsilon, execution);

    SparseMatrix result = allocate(n);
    const auto make_workspace = [&] { return Workspace{Eigen::ArrayXd(k), std::vector<std::int32_t>(n, -1)}; };
    // For each row: marks the neighbours, calls work(i, place), and takes the marks back.
    const auto for_rows = [&](auto&& work) {
        parallel_for(n, 64, execution, make_workspace, [&](Index begin, Index end, Workspace& w, Region&) {
            for (Index i = begin; i < end; ++i) {
                for (Index j = 0; j < k; ++j) w.place[indices(i, j)] = static_cast<std::int32_t>(j);
                work(i, w);
                for (Index j = 0; j < k; ++j) w.place[indices(i, j)] = -1;
            }
        });
    };
    for_rows([&](Index i, Workspace& w) {
        std::int64_t count = k;
        for (std::int64_t e = reverse.row_start[i]; e < reverse.row_start[i + 1]; ++e) {
            count += w.place[reverse.columns[e]] < 0;
        }
        result.row_start[i + 1] = count;
    });
    result.row_start[0] = 0;
    for (Index i = 0; i < n; ++i) result.row_start[i + 1] += result.row_start[i];
    allocate_entries(result);
    for_rows([&](Index i, Workspace& w) {
        std::int32_t* columns = result.columns.get() + result.row_start[i];
        double* values = result.values.get() + result.row_start[i];
        kernel_row(distances, i, epsilon, w.values);
        for (Index j = 0; j < k; ++j) {
            columns[j] = static_cast<std::int32_t>(indices(i, j));
            values[j] = w.values[j] / 2;
        }
        Index to = k;
        for (std::int64_t e = reverse.row_start[i]; e < reverse.row_start[i + 1]; ++e) {
            const std::int32_t column = reverse.columns[e], place = w.place[column];
            if (place >= 0) {
                values[place] += reverse.values[e] / 2;
            } else {
                columns[to] = column;
                values[to++] = reverse.values[e] / 2;
            }
        }
    });
    return result;
}

void multiply(const std::int64_t* row_start, const std::int32_t* columns, const double* values, ConstMatrixView x,
              MatrixView y, const Execution& execution) {
    const double* in = x.data();
    double* out = y.data();
    parallel_for(
        y.size(), 256, execution, [] { return 0; },
        [&](Index begin, Index end, int, Region&) {
            for (Index i = begin; i < end; ++i) {
                // Four sums, so that an addition need not wait for the one before.
                double sums[4] = {};
                std::int64_t e = row_start[i];
                for (; e + 4 <= row_start[i + 1]; e += 4) {
                    for (int l = 0; l < 4; ++l) sums[l] += values[e + l] * in[columns[e + l]];
                }
                for (int l = 0; e < row_start[i + 1]; ++e, ++l) sums[l] += values[e] * in[columns[e]];
                out[i] = (sums[0] + sums[2]) + (sums[1] + sums[3]);
            }
        });
}

}  // namespace idm
