// Step 8 (a) and (b) of Algorithm 2: both normalisations of the kernel.
//
//     D_i = sum_j J_ij,   K_ij = J_ij / (D_i D_j)^alpha,   Dh_i = (sum_j K_ij)^(1/2),   Khat_ij = K_ij / (Dh_i Dh_j)
#pragma once

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"
#include "idm/sparse_matrix.hpp"

namespace idm {

// Replaces the values of a symmetric N x N matrix by those of Khat, and fills `sums` (N x 2) with D and Dh.
void normalize(SparseMatrix& matrix, double alpha, MatrixView sums, const Execution& execution);

}  // namespace idm
