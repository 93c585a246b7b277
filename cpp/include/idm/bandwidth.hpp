// Step 2: the local bandwidth that maximises d1 (Algorithm 1, steps 2 to 6).
#pragma once

#include <vector>

#include "idm/eigen.hpp"
#include "idm/weights.hpp"

namespace idm {

// The sweep over the bandwidths of one neighbourhood: n_bandwidths values, evenly spaced in log eps, from
// r_min^2 / (2 |log machine epsilon|), where r_min is the smallest distance that is not 0, to 10 r_k^2.
class BandwidthSweep {
  public:
    BandwidthSweep(Index k, Index n_bandwidths);

    // Takes a row of k distances, which must not decrease. False if they are all 0 and there is no bandwidth.
    bool start(const double* distances);

    double bandwidth(Index l) const;
    Index n_bandwidths() const { return n_bandwidths_; }
    Weights& weights() { return weights_; }

    // All bandwidths of the sweep at once, in single precision: good to about 1e-5, if it can hold their spread.
    bool can_screen() const { return smallest_ > 1e-30 * largest_; }
    struct Screened {
        float weight, d1, slope;
    };
    const std::vector<Screened>& screen();

    // The bandwidth of the sweep with the largest d1: screened, then decided in double precision.
    Index argmax_d1();

  private:
    Index n_bandwidths_;
    double log_first_ = 0, log_step_ = 0;
    Weights weights_;
    std::vector<float> relative_;        // r^2 / r_k^2, filled up to whole vector registers
    double smallest_ = 0, largest_ = 0;  // r_min^2 and r_k^2
    std::vector<Screened> screened_;
};

}  // namespace idm
