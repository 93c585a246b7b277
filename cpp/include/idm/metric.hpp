// Step 3 of Algorithm 2: lengths in the metric of the flow, and the neighbours that they choose.
//
//     lengths:  dH = (1 - tau) |dx| + tau |dy|
//     metric:   dH^2 = (1 - tau) |dx|^2 + tau |dy|^2
//
// |dy| is the change of the feature: the difference of the features of both points, or DH dx with the derivative DH of
// the point that the length starts from, so that dH(i, j) and dH(j, i) differ.
#pragma once

#include "idm/eigen.hpp"
#include "idm/neighbors.hpp"
#include "idm/parallel.hpp"
#include "idm/sparse_matrix.hpp"

namespace idm {

enum class Mixing { lengths, metric };
enum class Change { difference, derivative };

struct Flow {
    double tau;
    Mixing mixing;
    Change change;
};

// Points (rows x m) with what |dy| needs: their features (rows x n), or their derivatives (rows x (n m)).
struct FeaturePoints {
    ConstMatrixView points, values;
};

// For each base the k smallest dH among its candidates (`candidates` and their |dx|, Q x p, rows of points), sorted,
// ties by index. A base that coincides with a point (its twin, Q x 1, or -1) has that one first, with dH = 0.
void metric_neighbors(FeaturePoints points, FeaturePoints bases, ConstIndexMatrixView twins,
                      ConstIndexMatrixView candidates, ConstMatrixView distances, Flow flow, IndexMatrixView indices,
                      MatrixView lengths, const Execution& execution);

// The points of the index, with their `values`, that count a base among their neighbours by dH, with dH from the point
// to the base: both their candidates (`pool`, by |dx|) and their neighbours (`reach`, by dH) have to include it.
SparseMatrix reverse_metric_neighbors(const NeighborIndex& index, ConstMatrixView values, Reach pool, Reach reach,
                                      FeaturePoints bases, ConstIndexMatrixView twins, Flow flow,
                                      const Execution& execution);

}  // namespace idm
