#include "idm/tangent_spaces.hpp"

#include "arrays.hpp"

namespace idm::bindings {
namespace {

py::tuple tangent_spaces(const Array& points, const IndexArray& indices, const Array& distances,
                         const Array& bandwidths, Index n_components, int n_threads) {
    const ConstMatrixView p = view(points), d = view(distances), e = view(bandwidths);
    const ConstIndexMatrixView i = view(indices);
    check_neighbors(p, p.rows(), i, d);
    Array singular_values({p.rows(), n_components}), vectors({p.rows(), p.cols(), n_components});
    const MatrixView s = mutable_view(singular_values);
    const MatrixView v(vectors.mutable_data(), p.rows(), p.cols() * n_components);
    run(n_threads, [&](const Execution& execution) { idm::tangent_spaces(p, i, d, e, s, v, execution); });
    return py::make_tuple(vectors, singular_values);
}

}  // namespace

void register_tangent_spaces(py::module_& module) {
    module.def("tangent_spaces", &tangent_spaces, py::arg("points").noconvert(), py::arg("indices").noconvert(),
               py::arg("distances").noconvert(), py::arg("bandwidths").noconvert(), py::arg("n_components"),
               py::arg("n_threads"));
}

}  // namespace idm::bindings
