// The map at new points (section 7 of the method): the kernel row as it was symmetrised in training, and sums with it.
//
//     J(x, j) = (1/2 [j is a neighbour of x] + 1/2 [x is a neighbour of j]) exp(-d^2 / (2 eps rho(x) rho_j))
//     f(x)    = sum_j J(x, j) w_j f_j / sum_j J(x, j) w_j              with w = D^-alpha
//
// d are lengths of the flow; those of a plain diffusion map are the distances, with tau = 0 and no values. rho(x) is
// made of the lengths to the k neighbours of x as that of a point of the data is (variable_bandwidth.hpp), so that it
// tends to rho_i where x tends to x_i; all rho are 1 where there is one bandwidth for all.
#pragma once

#include <optional>

#include "idm/eigen.hpp"
#include "idm/metric.hpp"
#include "idm/neighbors.hpp"
#include "idm/parallel.hpp"
#include "idm/variable_bandwidth.hpp"

namespace idm {

// What training leaves of N points.
struct TrainedMap {
    const NeighborIndex& index;
    ConstMatrixView values;      // of the flow: features or derivatives, N x n
    ConstMatrixView pool_radii;  // N x 1: how far the `pool_size` candidates of each point reach, by |dx|,
    ConstMatrixView radii;       // N x 1: and the `n_neighbors` neighbours that it has among them, by d
    Flow flow;
    Index pool_size, n_neighbors;
    double epsilon;
    ConstMatrixView weights;            // w, N x 1
    ConstMatrixView functions;          // f, N x M
    std::optional<LocalScales> scales;  // none: one bandwidth for all
};

// Fills `extended` (Q x M), and `nearest` and `distances` (Q x 1) with the nearest point of each base by |dx|. A point
// has a base as its neighbour if both its candidates and its neighbours reach beyond the base. The kernel is taken
// relative to its largest entry, so that a base far from all points gets the values of the nearest ones. Each row
// depends on that row alone, to the bit.
void extend(const TrainedMap& map, FeaturePoints bases, MatrixView extended, IndexMatrixView nearest,
            MatrixView distances, const Execution& execution);

}  // namespace idm
