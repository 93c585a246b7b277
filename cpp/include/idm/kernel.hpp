// Steps 5 to 7 of Algorithm 2: the local kernel as a sparse symmetric matrix.
//
//     J(i, j) = exp(-d(i, j)^2 / (2 eps))   for the k neighbours j of i,   0 elsewhere
//     result  = (J + J^T) / 2
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
    Index n_rows = 0;
    Buffer<std::int64_t> row_start;
    Buffer<std::int32_t> columns;
    Buffer<double> values;

    Index n_entries() const { return n_rows > 0 ? row_start[n_rows] : 0; }
    SparseView view() const { return {n_rows, row_start.get(), columns.get(), values.get()}; }
};

// From the neighbours (indices and distances N x k, of any metric) and a global bandwidth eps. A row has the neighbours
// of its point in their order, then by increasing index the points that count it among theirs but are not among its
// own: the order, and that of all sums, does not depend on the number of threads.
SparseMatrix symmetric_kernel(ConstIndexMatrixView indices, ConstMatrixView distances, double epsilon,
                              const Execution& execution);

// The same for neighbours as nearest_neighbors finds them, several times faster: their distances are symmetric, and the
// k-th distance of a point says, without a search, whether it counts another among its neighbours.
SparseMatrix nearest_kernel(ConstIndexMatrixView indices, ConstMatrixView distances, double epsilon,
                            const Execution& execution);

// d_i = 2 dlog D_i / dlog eps = sum_j w_ij d_ij^2 / (eps sum_j w_ij): the dimension (N x 1) that the kernel sees.
void kernel_dimensions(ConstMatrixView distances, double epsilon, MatrixView dimensions, const Execution& execution);

// Numbers the connected components of the graph of all entries above `least`, by increasing first row, and returns how
// many there are; `labels` is N x 1.
Index connected_components(SparseView matrix, double least, IndexMatrixView labels);

// y = A x for an N x N matrix; x and y are N x b. A block of columns costs less than one at a time, since the matrix is
// read once.
void multiply(SparseView a, ConstMatrixView x, MatrixView y, const Execution& execution);

}  // namespace idm
