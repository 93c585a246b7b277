#include "idm/neighbors.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include "blocked_distances.hpp"
#include "kd_tree.hpp"
#include "repeats.hpp"
#include "selection.hpp"

namespace idm {
namespace {

class TreeSearch {
  public:
    struct Workspace {
        std::vector<std::int32_t> position;
        NearestWriter nearest;
        // The last query answered: its row, or null, and the distance of its k-th neighbour.
        const double* last = nullptr;
        double last_radius = 0;
        Index scanned = 0;
    };

    TreeSearch(const KdTree& tree, ConstMatrixView points, ConstMatrixView queries, bool self,
               const Execution& execution)
        : points_(points), queries_(queries), self_(self), tree_(tree) {
        if (self) {
            order_.queries.assign(tree.order().begin(), tree.order().end());
            order_.starts.resize(points.rows());
            for (Index p = 0; p < points.rows(); ++p) order_.starts[tree.point(p)] = p;
        } else {
            order_ = tree.order_of(queries, execution);
        }
    }

    Workspace workspace() const {
        Workspace w;
        w.position.resize(points_.rows() + KdTree::leaf_size);
        return w;
    }

    // The row of the queries that is answered as the p-th.
    Index query(Index p) const { return order_.queries[p]; }

    // Leaves a superset of the k nearest points of query i in w.nearest.
    void collect(Index i, Index k, Workspace& w) const {
        const Index m = points_.cols();
        const double* query = queries_.row(i).data();
        const double slack = 1 + 1e-15 * static_cast<double>(m + 16);  // rounding of three distances
        const double limit = std::pow(radius(i, k, w) * slack, 2) + 1e-300;
        Index n = 0;
        w.scanned = 0;
        tree_.search(
            query, query, [limit](Index) { return limit; },
            [&](const KdTree::Node& leaf) {
                double squared[KdTree::leaf_size];
                tree_.leaf_squared(leaf, query, squared);
                for (Index j = 0; j < leaf.count; ++j) {
                    w.position[n] = static_cast<std::int32_t>(leaf.first + j);
                    n += squared[j] <= limit;
                }
                w.scanned += leaf.count;
            });
        // Computed anew, since a distance must not depend on the way it was found.
        w.nearest.clear(n);
        for (Index j = 0; j < n; ++j) {
            const std::int32_t point = tree_.point(w.position[j]);
            w.nearest.offer(distance(query, points_.row(point).data(), m), point);
        }
    }

    void answer(Index i, Index k, Index* indices, double* distances, Workspace& w) const {
        collect(i, k, w);
        w.nearest.write(k, self_ ? i : -1, indices, distances);
        w.last = queries_.row(i).data();
        w.last_radius = distances[k - 1];
    }

    // The share of the points that the search for one query looks at, roughly where it is far above `enough`.
    double scanned_share(Index k, double enough, Region& region) const {
        constexpr Index n_samples = 8;
        Workspace w = workspace();
        std::vector<Index> indices(k);
        std::vector<double> distances(k);
        double scanned = 0;
        for (Index s = 0; s < n_samples; ++s) {
            const Index p = s * (queries_.rows() - 1) / n_samples;
            w.last = nullptr;
            for (const Index q : {p, std::min(p + 1, queries_.rows() - 1)}) {
                answer(query(q), k, indices.data(), distances.data(), w);
                region.checkpoint();
            }
            scanned += static_cast<double>(w.scanned) / static_cast<double>(points_.rows());
            if (s > 0 && scanned > 4 * enough * static_cast<double>(s + 1)) return scanned / static_cast<double>(s + 1);
        }
        return scanned / static_cast<double>(n_samples);
    }

  private:
    // An upper bound of the distance of the k-th neighbour: by the triangle inequality from the last query,
    // or from any k points near it in the tree.
    double radius(Index i, Index k, const Workspace& w) const {
        const Index m = points_.cols();
        const double* query = queries_.row(i).data();
        if (w.last != nullptr) {
            const double step = distance(query, w.last, m);
            if (step <= w.last_radius) return w.last_radius + step;
        }
        const Index first = std::clamp<Index>(order_.starts[i] - k / 2, 0, points_.rows() - k);
        double radius = 0;
        for (Index p = first; p < first + k; ++p) {
            radius = std::max(radius, distance(query, points_.row(tree_.point(p)).data(), m));
        }
        return radius;
    }

