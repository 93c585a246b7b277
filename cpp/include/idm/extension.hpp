// The map at new points (section 7 of the method): the kernel row as it was symmetrised in training, and sums with it.
//
//     J(x, j) = (1/2 [j is a neighbour of x] + 1/2 [x is a neighbour of j]) exp(-d^2 / (2 eps))
//     f(x)    = sum_j J(x, j) w_j f_j / sum_j J(x, j) w_j              with w = D^-alpha
#pragma once

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"
#include "idm/sparse_matrix.hpp"

namespace idm {

// Fills `extended` (Q x M) from the values (N x M) and weights (N x 1) of the points, with the neighbours of each query
// (Q x k) and the points that have it as theirs, and `support` (Q x 1) with the row sums of J. The kernel is taken
// relative to its largest entry, so that a query far from all points gets the values of the nearest ones: `support`
// tells.
void extend(ConstIndexMatrixView indices, ConstMatrixView distances, SparseView reverse, double epsilon,
            ConstMatrixView weights, ConstMatrixView values, MatrixView extended, MatrixView support,
            const Execution& execution);

}  // namespace idm
