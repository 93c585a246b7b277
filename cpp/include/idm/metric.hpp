// Step 3 of Algorithm 2: lengths in the metric of the flow, and the neighbours that they choose.
//
//     lengths:  dH = (1 - tau) |dx| + tau |dy|
//     metric:   dH^2 = (1 - tau) |dx|^2 + tau |dy|^2
//
// |dy| is the change of the feature, either DH dx with the derivative DH of the point that the length starts from, so
// that dH(i, j) and dH(j, i) differ, or the difference of the features of both points.
#pragma once

#include "idm/eigen.hpp"
#include "idm/extension.hpp"
#include "idm/kernel.hpp"
#include "idm/parallel.hpp"

namespace idm {

enum class Mixing { lengths, metric };

struct Flow {
    double tau;
    Mixing mixing;
};

// Points with what |dy| needs: their derivatives (rows x (n m)), or if these are empty their features (rows x n).
struct FeaturePoints {
    ConstMatrixView points, derivatives, features;
};

// For each base the k smallest dH among its candidates (`candidates` and their |dx|, Q x p, rows of points), sorted,
// ties by index. Where the bases are the points themselves (`self`), each is its own first neighbour, with dH = 0.
void metric_neighbors(FeaturePoints points, FeaturePoints bases, ConstIndexMatrixView candidates,
                      ConstMatrixView distances, Flow flow, bool self, IndexMatrixView indices, MatrixView lengths,
                      const Execution& execution);

// The points that count a base among their neighbours by dH, with dH from the point to the base: both their candidates
// (`pool`, by |dx|) and their neighbours (`reach`, by dH) have to include it. `twins` as for reverse_neighbors.
SparseMatrix reverse_metric_neighbors(FeaturePoints points, Reach pool, Reach reach, FeaturePoints bases,
                                      ConstIndexMatrixView twins, Flow flow, const Execution& execution);

}  // namespace idm
