#include "idm/scaling_laws.hpp"

#include <algorithm>

#include "idm/neighborhood.hpp"

namespace idm {

void scaling_laws(ConstMatrixView points, ConstMatrixView base, ConstIndexMatrixView indices, ConstMatrixView distances,
                  ConstMatrixView bandwidths, MatrixView singular_values, MatrixView exponents, MatrixView laws,
                  const Execution& execution) {
    const Index k = indices.cols(), m = points.cols(), q = std::min(k, m);
    struct Workspace {
        Weights weights;
        Neighborhood neighborhood;
        bool started = false;
    };
    parallel_for(
        bandwidths.size(), 4, execution, [&] { return Workspace{Weights(k), Neighborhood(k, m)}; },
        [&](Index begin, Index end, Workspace& w, Region& region) {
            if (!w.started) {
                w.weights.start(distances.data());
                w.neighborhood.start(points, base.data(), indices.data(), distances(0, k - 1), region);
                w.started = true;
            }
            for (Index i = begin; i < end; ++i) {
                const Moments moments = w.weights.at(bandwidths.data()[i]);
                w.neighborhood.decompose(w.weights, region);
                const Agreement a = w.neighborhood.agreement(w.weights, moments, q, region);
                for (Index l = 0; l < q; ++l) {
                    singular_values(i, l) = w.neighborhood.singular_value(l);
                    exponents(i, l) = w.neighborhood.exponent(l);
                }
                laws.row(i) << moments.d1(), a.d2, a.d_ave, a.disagreement, moments.weight;
            }
        });
}

}  // namespace idm
