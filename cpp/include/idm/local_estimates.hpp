// The feature at a point from its neighbours: the affine regression of local_derivatives.hpp for many bandwidths and
// ridges at once, so that those can be chosen which predict left-out points best.
//
// With eps = f times the median squared distance of the neighbours, normalised weights w, means x~ and y~, the rows
// w_j^(1/2) (x_j - x~) of R, and the base point as the origin, so that the regression is y~ - DH x~ there:
//     fitted = y~ - sum_j w_j (y_j - y~) (x_j - x~)^T t,     (R^T R + gamma eps I) t = x~
// or, where there are more coordinates than neighbours, with the matrix S = R R^T of inner products,
//     fitted = y~ - sum_j w_j^(1/2) (y_j - y~) u_j,          (S + gamma eps I) u = R x~
// in which the inner products are computed once for all bandwidths.
#pragma once

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"

namespace idm {

// At each of Q base points (Q x m) with k points near it (indices and distances, Q x k): a row of `fitted` holds the
// estimates of the n features `values` (N x n) for each factor f and each ridge gamma, F x G x n numbers. A ridge below
// 1e-12 of the matrix is raised to that.
void local_estimates(ConstMatrixView points, ConstMatrixView values, ConstMatrixView bases,
                     ConstIndexMatrixView indices, ConstMatrixView distances, ConstMatrixView factors,
                     ConstMatrixView gammas, MatrixView fitted, const Execution& execution);

}  // namespace idm
