#include "idm/extension.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "flow_length.hpp"
#include "kd_tree.hpp"
#include "selection.hpp"
#include "weighted_rows.hpp"

namespace idm {
namespace {

// Where the tree is of no use: up to so many points, or where a search meets a larger share of them.
constexpr Index few_points = 4096;
constexpr double large_share = 0.2;

// |dx|^2 of some points from a base, by their position in the tree.
struct Candidates {
    std::vector<double> squared;
    std::vector<std::int32_t> positions;
};

class Extension {
  public:
    struct Workspace {
        Candidates candidates;
        // Points that are kept, with |dx|^2 and the lengths to and from the base; whether they are in its pool, whether
        // theirs reaches it, whether they are its neighbours.
        std::vector<std::int32_t> points;
        std::vector<double> squared, there, back;
        std::vector<char> in_pool, reached, has;
        // Those of them in the pool.
        std::vector<std::int32_t> pool, pool_points;
        std::vector<char> chosen;
        // The entries of the row of the kernel. `lengths` serves both. Aligned: where a loop begins to be vectorised
        // decides on bits of exp.
        std::vector<std::int32_t> columns;
        Eigen::ArrayXd lengths, kernel;
        Smallest smallest;
        std::vector<double> difference;
    };

    explicit Extension(const TrainedMap& map)
        : map_(map), tree_(map.index.tree()), points_{map.index.points(), map.values} {
        const Index n = points_.points.rows();
        limits_.resize(n);
        for (Index p = 0; p < n; ++p) limits_[p] = std::pow(map.pool_radii(tree_.point(p), 0), 2);
        node_limits_ = tree_.largest(map.pool_radii.data());
        for (double& limit : node_limits_) limit *= limit;
    }

    // |dx|^2 of all points from some bases, one base after the other.
    void find_all(const double* bases, Index count, std::vector<double>& squared) const {
        squared.resize(count * limits_.size());
        tree_.all_squared(bases, count, squared.data());
    }

    // A superset of the points that may be neighbours of a base, or have it as theirs. Its pool reaches no farther than
    // |x - x_j| + pool_radii_j, for any j.
    void find(const double* base, Candidates& found) const {
        double radius = std::numeric_limits<double>::infinity();
        const Index first = tree_.locate(base), n = static_cast<Index>(limits_.size());
        for (Index p = first; p < std::min(first + KdTree::leaf_size, n); ++p) {
            const Index j = tree_.point(p);
            const double d = distance(base, points_.points.row(j).data(), points_.points.cols());
            radius = std::min(radius, d + map_.pool_radii(j, 0));
        }
        const double limit = std::pow(radius * (1 + 1e-15 * static_cast<double>(points_.points.cols() + 16)), 2);
        found.squared.clear();
        found.positions.clear();
        tree_.search(
            base, [&](Index node) { return std::max(limit, node_limits_[node]); },
            [&](Index begin, Index count, const double* squared) {
                for (Index c = 0; c < count; ++c) {
                    if (squared[c] > std::max(limit, limits_[begin + c])) continue;
                    found.squared.push_back(squared[c]);
                    found.positions.push_back(static_cast<std::int32_t>(begin + c));
                }
            });
        if (static_cast<Index>(found.squared.size()) <
            map_.pool_size) {  // radii that are not those of exact neighbours
            found.positions.clear();
            find_all(base, 1, found.squared);
        }
    }

    // Whether find() leaves out most points, for these bases.
    bool tree_serves(ConstMatrixView bases, Region& region) const {
        const Index n = static_cast<Index>(limits_.size()), n_samples = std::min<Index>(8, bases.rows());
        if (n <= few_points) return false;
        Candidates found;
        double share = 0;
        for (Index s = 0; s < n_samples; ++s) {
            find(bases.row(s * (bases.rows() - 1) / n_samples).data(), found);
            share += static_cast<double>(found.squared.size()) / static_cast<double>(n * n_samples);
            region.checkpoint();
        }
        return share < large_share;
    }

