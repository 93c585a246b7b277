#include "idm/sparse_matrix.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "weighted_rows.hpp"

namespace idm {

SparseMatrix::SparseMatrix(Index rows, Index cols) : n_rows(rows), n_columns(cols) {
    if (cols > std::numeric_limits<std::int32_t>::max()) {
        throw std::invalid_argument("a sparse matrix has at most 2^31 - 1 columns");
    }
    row_start = make_buffer<std::int64_t>(rows + 1);
    row_start[0] = 0;
}

void SparseMatrix::allocate_entries() {
    columns = make_buffer<std::int32_t>(n_entries());
    values = make_buffer<double>(n_entries());
}

void multiply(SparseView a, ConstMatrixView x, MatrixView y, const Execution& execution) {
    constexpr Index most_columns = 16;
    Matrix some;  // columns of x: entries of `a` take rows of x at random, which should lie close together
    for (Index c = 0; c < x.cols(); c += most_columns) {
        const Index width = std::min(most_columns, x.cols() - c);
        const double* rows = x.data();
        if (width < x.cols()) {
            some = x.middleCols(c, width);
            rows = some.data();
        }
        parallel_for(
            a.n_rows, 64, execution, [] { return 0; },
            [&](Index begin, Index end, int, Region&) {
                for (Index i = begin; i < end; ++i) {
                    const std::int64_t first = a.row_start[i];
                    weighted_rows(a.columns + first, a.values + first, a.row_start[i + 1] - first, rows, width,
                                  y.row(i).data() + c);
                }
            });
    }
}

Index connected_components(SparseView matrix, double least, IndexMatrixView labels) {
    labels.setConstant(-1);
    std::vector<std::int32_t> pending;
    Index n_components = 0;
    for (Index start = 0; start < labels.rows(); ++start) {
        if (labels(start, 0) >= 0) continue;
        labels(start, 0) = n_components;
        pending.push_back(static_cast<std::int32_t>(start));
        while (!pending.empty()) {
            const Index i = pending.back();
            pending.pop_back();
            for (std::int64_t e = matrix.row_start[i]; e < matrix.row_start[i + 1]; ++e) {
                const std::int32_t j = matrix.columns[e];
                if (matrix.values[e] > least && labels(j, 0) < 0) {
                    labels(j, 0) = n_components;
                    pending.push_back(j);
                }
            }
        }
        ++n_components;
    }
    return n_components;
}

}  // namespace idm
