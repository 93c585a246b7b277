#include "idm/local_geometry.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "idm/bandwidth.hpp"
#include "idm/neighborhood.hpp"

namespace idm {
namespace {

constexpr double two_pi = 6.283185307179586;
// The least weight D at a tuned bandwidth. In random samples the criterion is met by accident where few points have
// weight: with 5, 12 and 15 the median dimension of 10,000 points of a swiss roll is 1.88, 1.91 and 1.92, and the
// relative error of derivatives on the torus of section 3.2 is 0.015, 0.016 and 0.019.
constexpr double tuned_weight = 12;
// More than the error of the screened |dlog d1 / dlog eps|, absolute.
constexpr float screening_error = 1e-3f;

struct Tuned {
    double bandwidth, dimension, weight;
};

struct Workspace {
    BandwidthSweep sweep;
    Neighborhood neighborhood;
    struct Candidate {
        float bound;  // of M from below
        Index l;
    };
    std::vector<Candidate> candidates;
};

Tuned tune_d1(BandwidthSweep& sweep) {
    const double bandwidth = sweep.bandwidth(sweep.argmax_d1());
    const Moments moments = sweep.weights().at(bandwidth);
    return {bandwidth, moments.d1(), moments.weight};
}

// argmin M over the sweep. M is at least |dlog d1 / dlog eps|, which the screening knows: bandwidths are
// tried by increasing bound until no bound is below the best M, so that few of them need singular values.
Tuned tune_svd(Workspace& w, Index k, Region& region) {
    const double required = std::min(tuned_weight, static_cast<double>(k) / 2);
    w.candidates.clear();
    if (w.sweep.can_screen()) {
        const auto& screened = w.sweep.screen();
        for (Index l = 0; l < w.sweep.n_bandwidths(); ++l) {
            if (static_cast<double>(screened[l].weight) < 0.999 * required) continue;
            w.candidates.push_back({std::abs(screened[l].slope) - screening_error, l});
        }
    } else {
        for (Index l = 0; l < w.sweep.n_bandwidths(); ++l) w.candidates.push_back({0, l});
    }
    std::sort(w.candidates.begin(), w.candidates.end(),
              [](const auto& a, const auto& b) { return a.bound < b.bound || (a.bound == b.bound && a.l < b.l); });
    double least = std::numeric_limits<double>::infinity();
    Index best = -1;
    Tuned tuned{};
    for (const auto& candidate : w.candidates) {
        if (static_cast<double>(candidate.bound) > least) break;
        const double bandwidth = w.sweep.bandwidth(candidate.l);
        const Moments moments = w.sweep.weights().at(bandwidth);
        if (moments.weight < required) continue;
        w.neighborhood.decompose(w.sweep.weights(), region);
        const Agreement a =
            w.neighborhood.agreement(w.sweep.weights(), moments, w.neighborhood.n_exponents(moments), region);
        if (a.disagreement < least || (a.disagreement == least && candidate.l < best)) {
            least = a.disagreement;
            best = candidate.l;
            tuned = {bandwidth, a.d_ave, moments.weight};
        }
    }
    return best >= 0 ? tuned : tune_d1(w.sweep);
}

}  // namespace

Index local_geometry(ConstMatrixView points, ConstIndexMatrixView indices, ConstMatrixView distances, Tuning tuning,
                     Index n_bandwidths, MatrixView geometry, const Execution& execution) {
    const Index n = indices.rows(), k = indices.cols(), m = points.cols();
    parallel_for(
        n, 16, execution,
        [&] {
            const bool svd = tuning == Tuning::svd;
            Workspace w{BandwidthSweep(k, n_bandwidths), Neighborhood(svd ? k : 0, svd ? m : 0), {}};
            w.candidates.reserve(n_bandwidths);
            return w;
        },
        [&](Index begin, Index end, Workspace& w, Region& region) {
            for (Index i = begin; i < end; ++i) {
                if (!w.sweep.start(distances.row(i).data())) {
                    geometry.row(i) << 0, 0, std::log(static_cast<double>(k) / static_cast<double>(n));
                    continue;
                }
                if (tuning == Tuning::svd)
                    w.neighborhood.start(points, points.row(i).data(), indices.row(i).data(), distances(i, k - 1),
                                         region);
                const Tuned t = tuning == Tuning::svd ? tune_svd(w, k, region) : tune_d1(w.sweep);
                const double log_density =
                    std::log(t.weight / static_cast<double>(n)) - t.dimension / 2 * std::log(two_pi * t.bandwidth);
                geometry.row(i) << t.bandwidth, t.dimension, log_density;
                region.checkpoint();
            }
        });

    std::vector<double> bandwidths;
    for (Index i = 0; i < n; ++i) {
        if (geometry(i, 0) > 0) bandwidths.push_back(geometry(i, 0));
    }
    const Index n_missing = n - static_cast<Index>(bandwidths.size());
    if (n_missing == 0 || bandwidths.empty()) return n_missing;
    const auto middle = bandwidths.begin() + static_cast<Index>(bandwidths.size() / 2);
    std::nth_element(bandwidths.begin(), middle, bandwidths.end());
    for (Index i = 0; i < n; ++i) {
        if (!(geometry(i, 0) > 0)) geometry(i, 0) = *middle;
    }
    return n_missing;
}

}  // namespace idm
