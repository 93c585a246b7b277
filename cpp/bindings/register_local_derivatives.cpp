#include "idm/local_derivatives.hpp"

#include <optional>

#include "arrays.hpp"

namespace idm::bindings {
namespace {

// `base_values` may be None for the affine method.
py::tuple local_derivatives(const Array& points, const Array& values, const Array& bases,
                            const std::optional<Array>& base_values, const IndexArray& indices, const Array& distances,
                            const Array& bandwidths, const std::string& method, double regularization, int n_threads) {
    const auto chosen = choice<Derivative>(method, "method",
                                           {{"affine", Derivative::affine},
                                            {"regression", Derivative::regression},
                                            {"correlation", Derivative::correlation}});
    const ConstMatrixView p = matrix(points, "points"), y = matrix(values, "values", p.rows()),
                          b = matrix(bases, "bases", at_least_one, p.cols()),
                          e = matrix(bandwidths, "bandwidths", b.rows(), 1);
    if (!base_values && chosen != Derivative::affine) {
        throw py::value_error("base_values are needed for method '" + method + "'");
    }
    const ConstMatrixView base_y =
        base_values ? matrix(*base_values, "base_values", b.rows(), y.cols()) : ConstMatrixView(nullptr, 0, y.cols());
    const NeighborsView near = neighbors(indices, distances, b.rows());
    if (!(regularization >= 0)) throw py::value_error("regularization must not be negative");
    Array derivatives({b.rows(), y.cols(), p.cols()}), fitted({b.rows(), y.cols()});
    const MatrixView out = output(derivatives), fit = output(fitted);
    run(n_threads, [&](const Execution& execution) {
        check_indices(near.indices, p.rows(), execution);
        check_bandwidths(e, execution);
        idm::local_derivatives(p, y, b, base_y, near.indices, near.distances, e, chosen, regularization, out, fit,
                               execution);
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
