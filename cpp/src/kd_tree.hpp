// A k-d tree for large k: fixed-size leaves, exact bounding boxes, and searches within a radius.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"

namespace idm {

class KdTree {
  public:
    static constexpr Index leaf_size = 32;

    KdTree(ConstMatrixView points, Region& region);

    struct Node {
        Index first, count;  // the tree positions of its points
        Index right;         // the left child follows its parent; 0: a leaf
    };

    // Calls visit(leaf) for every leaf that may hold points with |x - q|^2 <= limit(node), for all nodes above it and
    // any q in the box between `lower` and `upper`; in the order of the tree.
    template <class Limit, class Visit>
    void search(const double* lower, const double* upper, Limit&& limit, Visit&& visit) const;

    // The squared distances of the points of a leaf from the query.
    void leaf_squared(const Node& leaf, const double* query, double* squared) const;

    // Per node: the largest of the values (one per row of the data) of the points below it.
    std::vector<double> largest(const double* values) const;

    // Queries in the order of the tree, so that each is near the one before.
    struct Order {
        std::vector<Index> queries;  // their rows, in that order
        std::vector<Index> starts;   // per row: the tree position of the first point of the leaf nearest to it
    };
    Order order_of(ConstMatrixView queries, const Execution& execution) const;

    // The point (row of the data) at a tree position.
    std::int32_t point(Index position) const { return order_[position]; }
    const std::vector<std::int32_t>& order() const { return order_; }

  private:
    Index build(ConstMatrixView points, Index first, Index count, Region& region);
    Index locate(const double* query) const;  // greedily from the root
    double box_distance(Index node, const double* lower, const double* upper) const;

    Index m_;
    std::vector<std::int32_t> order_;
    std::vector<Node> nodes_;
    std::vector<double> boxes_;   // per node: m lower bounds, then m upper bounds
    std::vector<double> leaves_;  // per leaf: m x count, a column of points for each coordinate
};

// The least squared distance of two boxes, that of a node and another. The terms and their order are those of
// leaf_squared(), each term at most as large: rounding is monotone, so the bound holds for the computed numbers too.
inline double KdTree::box_distance(Index node, const double* lower, const double* upper) const {
    const double* node_lower = boxes_.data() + 2 * m_ * node;
    const double* node_upper = node_lower + m_;
    double sum = 0;
    for (Index c = 0; c < m_; ++c) {
        const double below = node_lower[c] - upper[c], above = lower[c] - node_upper[c];
        const double d = std::max(0.0, std::max(below, above));
        sum += d * d;
    }
    return sum;
}

// One coordinate after the other.
inline void KdTree::leaf_squared(const Node& node, const double* query, double* squared) const {
    const double* column = leaves_.data() + node.first * m_;
    double sums[leaf_size] = {};
    if (node.count == leaf_size) {
        for (Index c = 0; c < m_; ++c, column += leaf_size) {
            for (Index j = 0; j < leaf_size; ++j) {
                const double d = query[c] - column[j];
                sums[j] += d * d;
            }
        }
    } else {
        for (Index c = 0; c < m_; ++c, column += node.count) {
            for (Index j = 0; j < node.count; ++j) {
                const double d = query[c] - column[j];
                sums[j] += d * d;
            }
        }
    }
    std::copy_n(sums, node.count, squared);
}

template <class Limit, class Visit>
void KdTree::search(const double* lower, const double* upper, Limit&& limit, Visit&& visit) const {
    Index stack[64];
    Index depth = 0;
    stack[depth++] = 0;
    while (depth > 0) {
        const Index index = stack[--depth];
        if (box_distance(index, lower, upper) > limit(index)) continue;
        const Node& node = nodes_[index];
        if (node.right != 0) {
            stack[depth++] = node.right;
            stack[depth++] = index + 1;
            continue;
        }
        visit(node);
    }
}

}  // namespace idm
