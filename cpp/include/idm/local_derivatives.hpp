// Step 3: the derivative DH of the feature map at each point (section 3.2, Algorithm 1 steps 10 to 12).
//
// With normalised weights w_j = exp(-r_j^2 / (2 eps)) / D, differences dx_j, dy_j, and C = sum_j w_j dx_j
// dx_j^T:
//     correlation   DH = (sum_j w_j dy_j dx_j^T) / eps
//     regression    DH = (sum_j w_j dy_j dx_j^T) (C + gamma eps I)^-1
//     affine        the same with both differences taken from their weighted means instead of the base point
// gamma eps is a ridge across the tangent space, where C is O(eps^2) and plain regression undetermined. With
// gamma = 0 it is the least-squares solution of least norm. A ridge below 1e-12 of C is raised to that.
#pragma once

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"

namespace idm {

enum class Derivative { affine, regression, correlation };

// At each of Q base points (Q x m) with its k nearest points (indices and distances, Q x k) and a bandwidth
// (Q x 1): the derivative of the features `values` (N x n), n x m numbers per row of `derivatives`.
// `base_values` (Q x n) are the features of the base points; the affine method does not read them, but estimates them:
// `fitted` (Q x n) is the value of its regression at the base point, and for the other methods the base value.
void local_derivatives(ConstMatrixView points, ConstMatrixView values, ConstMatrixView bases,
                       ConstMatrixView base_values, ConstIndexMatrixView indices, ConstMatrixView distances,
                       ConstMatrixView bandwidths, Derivative method, double gamma, MatrixView derivatives,
                       MatrixView fitted, const Execution& execution);

}  // namespace idm
