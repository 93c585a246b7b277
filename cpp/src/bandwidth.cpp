#include "idm/bandwidth.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace idm {
namespace {

// Squared distances below this count as 0: their bandwidths could not be represented.
constexpr double smallest_square = 1e-290;
// More than the error of the screened d1, relative.
constexpr float screening_error = 1e-4f;

constexpr Index lanes = 16;

// exp(-x) for 0 <= x <= 87, to about 3e-7 relative: 2^t = 2^round(t) 2^(t - round(t)), the second factor by
// its Taylor series, the first by adding to the exponent's bits.
inline float fast_exp_minus(float x) {
    constexpr float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, in the lowest bits
    const float t = x * -1.44269504f;
    const float shifted = t + shift;
    const float f = (t - (shifted - shift)) * 0.693147181f;
    const float p = 1 + f * (1 + f * (0.5f + f * (1.0f / 6 + f * (1.0f / 24 + f * (1.0f / 120 + f * (1.0f / 720))))));
    std::int32_t power, bits;
    std::memcpy(&power, &shifted, sizeof power);
    std::memcpy(&bits, &p, sizeof bits);
    bits += static_cast<std::int32_t>(static_cast<std::uint32_t>(power) << 23);
    float result;
    std::memcpy(&result, &bits, sizeof result);
    return result;
}

struct FloatSums {
    float one, x, x_square;  // sum w, sum w x, sum w x^2
};

// Over x_j = values[j] * factor, in full groups of lanes: what lies beyond n must be without weight.
FloatSums weighted_sums(const float* values, Index n, float factor) {
    float sums[3][lanes] = {};
    for (Index j = 0; j < n; j += lanes) {
        for (Index l = 0; l < lanes; ++l) {
            float x = values[j + l] * factor;
            x = x < 87.0f ? x : 87.0f;
            const float w = fast_exp_minus(x), wx = w * x;
            sums[0][l] += w;
            sums[1][l] += wx;
            sums[2][l] += wx * x;
        }
    }
    FloatSums total{};
    for (Index l = 0; l < lanes; ++l) {
        total.one += sums[0][l];
        total.x += sums[1][l];
        total.x_square += sums[2][l];
    }
    return total;
}

}  // namespace

BandwidthSweep::BandwidthSweep(Index k, Index n_bandwidths)
    : n_bandwidths_(n_bandwidths), weights_(k), relative_((k + lanes - 1) / lanes * lanes), screened_(n_bandwidths) {}

bool BandwidthSweep::start(const double* distances) {
    weights_.start(distances);
    const Eigen::ArrayXd& squared = weights_.squared();
    const Index k = squared.size();
    largest_ = squared[k - 1];
    if (largest_ < smallest_square) return false;
    smallest_ = *std::lower_bound(squared.data(), squared.data() + k, smallest_square);
    const double machine_epsilon = std::numeric_limits<double>::epsilon();
    log_first_ = std::log(smallest_ / (2 * -std::log(machine_epsilon)));
    const double log_last = std::log(10 * largest_);
    log_step_ = n_bandwidths_ > 1 ? (log_last - log_first_) / static_cast<double>(n_bandwidths_ - 1) : 0;
    return true;
}

double BandwidthSweep::bandwidth(Index l) const { return std::exp(log_first_ + static_cast<double>(l) * log_step_); }

const std::vector<BandwidthSweep::Screened>& BandwidthSweep::screen() {
    const Eigen::ArrayXd& squared = weights_.squared();
    const Index k = squared.size();
    for (Index j = 0; j < k; ++j) relative_[j] = static_cast<float>(squared[j] / largest_);
    std::fill(relative_.begin() + k, relative_.end(), 1e30f);  // without weight
    Index n = 0;
    for (Index l = 0; l < n_bandwidths_; ++l) {
        const double half_inverse = largest_ / (2 * bandwidth(l));
        while (n < k && squared[n] / largest_ * half_inverse <= largest_exponent) ++n;
        const FloatSums sums = weighted_sums(relative_.data(), n, static_cast<float>(half_inverse));
        const float mean = sums.x / sums.one, mean_square = sums.x_square / sums.one;
        screened_[l] = {sums.one, 2 * mean, mean > 0 ? mean_square / mean - mean - 1 : 0};
    }
    return screened_;
}

Index BandwidthSweep::argmax_d1() {
    const bool screened = can_screen();
    float threshold = -1;
    if (screened) {
        float largest = 0;
        for (const Screened& s : screen()) largest = std::max(largest, s.d1);
        threshold = largest * (1 - screening_error);
    }
    Index best = 0;
    double best_d1 = -1;
    for (Index l = 0; l < n_bandwidths_; ++l) {
        if (screened && screened_[l].d1 < threshold) continue;
        const double d1 = weights_.at(bandwidth(l)).d1();
        if (d1 > best_d1) {
            best_d1 = d1;
            best = l;
        }
    }
    return best;
}

}  // namespace idm
