#include "idm/local_geometry.hpp"

#include "arrays.hpp"

namespace idm::bindings {
namespace {

py::tuple local_geometry(const Array& points, const IndexArray& indices, const Array& distances, bool svd,
                         Index n_bandwidths, int n_threads) {
    const ConstMatrixView p = view(points), d = view(distances);
    const ConstIndexMatrixView i = view(indices);
    check_neighbors(p, p.rows(), i, d);
    Array geometry({p.rows(), Index{3}});
    const MatrixView g = mutable_view(geometry);
    Index n_missing = 0;
    run(n_threads, [&](const Execution& execution) {
        n_missing = idm::local_geometry(p, i, d, svd ? Tuning::svd : Tuning::d1, n_bandwidths, g, execution);
    });
    return py::make_tuple(geometry, n_missing);
}

}  // namespace

void register_local_geometry(py::module_& module) {
    module.def("local_geometry", &local_geometry, py::arg("points").noconvert(), py::arg("indices").noconvert(),
               py::arg("distances").noconvert(), py::arg("svd"), py::arg("n_bandwidths"), py::arg("n_threads"));
}

}  // namespace idm::bindings