    // Extends to base i, given |dx|^2 of n points at these positions of the tree (null: of all points).
    void extend(FeaturePoints bases, Index i, const double* squared, const std::int32_t* positions, Index n,
                Workspace& w, double* extended, Index& nearest, double& nearest_distance) const {
        nearest = find_nearest(squared, positions, n);
        nearest_distance =
            distance(bases.points.row(i).data(), points_.points.row(nearest).data(), points_.points.cols());
        choose_pool(squared, positions, n, nearest, nearest_distance, w);
        measure(bases, i, w);
        choose_neighbors(w);
        collect_entries(w);
        weigh(w);
        weighted_rows(w.columns.data(), w.kernel.data(), static_cast<std::int64_t>(w.columns.size()),
                      map_.functions.data(), map_.functions.cols(), extended);
    }

  private:
    // Of copies the first.
    Index find_nearest(const double* squared, const std::int32_t* positions, Index n) const {
        constexpr Index lanes = 16;
        double least[lanes], most[lanes];
        std::fill_n(least, lanes, squared[0]);
        std::fill_n(most, lanes, squared[0]);
        const auto update = [&](Index l, double value) {
            least[l] = value < least[l] ? value : least[l];
            most[l] = value > most[l] ? value : most[l];
        };
        Index c = 0;
        for (; c + lanes <= n; c += lanes) {
            for (Index l = 0; l < lanes; ++l) update(l, squared[c + l]);
        }
        for (; c < n; ++c) update(0, squared[c]);
        if (!(*std::max_element(most, most + lanes) < 1e300)) {
            throw std::invalid_argument("X is so far from the data that squared distances overflow; rescale it");
        }
        const double smallest = *std::min_element(least, least + lanes);
        std::int32_t nearest = std::numeric_limits<std::int32_t>::max();
        for (c = 0; c < n; ++c) {
            if (squared[c] != smallest) continue;
            nearest = std::min(nearest, tree_.point(positions == nullptr ? c : positions[c]));
        }
        return nearest;
    }

    // Keeps the `pool_size` nearest points, and those whose own pool reaches the base, with |dx|^2 and which of both
    // they are. The distance of the p-th nearest point changes by no more than that to another point.
    void choose_pool(const double* squared, const std::int32_t* positions, Index n, Index nearest, double apart,
                     Workspace& w) const {
        constexpr double slack = 1 + 1e-12;
        const double radius = map_.pool_radii(nearest, 0);
        const double low = std::pow(std::max(0.0, radius - apart) / slack, 2);
        double high = std::pow((radius + apart) * slack, 2);
        const auto keep = [&] {
            w.points.resize(n + 1);
            w.squared.resize(n + 1);
            w.reached.resize(n + 1);
            Index n_kept = 0, n_near = 0;
            for (Index c = 0; c < n; ++c) {
                const Index p = positions == nullptr ? c : positions[c];
                const bool reached = squared[c] < limits_[p], near = squared[c] <= high;
                w.points[n_kept] = tree_.point(p);
                w.squared[n_kept] = squared[c];
                w.reached[n_kept] = reached;
                n_kept += reached || near;
                n_near += near;
            }
            w.points.resize(n_kept);
            return n_near;
        };
        if (keep() < map_.pool_size) {  // radii that are not those of exact neighbours
            high = std::numeric_limits<double>::infinity();
            keep();
        }
        w.in_pool.resize(w.points.size());
        w.smallest.choose(w.squared.data(), w.points.data(), static_cast<Index>(w.points.size()), map_.pool_size, low,
                          high, w.in_pool.data());
    }

    // The lengths of all points that were kept, to the base and back.
    void measure(FeaturePoints bases, Index i, Workspace& w) const {
        const Index n = static_cast<Index>(w.points.size());
        w.there.resize(n);
        w.back.resize(n);
        const Eigen::Map<const Eigen::ArrayXd> squared(w.squared.data(), n);
        Eigen::Map<Eigen::ArrayXd> there(w.there.data(), n), back(w.back.data(), n);
        const bool symmetric = map_.flow.change == Change::difference;
        for (Index e = 0; e < n; ++e) {
            there[e] = squared_change(bases, i, points_, w.points[e], map_.flow, w.difference.data());
            if (!symmetric) back[e] = squared_change(points_, w.points[e], bases, i, map_.flow, w.difference.data());
        }
        const auto mix = [&](auto& change) {
            bool fits = true;
            for (Index e = 0; e < n; ++e) {
                change[e] = mixed_length(std::sqrt(squared[e]), change[e], map_.flow);
                fits &= change[e] < largest_length;
            }
            if (!fits) throw lengths_overflow();
        };
        mix(there);
        if (symmetric) {
            back = there;
        } else {
            mix(back);
        }
    }

