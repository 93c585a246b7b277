// A bandwidth of its own for each point: the kernel exp(-d_ij^2 / (2 eps rho_i rho_j)) is that of the lengths
//
//     s_ij  = d_ij / (rho_i rho_j)^(1/2)
//
// with rho_i from the lengths d_ij to the k neighbours j of point i, by increasing length, itself first:
//
//     r_i   = (mean of d_ij^2 over the first `n_near`)^(1/2)
//     a_i   = (r_i / median r)^(1/2)
//     R     = median of (mean of d_ij^2 / (a_i a_j) over the first `n_near`)^(1/2)
//     b_i   = a_i max(1, d_ij / ((a_i a_j)^(1/2) R))             with j its eighth neighbour, or the
//     rho_i = b_i max(1, d_ij / ((b_i b_j)^(1/2) R))             `n_near` / 3-th, if that is nearer
//
// The last two lines are a bridge. In thin data both ends of it widen, and the eighth neighbour comes to lie at about R
// by the first; a single point beside dense data, at s R before, comes to s^(1/4) R by both. More would make it a
// neighbour of all. Medians are of what is positive.
#pragma once

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"

namespace idm {

// What gives a new point its rho, besides the lengths to its neighbours.
struct LocalScales {
    ConstMatrixView scales;  // N x 3: a, b and rho
    double unit;             // median r
    double reach;            // R
    Index n_near;
};

// Fills `scales` (N x 3) with a, b and rho, from neighbours (indices and lengths N x k) of any metric; the view in the
// result is that of `scales`.
LocalScales local_scales(ConstIndexMatrixView indices, ConstMatrixView lengths, Index n_near, MatrixView scales,
                         const Execution& execution);

// s_ij (N x k), with rho (N x 1).
void scale_lengths(ConstIndexMatrixView indices, ConstMatrixView lengths, ConstMatrixView rho, MatrixView scaled,
                   const Execution& execution);

}  // namespace idm
