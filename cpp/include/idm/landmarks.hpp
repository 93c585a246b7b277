// Rows that carry the geometry: chosen to cover the data.
#pragma once

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"

namespace idm {

// The first n_given points and then, one by one, the point farthest from all chosen so far (ties: the smallest index),
// until `chosen` (L x 1) is full; n_given >= 1.
void farthest_points(ConstMatrixView points, Index n_given, IndexMatrixView chosen, const Execution& execution);

}  // namespace idm