    // Those of the pool with the smallest lengths: `n_neighbors` times 1 in w.has, else 0.
    void choose_neighbors(Workspace& w) const {
        const Index n = static_cast<Index>(w.points.size());
        w.pool.resize(n + 1);
        w.pool_points.resize(n + 1);
        if (w.lengths.size() < 2 * n + 2) w.lengths.resize(2 * n + 2);
        Index size = 0;
        for (Index e = 0; e < n; ++e) {
            w.pool[size] = static_cast<std::int32_t>(e);
            w.pool_points[size] = w.points[e];
            w.lengths[size] = w.there[e];
            size += w.in_pool[e];
        }
        w.chosen.resize(size);
        w.smallest.choose(w.lengths.data(), w.pool_points.data(), size, map_.n_neighbors, 1, 0, w.chosen.data());
        w.has.assign(n, 0);
        for (Index c = 0; c < size; ++c) w.has[w.pool[c]] = w.chosen[c];
    }

    // The entries of the row, with 1 in w.kernel, or 2 if base and point have each other at the same length.
    void collect_entries(Workspace& w) const {
        const Index n = static_cast<Index>(w.points.size());
        w.columns.resize(2 * n + 2);
        if (w.kernel.size() < 2 * n + 2) w.kernel.resize(2 * n + 2);
        Index size = 0;
        const auto add = [&](std::int32_t point, double length, int count) {
            w.columns[size] = point;
            w.lengths[size] = length;
            w.kernel[size] = count;
            size += count > 0;
        };
        for (Index e = 0; e < n; ++e) {
            const std::int32_t j = w.points[e];
            const int has = w.has[e], had = w.reached[e] & (w.back[e] < map_.radii(j, 0));
            const bool same = w.there[e] == w.back[e];
            add(j, w.there[e], same ? has + had : has);
            add(j, w.back[e], same ? 0 : had);
        }
        w.columns.resize(size);
    }

    // J w / sum(J w).
    void weigh(Workspace& w) const {
        const Index n = static_cast<Index>(w.columns.size());
        const auto d = w.lengths.head(n);
        auto kernel = w.kernel.head(n);
        const double least = d.minCoeff();
        // d^2 - least^2 without rounding where they are equal, whatever the compiler contracts.
        kernel *= ((-0.5 / map_.epsilon) * ((d - least) * (d + least))).exp();
        double total = 0;
        for (Index e = 0; e < n; ++e) {
            kernel[e] *= map_.weights(w.columns[e], 0);
            total += kernel[e];
        }
        kernel /= total;
    }

    const TrainedMap& map_;
    const KdTree& tree_;
    FeaturePoints points_;
    std::vector<double> limits_;       // pool_radii^2, in the order of the tree
    std::vector<double> node_limits_;  // the largest of them below each node
};

}  // namespace

void extend(const TrainedMap& map, FeaturePoints bases, MatrixView extended, IndexMatrixView nearest,
            MatrixView distances, const Execution& execution) {
    const Index n = map.index.points().rows(), m = map.index.points().cols();
    const Extension extension(map);
    Region serial(execution);
    const bool tree = extension.tree_serves(bases.points, serial);
    const auto workspace = [&] {
        Extension::Workspace w;
        w.difference.resize(m);
        return w;
    };
    // Points of all bases of a block fit the second-level cache.
    const Index block = tree ? 16 : std::clamp<Index>((Index{1} << 16) / n, 1, 32);
    parallel_for(bases.points.rows(), block, execution, workspace,
                 [&](Index begin, Index end, Extension::Workspace& w, Region& region) {
                     Candidates& found = w.candidates;
                     if (!tree) extension.find_all(bases.points.row(begin).data(), end - begin, found.squared);
                     for (Index i = begin; i < end; ++i) {
                         if (tree) extension.find(bases.points.row(i).data(), found);
                         const double* squared = found.squared.data() + (tree ? 0 : (i - begin) * n);
                         const std::int32_t* positions = found.positions.empty() ? nullptr : found.positions.data();
                         extension.extend(bases, i, squared, positions,
                                          tree ? static_cast<Index>(found.squared.size()) : n, w,
                                          extended.row(i).data(), nearest(i, 0), distances(i, 0));
                         region.checkpoint();
                     }
                 });
}

}  // namespace idm
