#include "idm/metric.hpp"

#include "arrays.hpp"

namespace idm::bindings {

Flow flow_of(double tau, const std::string& mixing, const std::string& change) {
    if (!(tau >= 0 && tau <= 1)) throw py::value_error("tau must be between 0 and 1");
    return {tau, choice<Mixing>(mixing, "mixing", {{"lengths", Mixing::lengths}, {"metric", Mixing::metric}}),
            choice<Change>(change, "change", {{"difference", Change::difference}, {"derivative", Change::derivative}})};
}

FeaturePoints feature_points(ConstMatrixView points, const Array& values, const Flow& flow) {
    const ConstMatrixView v = matrix(values, "values", points.rows(), any);
    if (flow.change == Change::derivative && v.cols() % points.cols() != 0) {
        throw py::value_error("values must have n columns for each column of the points");
    }
    return {points, v};
}

namespace {

py::tuple metric_neighbors(const Array& points, const Array& values, const IndexArray& indices, const Array& distances,
                           double tau, const std::string& mixing, const std::string& change, Index k, int n_threads) {
    const Flow flow = flow_of(tau, mixing, change);
    const FeaturePoints p = feature_points(matrix(points, "points"), values, flow);
    const Index n = p.points.rows();
    const NeighborsView pool = neighbors(indices, distances, n);
    check_between(k, "n_neighbors", 1, pool.indices.cols());
    IndexArray nearest({n, k});
    Array lengths({n, k});
    const IndexMatrixView i = output(nearest);
    const MatrixView l = output(lengths);
    run(n_threads, [&](const Execution& execution) {
        check_indices(pool.indices, n, execution);
        idm::metric_neighbors(p, pool.indices, pool.distances, flow, i, l, execution);
    });
    return py::make_tuple(nearest, lengths);
}

}  // namespace

void register_metric(py::module_& module) {
    module.def("metric_neighbors", &metric_neighbors, py::arg("points").noconvert(), py::arg("values").noconvert(),
               py::arg("indices").noconvert(), py::arg("distances").noconvert(), py::kw_only(), py::arg("tau"),
               py::arg("mixing"), py::arg("change"), py::arg("n_neighbors"), py::arg("n_threads"));
}

}  // namespace idm::bindings
