// Steps 5 to 7 of Algorithm 2: the local kernel as a sparse symmetric matrix.
//
//     J(i, j) = exp(-d(i, j)^2 / (2 eps))   for the k neighbours j of i,   0 elsewhere
//     result  = (J + J^T) / 2
#pragma once

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"
#include "idm/sparse_matrix.hpp"

namespace idm {

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

}  // namespace idm
