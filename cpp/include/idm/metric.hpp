// Step 3 of Algorithm 2: lengths in the metric of the flow, and the neighbours that they choose.
//
//     lengths:  dH = (1 - tau) |dx| + tau |DH dx|
//     metric:   dH^2 = (1 - tau) |dx|^2 + tau |DH dx|^2
//
// DH belongs to the point that the length starts from, so dH(i, j) and dH(j, i) differ.
#pragma once

#include "idm/eigen.hpp"
#include "idm/kernel.hpp"
#include "idm/parallel.hpp"

namespace idm {

enum class Mixing { lengths, metric };

struct Flow {
    double tau;
    Mixing mixing;
};

// For each base point (Q x m) the k smallest dH among its candidates (`candidates` and their |dx|, Q x p, rows of
// points), sorted, ties by index; `derivatives` is Q x (n m), the DH of each base. Where the bases are the points
// themselves (`self`), each is its own first neighbour, with dH = 0.
void metric_neighbors(ConstMatrixView points, ConstMatrixView bases, ConstMatrixView derivatives,
                      ConstIndexMatrixView candidates, ConstMatrixView distances, Flow flow, bool self,
                      IndexMatrixView indices, MatrixView lengths, const Execution& execution);

// Replaces |dx| in compressed rows (base, point) by dH from the point to the base, with the DH of the point (N x (n
// m)).
void reverse_lengths(ConstMatrixView points, ConstMatrixView bases, ConstMatrixView derivatives, Flow flow,
                     SparseMatrix& distances, const Execution& execution);

}  // namespace idm
