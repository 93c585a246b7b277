#include "idm/metric.hpp"

#include <pybind11/stl.h>

#include "arrays.hpp"

namespace idm::bindings {
namespace {

using OptionalArray = std::optional<Array>;

Flow flow_of(double tau, const std::string& mixing) {
    if (mixing == "lengths") return {tau, Mixing::lengths};
    if (mixing == "metric") return {tau, Mixing::metric};
    throw py::value_error("mixing must be 'lengths' or 'metric', got '" + mixing + "'");
}

// Derivatives or features, the other None.
FeaturePoints feature_points(const Array& points, const OptionalArray& derivatives, const OptionalArray& features) {
    const ConstMatrixView none(nullptr, 0, 0);
    const FeaturePoints result{view(points), derivatives ? view(*derivatives) : none,
                               features ? view(*features) : none};
    const bool fits = derivatives ? result.derivatives.rows() == result.points.rows() &&
                                        result.derivatives.cols() % result.points.cols() == 0
                                  : result.features.rows() == result.points.rows();
    if (!fits) throw py::value_error("the sizes of the points and of their derivatives or features do not agree");
    return result;
}

void check_pair(FeaturePoints a, FeaturePoints b) {
    if (a.points.cols() != b.points.cols() || a.derivatives.cols() != b.derivatives.cols() ||
        a.features.cols() != b.features.cols()) {
        throw py::value_error("the sizes of the points and of the bases do not agree");
    }
}

// `bases` None: the points themselves.
py::tuple metric_neighbors(const Array& points, const OptionalArray& derivatives, const OptionalArray& features,
                           const OptionalArray& bases, const OptionalArray& base_derivatives,
                           const OptionalArray& base_features, const IndexArray& candidates, const Array& distances,
                           double tau, const std::string& mixing, Index k, int n_threads) {
    const FeaturePoints p = feature_points(points, derivatives, features);
    const FeaturePoints b = bases ? feature_points(*bases, base_derivatives, base_features) : p;
    const ConstIndexMatrixView c = view(candidates);
    const ConstMatrixView d = view(distances);
    check_pair(p, b);
    check_neighbors(p.points, b.points.rows(), c, d);
    if (k < 1 || k > c.cols()) throw py::value_error("n_neighbors must be between 1 and the number of candidates");
    const Flow flow = flow_of(tau, mixing);
    IndexArray indices({b.points.rows(), k});
    Array lengths({b.points.rows(), k});
    const IndexMatrixView i = mutable_view(indices);
    const MatrixView l = mutable_view(lengths);
    run(n_threads,
        [&](const Execution& execution) { idm::metric_neighbors(p, b, c, d, flow, !bases, i, l, execution); });
    return py::make_tuple(indices, lengths);
}

py::tuple reverse_metric_neighbors(const Array& points, const OptionalArray& derivatives, const OptionalArray& features,
                                   const Array& pool_radii, const IndexArray& pool_last, const Array& radii,
                                   const IndexArray& last, const Array& bases, const OptionalArray& base_derivatives,
                                   const OptionalArray& base_features, const IndexArray& twins, double tau,
                                   const std::string& mixing, int n_threads) {
    const FeaturePoints p = feature_points(points, derivatives, features);
    const FeaturePoints b = feature_points(bases, base_derivatives, base_features);
    check_pair(p, b);
    const Reach pool = reach_of(pool_radii, pool_last, p.points.rows());
    const Reach reach = reach_of(radii, last, p.points.rows());
    const ConstIndexMatrixView t = view(twins);
    if (t.rows() != b.points.rows() || t.cols() != 1) throw py::value_error("twins must have shape (rows, 1)");
    const Flow flow = flow_of(tau, mixing);
    SparseMatrix found;
    run(n_threads, [&](const Execution& execution) {
        found = idm::reverse_metric_neighbors(p, pool, reach, b, t, flow, execution);
    });
    return as_arrays(std::move(found));
}

}  // namespace

void register_metric(py::module_& module) {
    module.def("metric_neighbors", &metric_neighbors, py::arg("points").noconvert(),
               py::arg("derivatives").noconvert().none(true), py::arg("features").noconvert().none(true),
               py::arg("bases").noconvert().none(true), py::arg("base_derivatives").noconvert().none(true),
               py::arg("base_features").noconvert().none(true), py::arg("candidates").noconvert(),
               py::arg("distances").noconvert(), py::arg("tau"), py::arg("mixing"), py::arg("n_neighbors"),
               py::arg("n_threads"));
    module.def("reverse_metric_neighbors", &reverse_metric_neighbors, py::arg("points").noconvert(),
               py::arg("derivatives").noconvert().none(true), py::arg("features").noconvert().none(true),
               py::arg("pool_radii").noconvert(), py::arg("pool_last").noconvert(), py::arg("radii").noconvert(),
               py::arg("last").noconvert(), py::arg("bases").noconvert(),
               py::arg("base_derivatives").noconvert().none(true), py::arg("base_features").noconvert().none(true),
               py::arg("twins").noconvert(), py::arg("tau"), py::arg("mixing"), py::arg("n_threads"));
}

}  // namespace idm::bindings
