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

namespace {

// Columns of a block at a time: entries of `a` take rows of it at random, which should lie close together.
constexpr Index most_columns = 16;

// finish(i, (A x)(i)) for all rows i; x is N x width.
template <class Finish>
void for_products(SparseView a, const double* x, Index width, const Execution& execution, Finish&& finish) {
    parallel_for(
        a.n_rows, 64, execution, [] { return 0; },
        [&](Index begin, Index end, int, Region&) {
            double product[most_columns];
            for (Index i = begin; i < end; ++i) {
                const std::int64_t first = a.row_start[i];
                weighted_rows(a.columns + first, a.values + first, a.row_start[i + 1] - first, x, width, product);
                finish(i, product);
            }
        });
}

}  // namespace

void multiply(SparseView a, ConstMatrixView x, MatrixView y, const Execution& execution) {
    Matrix some;
    for (Index c = 0; c < x.cols(); c += most_columns) {
        const Index width = std::min(most_columns, x.cols() - c);
        if (width < x.cols()) some = x.middleCols(c, width);
        for_products(a, width < x.cols() ? some.data() : x.data(), width, execution,
                     [&](Index i, const double* product) { std::copy_n(product, width, y.row(i).data() + c); });
    }
}

void chebyshev(SparseView a, ConstMatrixView x, double low, double high, Index degree, MatrixView y,
               const Execution& execution) {
    const double centre = (low + high) / 2, half = (high - low) / 2;
    Region region(execution);  // each product by itself may be too short to look for an interrupt
    for (Index c = 0; c < x.cols(); c += most_columns) {
        const Index width = std::min(most_columns, x.cols() - c);
        Matrix before = x.middleCols(c, width), now(a.n_rows, width);  // T_j-1 and T_j, from j = 1
        for_products(a, before.data(), width, execution, [&](Index i, const double* product) {
            const double* t = before.row(i).data();
            double* next = now.row(i).data();
            for (Index k = 0; k < width; ++k) next[k] = (product[k] - centre * t[k]) / half;
        });
        for (Index j = 1; j < degree; ++j) {
            for_products(a, now.data(), width, execution, [&](Index i, const double* product) {
                const double* t = now.row(i).data();
                double* next = before.row(i).data();
                for (Index k = 0; k < width; ++k) next[k] = 2 / half * (product[k] - centre * t[k]) - next[k];
            });
            before.swap(now);
            region.checkpoint();
        }
        y.middleCols(c, width) = now;
    }
}

SparseMatrix submatrix(SparseView a, ConstIndexMatrixView rows, const Execution& execution) {
    const Index n = rows.rows();
    std::vector<std::int32_t> place(a.n_rows, -1);
    for (Index i = 0; i < n; ++i) place[rows(i, 0)] = static_cast<std::int32_t>(i);
    SparseMatrix result(n, n);
    const auto for_rows = [&](auto&& work) {
        parallel_for(
            n, 64, execution, [] { return 0; },
            [&](Index begin, Index end, int, Region&) {
                for (Index i = begin; i < end; ++i) work(i, a.row_start[rows(i, 0)], a.row_start[rows(i, 0) + 1]);
            });
    };
    for_rows([&](Index i, std::int64_t first, std::int64_t last) {
        std::int64_t count = 0;
        for (std::int64_t e = first; e < last; ++e) count += place[a.columns[e]] >= 0;
        result.row_start[i + 1] = count;
    });
    for (Index i = 0; i < n; ++i) result.row_start[i + 1] += result.row_start[i];
    result.allocate_entries();
    for_rows([&](Index i, std::int64_t first, std::int64_t last) {
        std::int64_t to = result.row_start[i];
        for (std::int64_t e = first; e < last; ++e) {
            if (place[a.columns[e]] < 0) continue;
            result.columns[to] = place[a.columns[e]];
            result.values[to++] = a.values[e];
        }
    });
    return result;
}

Index connected_components(SparseView matrix, double least, IndexMatrixView labels) {
    labels.setConstant(-1);
    std::vector<std::int32_t> pending;
    Index n_components = 0, n_left = labels.rows();  // without a label
    for (Index start = 0; start < labels.rows(); ++start) {
        if (labels(start, 0) >= 0) continue;
        labels(start, 0) = n_components;
        --n_left;
        pending.assign(1, static_cast<std::int32_t>(start));
        while (!pending.empty() && n_left > 0) {
            const Index i = pending.back();
            pending.pop_back();
            for (std::int64_t e = matrix.row_start[i]; e < matrix.row_start[i + 1]; ++e) {
                const std::int32_t j = matrix.columns[e];
                if (matrix.values[e] > least && labels(j, 0) < 0) {
                    labels(j, 0) = n_components;
                    pending.push_back(j);
                    --n_left;
                }
            }
        }
        ++n_components;
    }
    return n_components;
}

}  // namespace idm
