// All distances, a block at a time, as matrix products in single precision; what they lose is bounded, so
// that the candidates kept are sure to contain the k nearest.
//
// With y = (x - centre) * factor rounded to float and c = O(m 2^-24), the screening value
//     v_ij = (1 - c) |y_j|^2 - 2 y_i.y_j    satisfies    v_ij - slack_i <= d_ij^2 - |y_i|^2
//                                                     <= v_ij + 2 c |y_j|^2 + slack_i.
// If T is the largest right-hand side among the k smallest v, then all points with v_ij - slack_i <= T are
// kept: k points are at most that far, and a nearer point cannot have a larger left-hand side.
#pragma once

#include <cstdint>
#include <vector>

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"
#include "selection.hpp"

namespace idm {

class BlockedDistances {
  public:
    static constexpr Index block_size = 128;  // queries

    // The candidates of one query, by increasing index.
    struct Row {
        std::vector<float> values;          // v_ij, the first `size` of them count
        std::vector<std::int32_t> indices;  // j, likewise
        Index size;
        float threshold;
        NearestWriter nearest;  // the candidates with exact distances
    };
    struct Workspace {
        FloatMatrix products;  // block_size x tile_size
        Histogram histogram;
        std::vector<float> values;
        std::vector<Row> rows;
    };

    BlockedDistances(ConstMatrixView points, ConstMatrixView queries, bool self, Index k, const Execution& execution);

    Workspace workspace() const;

    // Leaves in w.rows[i - begin].nearest a superset of the k nearest points of each query begin <= i < end.
    void collect(Index begin, Index end, Workspace& w, Region& region) const;

  private:
    static constexpr Index tile_size = 2048;  // points

    void screen(Index begin, Index end, Workspace& w, Region& region) const;
    void append(Row& row, const float* products, Index first, Index count) const;
    void shrink(Row& row, double norm, Workspace& w) const;
    double slack_of(double norm) const;

    ConstMatrixView points_, queries_;
    Index k_;
    double error_;                     // c
    FloatMatrix rounded_points_;       // y_j
    FloatMatrix rounded_queries_;      // -2 y_i
    std::vector<float> norms_;         // (1 - c) |y_j|^2
    std::vector<double> query_norms_;  // |y_i|^2
};

}  // namespace idm
