#include "idm/metric.hpp"

#include <pybind11/stl.h>

#include "arrays.hpp"

namespace idm::bindings {
namespace {

Flow flow_of(double tau, const std::string& mixing) {
    if (mixing == "lengths") return {tau, Mixing::lengths};
    if (mixing == "metric") return {tau, Mixing::metric};
    throw py::value_error("mixing must be 'lengths' or 'metric', got '" + mixing + "'");
}

// `bases` None: the points themselves.
py::tuple metric_neighbors(const Array& points, const std::optional<Array>& bases, const Array& derivatives,
                           const IndexArray& candidates, const Array& distances, double tau, const std::string& mixing,
                           Index k, int n_threads) {
    const ConstMatrixView p = view(points), b = bases ? view(*bases) : p, d = view(distances);
    const ConstMatrixView dh = view(derivatives);
    const ConstIndexMatrixView c = view(candidates);
    check_neighbors(p, b.rows(), c, d);
    if (p.cols() != b.cols() || dh.rows() != b.rows() || dh.cols() % p.cols() != 0 || k < 1 || k > c.cols()) {
        throw py::value_error("metric_neighbors: the sizes of the arrays do not agree");
    }
    const Flow flow = flow_of(tau, mixing);
    IndexArray indices({b.rows(), k});
    Array lengths({b.rows(), k});
    const IndexMatrixView i = mutable_view(indices);
    const MatrixView l = mutable_view(lengths);
    run(n_threads,
        [&](const Execution& execution) { idm::metric_neighbors(p, b, dh, c, d, flow, !bases, i, l, execution); });
    return py::make_tuple(indices, lengths);
}

}  // namespace

void register_metric(py::module_& module) {
    module.def("metric_neighbors", &metric_neighbors, py::arg("points").noconvert(),
               py::arg("bases").noconvert().none(true), py::arg("derivatives").noconvert(),
               py::arg("candidates").noconvert(), py::arg("distances").noconvert(), py::arg("tau"), py::arg("mixing"),
               py::arg("n_neighbors"), py::arg("n_threads"));
}

}  // namespace idm::bindings
