// Step 8 (a) and (b) of Algorithm 2: both normalisations of the kernel.
//
//     D_i = sum_j J_ij,   K_ij = J_ij / (D_i D_j)^alpha,   Dh_i = (sum_j K_ij)^(1/2),   Khat_ij = K_ij / (Dh_i Dh_j)
#pragma once

#include <cstdint>

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"

namespace idm {

// Replaces the values of a symmetric N x N matrix of compressed rows by those of Khat, and fills `sums` (N x 2) with D
// and Dh.
void normalize(const std::int64_t* row_start, const std::int32_t* columns, double* values, double alpha,
               MatrixView sums, const Execution& execution);

}  // namespace idm
