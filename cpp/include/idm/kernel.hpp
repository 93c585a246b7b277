// Steps 5 to 7 of Algorithm 2: the local kernel as a sparse symmetric matrix.
//
//     J(i, j) = exp(-d(i, j)^2 / (2 eps))   for the k neighbours j of i,   0 elsewhere
//     result  = (J + J^T) / 2
#pragma once

#include <cstdint>
#include <memory>

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"

namespace idm {

// Compressed rows: the entries of row i are those from row_start[i] to row_start[i + 1]. Plain arrays instead of
// vectors, so that the threads that fill them touch their pages first.
struct SparseMatrix {
    Index n_rows = 0;
    std::unique_ptr<std::int64_t[]> row_start;
    std::unique_ptr<std::int32_t[]> columns;
    std::unique_ptr<double[]> values;

    Index n_entries() const { return n_rows > 0 ? row_start[n_rows] : 0; }
};

// From the neighbours (indices and distances N x k, of any metric) and a global bandwidth eps. A row has the neighbours
// of its point in their order, then by increasing index the points that count it among theirs but are not among its
// own: the order, and that of all sums, does not depend on the number of threads.
SparseMatrix symmetric_kernel(ConstIndexMatrixView indices, ConstMatrixView distances, double epsilon,
                              const Execution& execution);

// y = A x for an N x N matrix of compressed rows; x and y are N x 1.
void multiply(const std::int64_t* row_start, const std::int32_t* columns, const double* values, ConstMatrixView x,
              MatrixView y, const Execution& execution);

}  // namespace idm
