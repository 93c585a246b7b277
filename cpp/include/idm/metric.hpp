// Step 3 of Algorithm 2: lengths in the metric of the flow, and the neighbours that they choose.
//
//     lengths:  dH = (1 - tau) |dx| + tau |dy|
//     metric:   dH^2 = (1 - tau) |dx|^2 + tau |dy|^2
//
// |dy| is the change of the feature: the difference of the features of both points, or DH dx with the derivative DH of
// the point that the length starts from, so that dH(i, j) and dH(j, i) differ.
#pragma once

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"

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

// For each point the k smallest dH among its candidates (`candidates` and their |dx|, N x p, itself first), sorted,
// ties by index, itself first with dH = 0.
void metric_neighbors(FeaturePoints points, ConstIndexMatrixView candidates, ConstMatrixView distances, Flow flow,
                      IndexMatrixView indices, MatrixView lengths, const Execution& execution);

}  // namespace idm
