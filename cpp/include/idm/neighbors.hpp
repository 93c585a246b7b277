// Step 1: neighbours (section 1 of the method, Algorithm 1 step 1).
#pragma once

#include <memory>

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"

namespace idm {

enum class NeighborMethod {
    automatic,  // the tree where it meets few points, else the blocks
    tree,       // a k-d tree
    blocked,    // all distances, a block at a time
};

class KdTree;
struct Repeats;

// Points (N x m, the caller's, who keeps them) and a tree of them. Immutable, so that threads may share it.
class NeighborIndex {
  public:
    NeighborIndex(ConstMatrixView points, const Execution& execution);
    ~NeighborIndex();

    ConstMatrixView points() const { return points_; }

    // The k nearest points of each point: `indices` and `distances` are N x k, 1 <= k <= N, the point itself
    // first with distance 0, the others by increasing distance, ties by increasing index. Exact: distances are
    // |x_i - x_j| from the differences, without overflow or underflow. Memory beyond the result is O(N m), and
    // while distances are computed in blocks up to 128 lists of candidates per thread, each usually of a few k
    // and at most of N.
    void nearest(IndexMatrixView indices, MatrixView distances, const Execution& execution,
                 NeighborMethod method = NeighborMethod::automatic) const;

    // The same for each row of `queries` (Q x m), none of which counts as one of the points.
    void nearest(ConstMatrixView queries, IndexMatrixView indices, MatrixView distances, const Execution& execution,
                 NeighborMethod method = NeighborMethod::automatic) const;

    const KdTree& tree() const { return *tree_; }

    // The points (N) in an order in which those that follow each other are near each other.
    void order(Index* points) const;

  private:
    void search(ConstMatrixView queries, bool self, IndexMatrixView indices, MatrixView distances,
                const Execution& execution, NeighborMethod method) const;

    ConstMatrixView points_;
    std::unique_ptr<const KdTree> tree_;
    std::unique_ptr<const Repeats> repeats_;  // if some rows are repeated often
};

// The distances (N x k) of each point from the points that are listed for it.
void pair_distances(ConstMatrixView points, ConstIndexMatrixView indices, MatrixView distances,
                    const Execution& execution);

}  // namespace idm
