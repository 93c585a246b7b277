#include "idm/extension.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "flow_length.hpp"
#include "kd_tree.hpp"
#include "local_scale.hpp"
#include "selection.hpp"
#include "weighted_rows.hpp"

namespace idm {
namespace {

// Points that may matter for some bases, by their places in the tree, and how far their own pools reach, squared.
struct Candidates {
    std::vector<const KdTree::Node*> leaves;
    std::vector<std::int32_t> places;
    std::vector<double> limits;
    std::vector<double> squared;  // |dx|^2, one base after the other

    Index size() const { return static_cast<Index>(places.size()); }
};

// Room for numbers, aligned: where a loop begins to be vectorised decides on bits of exp.
struct AlignedArray : Eigen::ArrayXd {
    void make_room(Index n) {
        if (size() < n) resize(n);
    }
};

class Extension {
  public:
    struct Workspace {
        Candidates some, all;  // all: where the radii are not those of exact neighbours
        std::vector<double> lower, upper;
        // Points that are kept: their numbers among the candidates and in the tree, |dx|^2, the lengths to and from the
        // base; whether they are in its pool, whether theirs reaches it, whether they are its neighbours.
        std::vector<std::int32_t> kept, places;
        Passing passing;
        AlignedArray squared, there, back;
        std::vector<char> in_pool, reached, has;
        std::vector<double> near;         // lengths to the first neighbours
        std::vector<std::int32_t> equal;  // places of those that are as far as the eighth
        // The entries of the row of the kernel; `lengths` are of the pool before.
        std::vector<std::int32_t> columns;
        AlignedArray lengths, kernel;
        Smallest smallest;
        double last_length;  // to the neighbours
        std::vector<double> difference;
    };

    explicit Extension(const TrainedMap& map)
        : map_(map),
          tree_(map.index.tree()),
          points_{map.index.points(), map.values},
          symmetric_(map.flow.change == Change::difference) {
        const Index n = points_.points.rows();
        limits_.resize(n);
        radii_.resize(n);
        weights_.resize(n);
        if (symmetric_) features_.resize(map.values.cols(), n);
        for (Index p = 0; p < n; ++p) {
            const Index j = tree_.point(p);
            limits_[p] = std::pow(map.pool_radii(j, 0), 2);
            radii_[p] = map.radii(j, 0);
            weights_[p] = map.weights(j, 0);
            if (symmetric_) features_.col(p) = map.values.row(j).transpose();
        }
        if (map.scales) {
            factors_.resize(n);
            for (Index p = 0; p < n; ++p) {
                factors_[p] = 1 / std::sqrt(map.scales->scales(tree_.point(p), 2));
            }
        }
        node_limits_ = tree_.largest(map.pool_radii.data());
        for (double& limit : node_limits_) limit *= limit;
    }

    // Finds a superset of the points that may be neighbours of a base, or have it as theirs, for some bases near each
    // other. The pool of a base reaches no farther than |x - x_j| + pool_radii_j, for any j.
    void find(ConstMatrixView bases, const KdTree::Order& order, Index begin, Index end, Workspace& w) const {
        const Index m = bases.cols(), n = static_cast<Index>(limits_.size());
        w.lower.assign(m, std::numeric_limits<double>::infinity());
        w.upper.assign(m, -std::numeric_limits<double>::infinity());
        double farthest = 0;
        for (Index p = begin; p < end; ++p) {
            const Index i = order.queries[p], first = order.starts[i];
            const double* base = bases.row(i).data();
            double reach = std::numeric_limits<double>::infinity();
            for (Index q = first; q < std::min(first + KdTree::leaf_size, n); ++q) {
                const Index j = tree_.point(q);
                const double d = distance(base, points_.points.row(j).data(), m);
                reach = std::min(reach, d + std::max(0.0, map_.pool_radii(j, 0)));  // so that a point is found
            }
            farthest = std::max(farthest, reach);
            for (Index c = 0; c < m; ++c) {
                w.lower[c] = std::min(w.lower[c], base[c]);
                w.upper[c] = std::max(w.upper[c], base[c]);
            }
        }
        const double limit = std::pow(farthest * (1 + 1e-15 * static_cast<double>(m + 16)), 2);
        collect(
            w.lower.data(), w.upper.data(), [&](Index node) { return std::max(limit, node_limits_[node]); }, w.some);
        w.some.squared.resize((end - begin) * w.some.size());
        double* squared = w.some.squared.data();
        for (const KdTree::Node* leaf : w.some.leaves) {
            for (Index p = begin; p < end; ++p) {
                tree_.leaf_squared(*leaf, bases.row(order.queries[p]).data(), squared + (p - begin) * w.some.size());
            }
            squared += leaf->count;
        }
    }

