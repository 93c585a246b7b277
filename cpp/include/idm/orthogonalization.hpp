// What a block Krylov method does besides products with the matrix.
#pragma once

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"

namespace idm {

// block -= V V^T block, for V the first d columns of `basis` (N x D) and a block of N x b. Sums go over parts of the
// rows that depend on N alone.
void project_out(ConstMatrixView basis, Index d, MatrixView block, const Execution& execution);

}  // namespace idm
