#include "idm/tangent_spaces.hpp"

#include "idm/neighborhood.hpp"

namespace idm {

void tangent_spaces(ConstMatrixView points, ConstIndexMatrixView indices, ConstMatrixView distances,
                    ConstMatrixView bandwidths, MatrixView singular_values, MatrixView vectors,
                    const Execution& execution) {
    const Index k = indices.cols(), m = points.cols(), r = singular_values.cols();
    struct Workspace {
        Weights weights;
        Neighborhood neighborhood;
        Eigen::ArrayXd vector;
    };
    parallel_for(
        indices.rows(), 16, execution, [&] { return Workspace{Weights(k), Neighborhood(k, m), Eigen::ArrayXd(m)}; },
        [&](Index begin, Index end, Workspace& w, Region& region) {
            for (Index i = begin; i < end; ++i) {
                w.weights.start(distances.row(i).data());
                w.weights.at(bandwidths(i, 0));
                w.neighborhood.start(points, points.row(i).data(), indices.row(i).data(), distances(i, k - 1), region);
                w.neighborhood.decompose(w.weights, region);
                for (Index l = 0; l < r; ++l) {
                    singular_values(i, l) = w.neighborhood.singular_value(l);
                    w.neighborhood.vector(l, w.vector.data());
                    for (Index c = 0; c < m; ++c) vectors(i, c * r + l) = w.vector[c];
                    region.checkpoint_after(k * m);
                }
                region.checkpoint();
            }
        });
}

}  // namespace idm
