#include "kd_tree.hpp"

#include <algorithm>
#include <numeric>

namespace idm {

KdTree::KdTree(ConstMatrixView points, Region& region)
    : m_(points.cols()), order_(points.rows()), leaves_(points.size()) {
    std::iota(order_.begin(), order_.end(), 0);
    build(points, 0, points.rows(), region);
}

// Splits the widest side of the box so that every leaf but the last is full.
Index KdTree::build(ConstMatrixView points, Index first, Index count, Region& region) {
    region.checkpoint();
    const Index index = static_cast<Index>(nodes_.size());
    nodes_.push_back({first, count, 0});
    boxes_.resize(boxes_.size() + 2 * m_);
    double* lower = boxes_.data() + 2 * m_ * index;
    double* upper = lower + m_;
    std::copy_n(points.row(order_[first]).data(), m_, lower);
    std::copy_n(lower, m_, upper);
    for (Index j = first + 1; j < first + count; ++j) {
        const double* x = points.row(order_[j]).data();
        for (Index c = 0; c < m_; ++c) {
            lower[c] = std::min(lower[c], x[c]);
            upper[c] = std::max(upper[c], x[c]);
        }
    }
    if (count <= leaf_size) {
        double* leaf = leaves_.data() + first * m_;
        for (Index c = 0; c < m_; ++c) {
            for (Index j = 0; j < count; ++j) leaf[c * count + j] = points(order_[first + j], c);
        }
        return index;
    }
    Index widest = 0;
    for (Index c = 1; c < m_; ++c) {
        if (upper[c] - lower[c] > upper[widest] - lower[widest]) widest = c;
    }
    const Index left = (count / 2 + leaf_size - 1) / leaf_size * leaf_size;
    const auto begin = order_.begin() + first;
    std::nth_element(begin, begin + left, begin + count,
                     [&](std::int32_t a, std::int32_t b) { return points(a, widest) < points(b, widest); });
    build(points, first, left, region);
    nodes_[index].right = build(points, first + left, count - left, region);
    return index;
}

std::vector<double> KdTree::largest(const double* values) const {
    std::vector<double> result(nodes_.size());
    // Children come after their parent.
    for (Index index = static_cast<Index>(nodes_.size()) - 1; index >= 0; --index) {
        const Node& node = nodes_[index];
        if (node.right != 0) {
            result[index] = std::max(result[index + 1], result[node.right]);
            continue;
        }
        result[index] = values[order_[node.first]];
        for (Index p = node.first + 1; p < node.first + node.count; ++p) {
            result[index] = std::max(result[index], values[order_[p]]);
        }
    }
    return result;
}

Index KdTree::locate(const double* query) const {
    Index index = 0;
    while (nodes_[index].right != 0) {
        const Index left = index + 1, right = nodes_[index].right;
        index = box_distance(left, query, query) <= box_distance(right, query, query) ? left : right;
    }
    return nodes_[index].first;
}

KdTree::Order KdTree::order_of(ConstMatrixView queries, const Execution& execution) const {
    const Index n = queries.rows();
    Order order{std::vector<Index>(n), std::vector<Index>(n)};
    parallel_for(
        n, 256, execution, [] { return 0; },
        [&](Index begin, Index end, int, Region&) {
            for (Index i = begin; i < end; ++i) order.starts[i] = locate(queries.row(i).data());
        });
    // A counting sort: every leaf but the last is full.
    std::vector<Index> places(order_.size() / leaf_size + 2, 0);
    for (const Index start : order.starts) ++places[start / leaf_size + 1];
    std::partial_sum(places.begin(), places.end(), places.begin());
    for (Index i = 0; i < n; ++i) order.queries[places[order.starts[i] / leaf_size]++] = i;
    return order;
}

}  // namespace idm