    // Extends to base i, the b-th of those that the points were found for.
    void extend(FeaturePoints bases, Index i, Index b, Workspace& w, double* extended, Index& nearest,
                double& nearest_distance) const {
        const double *base = bases.points.row(i).data(), *squared = w.some.squared.data() + b * w.some.size();
        const Index nearest_place = find_nearest(w.some, squared);
        nearest = tree_.point(nearest_place);
        nearest_distance = distance(base, points_.points.row(nearest).data(), points_.points.cols());
        // The distance of the p-th nearest point changes by no more than that to another point.
        constexpr double slack = 1 + 1e-12, infinity = std::numeric_limits<double>::infinity();
        const double radius = map_.pool_radii(nearest, 0);
        const double low = std::pow(std::max(0.0, radius - nearest_distance) / slack, 2);
        const double high = std::pow((radius + nearest_distance) * slack, 2);
        if (!choose_pool(w.some, squared, low, high, w)) {  // radii that are not those of exact neighbours
            collect(base, base, [](Index) { return infinity; }, w.all);
            w.all.squared.resize(w.all.size());
            for (const KdTree::Node* leaf : w.all.leaves) {
                tree_.leaf_squared(*leaf, base, w.all.squared.data() + leaf->first);
            }
            choose_pool(w.all, w.all.squared.data(), 0, infinity, w);
        }
        measure(bases, i, w);
        choose_neighbors(nearest_place, w);
        const double rho = map_.scales ? scale_of_base(w) : 1;
        collect_entries(w);
        if (map_.scales) scale(rho, w);
        weigh(w);
        weighted_rows(w.columns.data(), w.kernel.data(), static_cast<std::int64_t>(w.columns.size()),
                      map_.functions.data(), map_.functions.cols(), extended);
    }

  private:
    // The points of all leaves that a search of the tree visits.
    template <class Limit>
    void collect(const double* lower, const double* upper, Limit&& limit, Candidates& found) const {
        found.leaves.clear();
        found.places.clear();
        found.limits.clear();
        tree_.search(lower, upper, limit, [&](const KdTree::Node& leaf) {
            found.leaves.push_back(&leaf);
            for (Index p = leaf.first; p < leaf.first + leaf.count; ++p) {
                found.places.push_back(static_cast<std::int32_t>(p));
            }
            found.limits.insert(found.limits.end(), limits_.begin() + leaf.first,
                                limits_.begin() + leaf.first + leaf.count);
        });
    }

    // The place of the nearest point; of copies that of the first.
    Index find_nearest(const Candidates& candidates, const double* squared) const {
        const Index n = candidates.size();
        constexpr Index lanes = 8, chunk = 4 * lanes;
        double smallest = std::numeric_limits<double>::infinity(), largest = 0;
        Index nearest = -1;
        for (Index first = 0; first < n; first += chunk) {
            const Index last = std::min(first + chunk, n);
            double least[lanes], most[lanes];
            std::fill_n(least, lanes, squared[first]);
            std::fill_n(most, lanes, squared[first]);
            Index c = first;
            for (; c + lanes <= last; c += lanes) {
                for (Index l = 0; l < lanes; ++l) {
                    least[l] = squared[c + l] < least[l] ? squared[c + l] : least[l];
                    most[l] = squared[c + l] > most[l] ? squared[c + l] : most[l];
                }
            }
            for (; c < last; ++c) {
                least[0] = std::min(least[0], squared[c]);
                most[0] = std::max(most[0], squared[c]);
            }
            largest = std::max(largest, *std::max_element(most, most + lanes));
            if (*std::min_element(least, least + lanes) > smallest) continue;
            for (c = first; c < last; ++c) {
                if (squared[c] > smallest) continue;
                const std::int32_t place = candidates.places[c];
                if (nearest < 0 || squared[c] < smallest || tree_.point(place) < tree_.point(nearest)) nearest = place;
                smallest = squared[c];
            }
        }
        if (nearest < 0 || !(largest < 1e300)) {
            throw std::invalid_argument("X is so far from the data that squared distances overflow; rescale it");
        }
        return nearest;
    }

