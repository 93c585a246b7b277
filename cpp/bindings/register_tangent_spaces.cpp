#include "idm/tangent_spaces.hpp"

#include <algorithm>

#include "arrays.hpp"

namespace idm::bindings {
namespace {

py::tuple tangent_spaces(const Array& points, const IndexArray& indices, const Array& distances,
                         const Array& bandwidths, Index n_components, int n_threads) {
    const ConstMatrixView p = matrix(points, "points"), e = matrix(bandwidths, "bandwidths", p.rows(), 1);
    const NeighborsView near = neighbors(indices, distances, p.rows());
    check_between(n_components, "n_components", 1, std::min(p.cols(), near.indices.cols()));
    Array singular_values({p.rows(), n_components}), vectors({p.rows(), p.cols(), n_components});
    const MatrixView s = output(singular_values), v = output(vectors);
    run(n_threads, [&](const Execution& execution) {
        check_indices(near.indices, p.rows(), execution);
        check_bandwidths(e, execution);
        idm::tangent_spaces(p, near.indices, near.distances, e, s, v, execution);
    });
    return py::make_tuple(vectors, singular_values);
}

}  // namespace

void register_tangent_spaces(py::module_& module) {
    module.def("tangent_spaces", &tangent_spaces, py::arg("points").noconvert(), py::arg("indices").noconvert(),
               py::arg("distances").noconvert(), py::arg("bandwidths").noconvert(), py::arg("n_components"),
               py::arg("n_threads"));
}

}  // namespace idm::bindings
