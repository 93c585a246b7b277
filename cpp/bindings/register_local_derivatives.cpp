#include "idm/local_derivatives.hpp"

#include <pybind11/stl.h>

#include "arrays.hpp"

namespace idm::bindings {
namespace {

Derivative method_of(const std::string& name) {
    if (name == "affine") return Derivative::affine;
    if (name == "regression") return Derivative::regression;
    if (name == "correlation") return Derivative::correlation;
    throw py::value_error("method must be 'affine', 'regression' or 'correlation', got '" + name + "'");
}

py::tuple local_derivatives(const Array& points, const Array& values, const Array& bases,
                            const std::optional<Array>& base_values, const IndexArray& indices, const Array& distances,
                            const Array& bandwidths, const std::string& method, double regularization, int n_threads) {
    const ConstMatrixView p = view(points), y = view(values), b = view(bases), d = view(distances),
                          e = view(bandwidths);
    const ConstMatrixView base_y = base_values ? view(*base_values) : ConstMatrixView(nullptr, 0, 0);
    const ConstIndexMatrixView i = view(indices);
    check_neighbors(p, b.rows(), i, d);
    const Derivative chosen = method_of(method);
    Array derivatives({b.rows(), y.cols(), p.cols()}), fitted({b.rows(), y.cols()});
    const MatrixView fit = mutable_view(fitted);
    const MatrixView out(derivatives.mutable_data(), b.rows(), y.cols() * p.cols());
    run(n_threads, [&](const Execution& execution) {
        idm::local_derivatives(p, y, b, base_y, i, d, e, chosen, regularization, out, fit, execution);
    });
    return py::make_tuple(derivatives, fitted);
}

}  // namespace

void register_local_derivatives(py::module_& module) {
    module.def("local_derivatives", &local_derivatives, py::arg("points").noconvert(), py::arg("values").noconvert(),
               py::arg("bases").noconvert(), py::arg("base_values").noconvert().none(true),
               py::arg("indices").noconvert(), py::arg("distances").noconvert(), py::arg("bandwidths").noconvert(),
               py::arg("method"), py::arg("regularization"), py::arg("n_threads"));
}

}  // namespace idm::bindings