    // Keeps the `pool_size` nearest points, the last of which is sought between `low` and `high`, and those whose own
    // pool reaches the base, with |dx|^2 and which of both they are. If there are fewer below `high`, nothing is kept.
    bool choose_pool(const Candidates& candidates, const double* squared, double low, double high, Workspace& w) const {
        const double* limits = candidates.limits.data();
        const Index n = candidates.size();
        Index n_near = 0;
        for (Index c = 0; c < n; ++c) n_near += squared[c] <= high;
        if (n_near < map_.pool_size) return false;
        w.kept.resize(n + 8);
        w.places.resize(w.passing.write(
            n, [squared, limits, high](Index c) { return (squared[c] <= high) | (squared[c] < limits[c]); },
            w.kept.data()));
        const Index n_kept = static_cast<Index>(w.places.size());
        w.squared.make_room(n_kept);
        w.reached.resize(n_kept);
        for (Index e = 0; e < n_kept; ++e) {
            const Index c = w.kept[e];
            w.squared[e] = squared[c];
            w.reached[e] = squared[c] < limits[c];
            w.places[e] = candidates.places[c];
        }
        w.in_pool.resize(n_kept);
        w.smallest.choose(
            w.squared.data(), [&](Index e) { return tree_.point(w.places[e]); }, n_kept, map_.pool_size, low, high,
            w.in_pool.data());
        return true;
    }

    // The lengths of all points that were kept, to the base and back; where these are the same, only to it.
    void measure(FeaturePoints bases, Index i, Workspace& w) const {
        const Index n = static_cast<Index>(w.places.size());
        double* difference = w.difference.data();
        const auto distances = w.squared.head(n).sqrt();
        w.there.make_room(n);
        if (symmetric_) {
            std::fill_n(w.there.data(), n, 0.0);
            for (Index f = 0; f < features_.rows(); ++f) {
                const double y = bases.values(i, f), *values = features_.row(f).data();
                for (Index e = 0; e < n; ++e) {
                    const double dy = y - values[w.places[e]];
                    w.there[e] += dy * dy;
                }
            }
            mix(distances, map_.flow, w.there.head(n));
            return;
        }
        for (Index e = 0; e < n; ++e) {
            w.there[e] = squared_change(bases, i, points_, tree_.point(w.places[e]), map_.flow, difference);
        }
        mix(distances, map_.flow, w.there.head(n));
        w.back.make_room(n);
        for (Index e = 0; e < n; ++e) {
            w.back[e] = squared_change(points_, tree_.point(w.places[e]), bases, i, map_.flow, difference);
        }
        mix(distances, map_.flow, w.back.head(n));
    }

    // Those of the pool with the smallest lengths: `n_neighbors` times 1 in w.has, else 0.
    void choose_neighbors(Index nearest_place, Workspace& w) const {
        const Index n = static_cast<Index>(w.places.size());
        w.lengths.make_room(2 * n + 2);
        const double beyond = std::nextafter(w.there.head(n).maxCoeff(), std::numeric_limits<double>::infinity());
        for (Index e = 0; e < n; ++e) w.lengths[e] = w.in_pool[e] ? w.there[e] : beyond;
        const Index nearest = std::lower_bound(w.places.begin(), w.places.end(), nearest_place) - w.places.begin();
        const double radius = radii_[nearest_place], step = w.there[nearest];
        w.has.resize(n);
        w.last_length = w.smallest.choose(
            w.lengths.data(), [&](Index e) { return tree_.point(w.places[e]); }, n, map_.n_neighbors, radius - step,
            radius + step, w.has.data());
    }

    // The entries of the row, with 1 in w.kernel, or 2 if base and point have each other.
    void collect_entries(Workspace& w) const {
        const Index n = static_cast<Index>(w.places.size());
        w.columns.resize(2 * n + 2);
        w.kernel.make_room(2 * n + 2);
        Index size = 0;
        const auto add = [&](std::int32_t place, double length, int count) {
            w.columns[size] = place;
            w.lengths[size] = length;
            w.kernel[size] = count;
            size += count > 0;
        };
        for (Index e = 0; e < n; ++e) {
            const std::int32_t p = w.places[e];
            const double back = symmetric_ ? w.there[e] : w.back[e];
            const int had = w.reached[e] & (back < radii_[p]);
            add(p, w.there[e], symmetric_ ? w.has[e] + had : w.has[e]);
            if (!symmetric_) add(p, back, had);
        }
        w.columns.resize(size);
    }

