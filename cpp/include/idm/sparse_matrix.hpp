// A sparse matrix of compressed rows, and what the eigensolver does with it.
#pragma once

#include <cstdint>

#include "idm/buffer.hpp"
#include "idm/eigen.hpp"
#include "idm/parallel.hpp"

namespace idm {

// Compressed rows that belong to someone else: the entries of row i are those from row_start[i] to row_start[i + 1].
struct SparseView {
    Index n_rows;
    const std::int64_t* row_start;
    const std::int32_t* columns;
    const double* values;
};

struct SparseMatrix {
    Index n_rows = 0, n_columns = 0;
    Buffer<std::int64_t> row_start;
    Buffer<std::int32_t> columns;
    Buffer<double> values;

    SparseMatrix() = default;
    // Rows whose starts are to be set; allocate_entries() then makes room for what they say.
    SparseMatrix(Index rows, Index cols);
    void allocate_entries();

    Index n_entries() const { return n_rows > 0 ? row_start[n_rows] : 0; }
    SparseView view() const { return {n_rows, row_start.get(), columns.get(), values.get()}; }
};

// y = A x for A of N rows; x and y have b columns. A block of columns costs less than one at a time, since the matrix
// is read once.
void multiply(SparseView a, ConstMatrixView x, MatrixView y, const Execution& execution);

// y = T_q((A - centre) / half) x for the Chebyshev polynomial of degree q >= 1 that is within [-1, 1] on [low, high],
// by T_j+1(t) = 2 t T_j(t) - T_j-1(t).
void chebyshev(SparseView a, ConstMatrixView x, double low, double high, Index degree, MatrixView y,
               const Execution& execution);

// The entries of some rows (N, each once) whose columns are among these, in their order. Rows that follow each other
// and share columns make products faster: those of x stay in cache.
SparseMatrix submatrix(SparseView a, ConstIndexMatrixView rows, const Execution& execution);

// Numbers the connected components of the graph of all entries above `least` of an N x N matrix, by increasing first
// row, and returns how many there are; `labels` is N x 1.
Index connected_components(SparseView matrix, double least, IndexMatrixView labels);

}  // namespace idm
