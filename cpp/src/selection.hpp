// Distances between two rows, and the choice of the k smallest of many.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "idm/eigen.hpp"

namespace idm {

// |a - b|^2 with a fixed order of summation: the same bits for (a, b) and (b, a), wherever the rows lie.
inline double squared_distance(const double* a, const double* b, Index m) {
    constexpr Index lanes = 8;
    double sum[lanes] = {};
    Index c = 0;
    for (; c + lanes <= m; c += lanes) {
        for (Index l = 0; l < lanes; ++l) {
            const double d = a[c + l] - b[c + l];
            sum[l] += d * d;
        }
    }
    for (Index l = 0; c < m; ++c, ++l) {
        const double d = a[c] - b[c];
        sum[l] += d * d;
    }
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

// |a - b|, with scaled differences where their squares would overflow or underflow.
inline double distance(const double* a, const double* b, Index m) {
    const double squared = squared_distance(a, b, m);
    if (squared > 1e-280 && squared < 1e300) return std::sqrt(squared);
    double largest = 0;
    for (Index c = 0; c < m; ++c) largest = std::max(largest, std::abs(a[c] - b[c]));
    if (largest == 0) return 0;
    double sum = 0;
    for (Index c = 0; c < m; ++c) {
        const double d = (a[c] - b[c]) / largest;
        sum += d * d;
    }
    return largest * std::sqrt(sum);
}

// Values counted in equal bins between their extremes: selection and sorting in linear time where the values
// are spread, as distances are.
class Histogram {
  public:
    template <class Value>  // float or double
    void count(const Value* values, Index n) {
        constexpr Index lanes = 16;  // independent ones, so that the loop vectorises
        Value lows[lanes], highs[lanes], zeros[lanes] = {};
        std::fill(lows, lows + lanes, values[0]);
        std::fill(highs, highs + lanes, values[0]);
        const auto update = [&](Index l, Value value) {
            lows[l] = value < lows[l] ? value : lows[l];
            highs[l] = value > highs[l] ? value : highs[l];
            zeros[l] += value - value;  // NaN if it is not finite
        };
        Index i = 0;
        for (; i + lanes <= n; i += lanes) {
            for (Index l = 0; l < lanes; ++l) update(l, values[i + l]);
        }
        for (; i < n; ++i) update(0, values[i]);
        if (!std::all_of(zeros, zeros + lanes, [](Value zero) { return zero == 0; })) {
            throw std::invalid_argument("distances must be finite: scale the data such that their squares are");
        }
        const Value low = *std::min_element(lows, lows + lanes), high = *std::max_element(highs, highs + lanes);
        low_ = static_cast<double>(low);
        const double width = static_cast<double>(high) - low_;
        scale_ = width > 0 ? std::min((n_bins - 1) / width, 1e300) : 0;
        std::fill(counts_, counts_ + n_bins, 0);
        for (i = 0; i < n; ++i) ++counts_[bin(values[i])];
    }

    // Monotone: a larger value never has a smaller bin.
    int bin(double value) const { return static_cast<int>((value - low_) * scale_); }

    // The first bin up to which there are at least k values.
    int bin_of_rank(Index k) const {
        int b = 0;
        for (Index sum = counts_[0]; sum < k; sum += counts_[b]) ++b;
        return b;
    }

    // No value of the bins 0, ..., b is larger, but for rounding.
    double upper_edge(int b) const { return scale_ > 0 ? low_ + (b + 1) / scale_ : low_; }

    int operator[](int b) const { return counts_[b]; }

    static constexpr int n_bins = 1024;

  private:
    double low_ = 0, scale_ = 0;
    int counts_[n_bins];
};

// The k smallest of n values, ties by index.
class Smallest {
  public:
    // Sets chosen[i] for the k smallest of values[0..n), which have these indices; k <= n. The k-th smallest is sought
    // between `low` and `high` first, and then everywhere.
    void choose(const double* values, const std::int32_t* indices, Index n, Index k, double low, double high,
                char* chosen) {
        const double last = kth(values, n, k, low, high);
        Index below = 0, up_to = 0;
        for (Index i = 0; i < n; ++i) {
            below += values[i] < last;
            up_to += values[i] <= last;
            chosen[i] = values[i] <= last;
        }
        if (up_to == k) return;
        ties_.clear();
        for (Index i = 0; i < n; ++i) {
            if (values[i] == last) ties_.push_back(indices[i]);
        }
        std::nth_element(ties_.begin(), ties_.begin() + (k - below), ties_.end());
        const std::int32_t first_out = ties_[k - below];
        for (Index i = 0; i < n; ++i) chosen[i] = values[i] < last || (values[i] == last && indices[i] < first_out);
    }

  private:
    double kth(const double* values, Index n, Index k, double low, double high) {
        Index below = 0, size = 0;
        const auto collect = [&](auto&& is_below, auto&& is_within) {
            within_.resize(n + 1);
            below = size = 0;
            for (Index i = 0; i < n; ++i) {
                below += is_below(values[i]);
                within_[size] = values[i];
                size += is_within(values[i]);
            }
        };
        collect([&](double v) { return v < low; }, [&](double v) { return v >= low && v <= high; });
        if (below >= k || k > below + size) {
            histogram_.count(values, n);
            const int bin = histogram_.bin_of_rank(k);
            collect([&](double v) { return histogram_.bin(v) < bin; },
                    [&](double v) { return histogram_.bin(v) == bin; });
        }
        std::nth_element(within_.begin(), within_.begin() + (k - 1 - below), within_.begin() + size);
        return within_[k - 1 - below];
    }

    Histogram histogram_;
    std::vector<double> within_;
    std::vector<std::int32_t> ties_;
};

struct Neighbor {
    double distance;
    std::int32_t index;

    friend bool operator<(const Neighbor& a, const Neighbor& b) {
        return a.distance < b.distance || (a.distance == b.distance && a.index < b.index);
    }
};

// The k nearest of some candidates.
class NearestWriter {
  public:
    // Candidates are offered one by one, n of them after clear().
    void clear() {
        distances_.clear();
        indices_.clear();
    }
    void offer(double distance, std::int32_t index) {
        distances_.push_back(distance);
        indices_.push_back(index);
    }
    Index size() const { return static_cast<Index>(distances_.size()); }

    // Writes the k nearest, sorted. The point `self` (or -1) goes first, whatever else lies at distance 0.
    void write(Index k, Index self, Index* indices, double* distances) {
        if (size() < k) throw std::logic_error("nearest_neighbors: fewer candidates than neighbours");
        histogram_.count(distances_.data(), size());
        const int last = histogram_.bin_of_rank(k);
        // Counting sort by bins, then a sort within each.
        int starts[Histogram::n_bins + 1];
        starts[0] = 0;
        for (int b = 0; b <= last; ++b) starts[b + 1] = starts[b] + histogram_[b];
        sorted_.resize(starts[last + 1]);
        int ends[Histogram::n_bins];
        std::copy_n(starts, last + 1, ends);
        for (Index c = 0; c < size(); ++c) {
            const int b = histogram_.bin(distances_[c]);
            if (b > last) continue;
            const double key = indices_[c] == self ? -1 : distances_[c];
            sorted_[ends[b]++] = {key, indices_[c]};
        }
        for (int b = 0; b <= last; ++b) {
            if (histogram_[b] > 1) std::sort(sorted_.begin() + starts[b], sorted_.begin() + starts[b + 1]);
        }
        for (Index j = 0; j < k; ++j) {
            indices[j] = sorted_[j].index;
            distances[j] = sorted_[j].distance;
        }
        if (self >= 0) distances[0] = 0;
    }

  private:
    std::vector<double> distances_;
    std::vector<std::int32_t> indices_;
    std::vector<Neighbor> sorted_;
    Histogram histogram_;
};

}  // namespace idm
