// Step 2 for all points: bandwidth, dimension and density (Algorithm 1, steps 2 to 9).
#pragma once

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"

namespace idm {

enum class Tuning {
    d1,   // eps = argmax d1, dimension = d1
    svd,  // eps = argmin M, dimension = d_ave
};

// For each point with its k neighbours (indices and distances N x k, self first): the columns of `geometry`
// (N x 3) become the bandwidth eps, the dimension d, and the logarithm of the density
//     log q = log(D / N) - d/2 log(2 pi eps).
// A point all of whose neighbours coincide with it has no bandwidth of its own: it gets dimension 0 and the
// median of the other bandwidths. Returns the number of such points; if there are no others, all bandwidths
// are 0.
Index local_geometry(ConstMatrixView points, ConstIndexMatrixView indices, ConstMatrixView distances, Tuning tuning,
                     Index n_bandwidths, MatrixView geometry, const Execution& execution);

}  // namespace idm