    // rho of the base, from the lengths to its neighbours; w.lengths are of the pool.
    double scale_of_base(Workspace& w) const {
        const LocalScales& s = *map_.scales;
        const Index n = static_cast<Index>(w.places.size()), n_near = std::min(s.n_near, map_.n_neighbors);
        const Index last = bridged(s.n_near, map_.n_neighbors);
        const double* lengths = w.lengths.data();
        // The first neighbours, and all that are as far as the last of these.
        const double farthest = w.smallest.kth_up_to(lengths, n, std::max(n_near, last + 1), w.last_length);
        w.kept.resize(n + 8);
        const Index size = w.passing.write(n, [=](Index e) { return lengths[e] <= farthest; }, w.kept.data());
        w.near.resize(size);
        for (Index j = 0; j < size; ++j) w.near[j] = lengths[w.kept[j]];
        const auto begin = w.near.begin();
        if (n_near < size) std::nth_element(begin, begin + (n_near - 1), w.near.end());
        const double r = root_mean_square(n_near, [&w](Index j) { return w.near[j]; });
        std::nth_element(begin, begin + last, w.near.end());
        // Of equal lengths, the points come by their numbers, as in the data.
        const double length = w.near[last];
        const Index rank = last - std::count_if(begin, begin + last, [=](double d) { return d < length; });
        w.equal.clear();
        for (Index j = 0; j < size; ++j) {
            if (lengths[w.kept[j]] == length) w.equal.push_back(w.places[w.kept[j]]);
        }
        std::nth_element(w.equal.begin(), w.equal.begin() + rank, w.equal.end(),
                         [this](std::int32_t p, std::int32_t q) { return tree_.point(p) < tree_.point(q); });
        const Index eighth = tree_.point(w.equal[rank]);
        const double b = bridged_scale(first_scale(r, s.unit), length, s.scales(eighth, 0), s.reach);
        return bridged_scale(b, length, s.scales(eighth, 1), s.reach);
    }

    // The lengths of the entries, d, become s.
    void scale(double rho, Workspace& w) const {
        const double factor = 1 / std::sqrt(rho);
        for (Index e = 0; e < static_cast<Index>(w.columns.size()); ++e) {
            w.lengths[e] *= factor * factors_[w.columns[e]];
        }
    }

    // J w / sum(J w), and the columns by the numbers of the points.
    void weigh(Workspace& w) const {
        const Index n = static_cast<Index>(w.columns.size());
        const auto d = w.lengths.head(n);
        auto kernel = w.kernel.head(n);
        const double least = d.minCoeff();
        // d^2 - least^2 without rounding where they are equal, whatever the compiler contracts.
        kernel *= ((-0.5 / map_.epsilon) * ((d - least) * (d + least))).exp();
        double total = 0;
        for (Index e = 0; e < n; ++e) {
            kernel[e] *= weights_[w.columns[e]];
            total += kernel[e];
            w.columns[e] = tree_.point(w.columns[e]);
        }
        kernel /= total;
    }

    const TrainedMap& map_;
    const KdTree& tree_;
    FeaturePoints points_;
    const bool symmetric_;  // whether lengths are the same back
    // In the order of the tree:
    Matrix features_;                               // n x N, if lengths are the same back
    std::vector<double> limits_, radii_, weights_;  // pool_radii^2
    std::vector<double> node_limits_;               // the largest of them below each node
    std::vector<double> factors_;                   // rho^(-1/2)
};

}  // namespace

void extend(const TrainedMap& map, FeaturePoints bases, MatrixView extended, IndexMatrixView nearest,
            MatrixView distances, const Execution& execution) {
    const Index n = map.index.points().rows(), q = bases.points.rows(), p = map.pool_size;
    const Extension extension(map);
    const KdTree::Order order = map.index.tree().order_of(bases.points, execution);
    const auto workspace = [&] {
        Extension::Workspace w;
        w.difference.resize(bases.points.cols());
        return w;
    };
    // Bases of a block spread over less than a pool does, and what is found for them fits the second-level cache.
    const Index block = std::clamp<Index>(std::min(q * p / (4 * n), (Index{1} << 15) / p), 1, 32);
    parallel_for(q, block, execution, workspace, [&](Index begin, Index end, Extension::Workspace& w, Region& region) {
        extension.find(bases.points, order, begin, end, w);
        for (Index b = begin; b < end; ++b) {
            const Index i = order.queries[b];
            extension.extend(bases, i, b - begin, w, extended.row(i).data(), nearest(i, 0), distances(i, 0));
            region.checkpoint();
        }
    });
}

}  // namespace idm
