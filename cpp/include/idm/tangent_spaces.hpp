// Section 3.1: the singular vectors of each neighbourhood, which sort themselves into tangent and normal
// ones.
#pragma once

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"

namespace idm {

// For each point with its k neighbours and a bandwidth (N x 1): the r largest singular values (N x r) of the
// weighted differences and their vectors (N x (m r); each row an m x r array, a vector per column).
void tangent_spaces(ConstMatrixView points, ConstIndexMatrixView indices, ConstMatrixView distances,
                    ConstMatrixView bandwidths, MatrixView singular_values, MatrixView vectors,
                    const Execution& execution);

}  // namespace idm
