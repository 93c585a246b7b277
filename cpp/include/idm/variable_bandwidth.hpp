// A bandwidth of its own for each point: the kernel exp(-d_ij^2 / (2 eps rho_i rho_j)) is that of the lengths
//
//     s_ij  = d_ij / (rho_i rho_j)^(1/2)
//
// with rho_i from the lengths d_ij to the k neighbours j of point i, by increasing length, itself first:
//
//     r_i   = (mean of d_ij^2 over the first `n_near`)^(1/2)
//     a_i   = (r_i / median r)^(1/2)
//     R     = median of (mean of d_ij^2 / (a_i a_j) over the first `n_near`)^(1/2)
//     rho_i = a_i max(1, d_ij^2 / (a_i a_j R^2))              with j its eighth neighbour, or its last
//
// The last line is a bridge: since rho_j >= a_j, the eighth neighbour of every point has s_ij <= R, however thin the
// data are there. Medians are of what is positive.
#pragma once

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"

namespace idm {

// What gives a new point its rho, besides the lengths to its neighbours.
struct LocalScales {
    ConstMatrixView scales;  // N x 2: a and rho
    double unit;             // median r
    double reach;            // R
    Index n_near;
};

// Fills `scales` (N x 2) with a and rho, from neighbours (indices and lengths N x k) of any metric; the view in the
// result is that of `scales`.
LocalScales local_scales(ConstIndexMatrixView indices, ConstMatrixView lengths, Index n_near, MatrixView scales,
                         const Execution& execution);

// s_ij (N x k), with rho (N x 1).
void scale_lengths(ConstIndexMatrixView indices, ConstMatrixView lengths, ConstMatrixView rho, MatrixView scaled,
                   const Execution& execution);

}  // namespace idm
