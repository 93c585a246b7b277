// Step 2, tuned by singular values: how the singular values of a neighbourhood scale with the bandwidth
// (sections 3.1 and 3.3); neighborhood.hpp has the formulas.
#pragma once

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"

namespace idm {

// With less weight D than this the laws say nothing of the geometry: few points beside the base point count.
constexpr double least_weight = 5;

// For one base point (1 x m) with its k neighbours sorted by distance, at each of L bandwidths: singular
// values and exponents (L x min(k, m)), and d1, d2, d_ave, M, D as the columns of `laws` (L x 5).
void scaling_laws(ConstMatrixView points, ConstMatrixView base, ConstIndexMatrixView indices, ConstMatrixView distances,
                  ConstMatrixView bandwidths, MatrixView singular_values, MatrixView exponents, MatrixView laws,
                  const Execution& execution);

}  // namespace idm