    ConstMatrixView points_, queries_;
    bool self_;
    const KdTree& tree_;
    KdTree::Order order_;  // in which queries are answered
};

void search_tree(const TreeSearch& search, Index n_queries, Index k, IndexMatrixView indices, MatrixView distances,
                 const Execution& execution) {
    parallel_for(
        n_queries, 64, execution, [&] { return search.workspace(); },
        [&](Index begin, Index end, TreeSearch::Workspace& w, Region& region) {
            w.last = nullptr;
            for (Index p = begin; p < end; ++p) {
                const Index i = search.query(p);
                search.answer(i, k, &indices(i, 0), &distances(i, 0), w);
                region.checkpoint();
            }
        });
}

void search_blocks(ConstMatrixView points, ConstMatrixView queries, bool self, IndexMatrixView indices,
                   MatrixView distances, const Execution& execution) {
    const Index k = indices.cols();
    const BlockedDistances blocks(points, queries, self, k, execution);
    parallel_for(
        queries.rows(), BlockedDistances::block_size, execution, [&] { return blocks.workspace(); },
        [&](Index begin, Index end, BlockedDistances::Workspace& w, Region& region) {
            blocks.collect(begin, end, w, region);
            for (Index i = begin; i < end; ++i) {
                w.rows[i - begin].nearest.write(k, self ? i : -1, &indices(i, 0), &distances(i, 0));
            }
        });
}

// Above this share of points scanned per query, computing all distances in blocks is faster: measured with
// bench/neighbors.py --crossover.
double break_even_share(Index m) {
    const double columns = static_cast<double>(m);
    return (0.6 + 0.04 * columns) / (1.0 + 0.35 * columns);
}

void search_points(const KdTree& index, ConstMatrixView points, ConstMatrixView queries, bool self,
                   IndexMatrixView indices, MatrixView distances, const Execution& execution, NeighborMethod method) {
    const Index k = indices.cols();
    if (method != NeighborMethod::blocked) {
        Region region(execution);
        const TreeSearch tree(index, points, queries, self, execution);
        const double enough = break_even_share(points.cols());
        if (method == NeighborMethod::tree || tree.scanned_share(k, enough, region) < enough) {
            search_tree(tree, queries.rows(), k, indices, distances, execution);
            return;
        }
    }
    search_blocks(points, queries, self, indices, distances, execution);
}

// The rows of `points` that are listed.
Matrix chosen_rows(ConstMatrixView points, const std::vector<std::int32_t>& rows) {
    Matrix chosen(static_cast<Index>(rows.size()), points.cols());
    for (Index r = 0; r < chosen.rows(); ++r) chosen.row(r) = points.row(rows[r]);
    return chosen;
}

// The first k of equal points are searched, and of equal queries one is answered.
void search_repeated(const Repeats& repeats, ConstMatrixView points, ConstMatrixView queries, bool self,
                     IndexMatrixView indices, MatrixView distances, const Execution& execution, NeighborMethod method) {
    const Index n = points.rows(), k = indices.cols();
    std::vector<std::int32_t> kept, distinct;
    for (Index i = 0; i < n; ++i) {
        if (repeats.rank[i] < k) kept.push_back(static_cast<std::int32_t>(i));
        if (self && repeats.rank[i] == 0) distinct.push_back(static_cast<std::int32_t>(i));
    }
    const Matrix kept_points = chosen_rows(points, kept), distinct_points = chosen_rows(points, distinct);
    Region region(execution);
    const KdTree tree({kept_points.data(), kept_points.rows(), kept_points.cols()}, region);
    const ConstMatrixView asked =
        self ? ConstMatrixView(distinct_points.data(), distinct_points.rows(), distinct_points.cols()) : queries;
    const Index n_asked = asked.rows();
    search_points(tree, {kept_points.data(), kept_points.rows(), kept_points.cols()}, asked, false,
                  {indices.data(), n_asked, k}, {distances.data(), n_asked, k}, execution, method);
    for (Index i = 0; i < n_asked; ++i) {
        for (Index j = 0; j < k; ++j) indices(i, j) = kept[indices(i, j)];
        region.checkpoint();
    }
    // From the last to the first, since the answer of row i stands in a row up to i. The point itself goes to the
    // front: whatever comes before it is at distance 0 as well.
    for (Index i = n - 1; self && i >= 0; --i) {
        const Index answer = repeats.group[i];
        if (answer != i) {
            indices.row(i) = indices.row(answer);
            distances.row(i) = distances.row(answer);
        }
        Index* row = &indices(i, 0);
        Index* last = std::find(row, row + k - 1, i);
        std::copy_backward(row, last, last + 1);
        row[0] = i;
        region.checkpoint();
    }
}

}  // namespace

NeighborIndex::NeighborIndex(ConstMatrixView points, const Execution& execution) : points_(points) {
    if (points.rows() > std::numeric_limits<std::int32_t>::max()) {
        throw std::invalid_argument("an index of neighbours holds at most 2^31 - 1 points");
    }
    Region region(execution);
    tree_ = std::make_unique<const KdTree>(points, region);
    auto repeats = std::make_unique<const Repeats>(points, region);
    if (repeats->most > 8) repeats_ = std::move(repeats);
}

NeighborIndex::~NeighborIndex() = default;

void NeighborIndex::order(Index* points) const { std::copy(tree_->order().begin(), tree_->order().end(), points); }

void NeighborIndex::search(ConstMatrixView queries, bool self, IndexMatrixView indices, MatrixView distances,
                           const Execution& execution, NeighborMethod method) const {
    const Index k = indices.cols();
    if (k < 1 || k > points_.rows()) {
        throw std::invalid_argument("nearest: k must be between 1 and the number of points");
    }
    if (queries.rows() == 0) return;
    // Worth another tree if the queries could meet more repeated points than there are points.
    if (repeats_ && (self || repeats_->most > k) && queries.rows() * repeats_->most > points_.rows()) {
        search_repeated(*repeats_, points_, queries, self, indices, distances, execution, method);
    } else {
        search_points(*tree_, points_, queries, self, indices, distances, execution, method);
    }
}

void NeighborIndex::nearest(IndexMatrixView indices, MatrixView distances, const Execution& execution,
                            NeighborMethod method) const {
    search(points_, true, indices, distances, execution, method);
}

void NeighborIndex::nearest(ConstMatrixView queries, IndexMatrixView indices, MatrixView distances,
                            const Execution& execution, NeighborMethod method) const {
    search(queries, false, indices, distances, execution, method);
}

void pair_distances(ConstMatrixView points, ConstIndexMatrixView indices, MatrixView distances,
                    const Execution& execution) {
    parallel_for(
        points.rows(), 64, execution, [] { return 0; },
        [&](Index begin, Index end, int, Region&) {
            for (Index i = begin; i < end; ++i) {
                for (Index j = 0; j < indices.cols(); ++j) {
                    distances(i, j) = distance(points.row(i).data(), points.row(indices(i, j)).data(), points.cols());
                }
            }
        });
}

}  // namespace idm
