// Distances between two rows, and the choice of the k smallest of many.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
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
        bins_.resize(n);
        for (i = 0; i < n; ++i) bins_[i] = static_cast<int>((static_cast<double>(values[i]) - low_) * scale_);
        std::fill(counts_, counts_ + n_bins, 0);
        for (i = 0; i < n; ++i) ++counts_[bins_[i]];
    }

    // That of value i. Monotone: a larger value never has a smaller bin.
    int bin(Index i) const { return bins_[i]; }

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
    std::vector<int> bins_;
    int counts_[n_bins];
};

// The numbers below n that pass a test, in order: tests go side by side, and eight in a row that fail are skipped.
class Passing {
  public:
    template <class Test>  // with copies of what it needs, or it is not vectorised
    Index write(Index n, Test test, std::int32_t* numbers) {
        const Index padded = (n + 7) / 8 * 8;
        passes_.resize(padded);
        char* passes = passes_.data();
        for (Index i = 0; i < n; ++i) passes[i] = static_cast<char>(test(i));
        std::fill(passes + n, passes + padded, 0);
        Index size = 0;
        for (Index first = 0; first < padded; first += 8) {
            std::uint64_t some;
            std::memcpy(&some, passes + first, 8);
            if (some == 0) continue;
            for (Index i = first; i < first + 8; ++i) {
                numbers[size] = static_cast<std::int32_t>(i);
                size += passes[i];
            }
        }
        return size;
    }

  private:
    std::vector<char> passes_;
};

// The k smallest of n values, ties by index.
class Smallest {
  public:
    // Sets chosen[i] for the k smallest of values[0..n), whose indices are index(0), index(1), ...; k <= n. The k-th
    // smallest, which is returned, is sought between `low` and `high` first, and then everywhere.
    template <class IndexOf>
    double choose(const double* values, IndexOf&& index, Index n, Index k, double low, double high, char* chosen) {
        const double last = kth(values, n, k, low, high);
        for (Index i = 0; i < n; ++i) chosen[i] = values[i] <= last;
        Index up_to = 0;
        for (Index i = 0; i < n; ++i) up_to += chosen[i];
        if (up_to == k) return last;
        Index below = 0;
        ties_.clear();
        for (Index i = 0; i < n; ++i) {
            below += values[i] < last;
            if (values[i] == last) ties_.push_back(index(i));
        }
        std::nth_element(ties_.begin(), ties_.begin() + (k - below), ties_.end());
        const std::int32_t first_out = ties_[k - below];
        for (Index i = 0; i < n; ++i) chosen[i] = values[i] < last || (values[i] == last && index(i) < first_out);
        return last;
    }

    // The k-th smallest of values[0..n) from 0 on, k <= n, which is at most `high`. Bounds close in on it by
    // comparisons that go side by side, as if values were evenly spread, and every other time by halves.
    double kth_up_to(const double* values, Index n, Index k, double high) {
        double low = -0.01 * high;
        Index n_low = 0, n_high = count(n, [&](Index i) { return values[i] <= high; });  // values up to both
        for (int step = 0; n_high - n_low > 24 && step < 64; ++step) {
            const double share = static_cast<double>(k - n_low) / static_cast<double>(n_high - n_low);
            const double bound = low + (step % 2 ? 0.5 : share) * (high - low);
            const Index n_bound = count(n, [&](Index i) { return values[i] <= bound; });
            (n_bound < k ? low : high) = bound;
            (n_bound < k ? n_low : n_high) = n_bound;
        }
        return kth(values, n, k, std::nextafter(low, high), high);
    }

  private:
    double kth(const double* values, Index n, Index k, double low, double high) {
        numbers_.resize(n + 8);
        Index below = count(n, [&](Index i) { return values[i] < low; });
        Index size =
            passing_.write(n, [=](Index i) { return (values[i] >= low) & (values[i] <= high); }, numbers_.data());
        if (below >= k || k > below + size) {
            histogram_.count(values, n);
            const int bin = histogram_.bin_of_rank(k);
            below = count(n, [&](Index i) { return histogram_.bin(i) < bin; });
            size = passing_.write(n, [&](Index i) { return histogram_.bin(i) == bin; }, numbers_.data());
        }
        within_.resize(size);
        for (Index c = 0; c < size; ++c) within_[c] = values[numbers_[c]];
        std::nth_element(within_.begin(), within_.begin() + (k - 1 - below), within_.end());
        return within_[k - 1 - below];
    }

    template <class Test>
    static Index count(Index n, Test&& test) {
        Index sum = 0;
        for (Index i = 0; i < n; ++i) sum += test(i);
        return sum;
    }

    Histogram histogram_;
    Passing passing_;
    std::vector<std::int32_t> numbers_;
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
    // Candidates are offered one by one, `most` of them or less after clear(most).
    void clear(Index most) {
        if (static_cast<Index>(indices_.size()) < most) {
            distances_.resize(most);
            indices_.resize(most);
        }
        size_ = 0;
    }
    void offer(double distance, std::int32_t index) {
        distances_[size_] = distance;
        indices_[size_++] = index;
    }
    Index size() const { return size_; }

    // Writes the k nearest, sorted. The point `self` (or -1) goes first, whatever else lies at distance 0.
    void write(Index k, Index self, Index* indices, double* distances) {
        if (size() < k) throw std::logic_error("nearest_neighbors: fewer candidates than neighbours");
        histogram_.count(distances_.data(), size());
        const int last = histogram_.bin_of_rank(k);
        // Counting sort by bins, then a sort within each: those of a few values all at once.
        int starts[Histogram::n_bins + 1], ends[Histogram::n_bins];
        starts[0] = 0;
        for (int b = 0; b < Histogram::n_bins; ++b) {
            ends[b] = starts[b];
            starts[b + 1] = starts[b] + histogram_[b];
        }
        sorted_.resize(size());
        for (Index c = 0; c < size(); ++c) {
            sorted_[ends[histogram_.bin(c)]++] = {indices_[c] == self ? -1 : distances_[c], indices_[c]};
        }
        for (int b = 0; b <= last; ++b) {
            if (histogram_[b] > many) std::sort(sorted_.begin() + starts[b], sorted_.begin() + starts[b + 1]);
        }
        insert_in_order(starts[last + 1]);
        for (Index j = 0; j < k; ++j) {
            indices[j] = sorted_[j].index;
            distances[j] = sorted_[j].distance;
        }
        if (self >= 0) distances[0] = 0;
    }

  private:
    static constexpr int many = 16;

    // An insertion sort of the first n, which are near their places.
    void insert_in_order(Index n) {
        for (Index c = 1; c < n; ++c) {
            const Neighbor inserted = sorted_[c];
            Index to = c;
            for (; to > 0 && inserted < sorted_[to - 1]; --to) sorted_[to] = sorted_[to - 1];
            sorted_[to] = inserted;
        }
    }

    Index size_ = 0;
    std::vector<double> distances_;
    std::vector<std::int32_t> indices_;
    std::vector<Neighbor> sorted_;
    Histogram histogram_;
};

}  // namespace idm
