#include "idm/metric.hpp"

#include "arrays.hpp"

namespace idm::bindings {
namespace {

Flow flow_of(double tau, const std::string& mixing, const std::string& change) {
    if (!(tau >= 0 && tau <= 1)) throw py::value_error("tau must be between 0 and 1");
    return {tau, choice<Mixing>(mixing, "mixing", {{"lengths", Mixing::lengths}, {"metric", Mixing::metric}}),
            choice<Change>(change, "change", {{"difference", Change::difference}, {"derivative", Change::derivative}})};
}

// Points with their features, or with the derivatives of these.
FeaturePoints feature_points(ConstMatrixView points, const Array& values, const char* name, const Flow& flow) {
    const ConstMatrixView v = matrix(values, name, points.rows());
    if (flow.change == Change::derivative && v.cols() % points.cols() != 0) {
        throw py::value_error(std::string(name) + " must have n columns for each column of the points");
    }
    return {points, v};
}

FeaturePoints base_points(const FeaturePoints& points, const Array& bases, const Array& values) {
    const ConstMatrixView b = matrix(bases, "bases", any, points.points.cols());
    return {b, matrix(values, "base_values", b.rows(), points.values.cols())};
}

py::tuple metric_neighbors(const Array& points, const Array& values, const Array& bases, const Array& base_values,
                           const IndexArray& twins, const IndexArray& indices, const Array& distances, double tau,
                           const std::string& mixing, const std::string& change, Index k, int n_threads) {
    const Flow flow = flow_of(tau, mixing, change);
    const FeaturePoints p = feature_points(matrix(points, "points"), values, "values", flow);
    const FeaturePoints b = base_points(p, bases, base_values);
    const ConstIndexMatrixView t = matrix(twins, "twins", b.points.rows(), 1);
    const NeighborsView pool = neighbors(indices, distances, b.points.rows());
    check_between(k, "n_neighbors", 1, pool.indices.cols());
    IndexArray nearest({b.points.rows(), k});
    Array lengths({b.points.rows(), k});
    const IndexMatrixView i = output(nearest);
    const MatrixView l = output(lengths);
    run(n_threads, [&](const Execution& execution) {
        check_indices(pool.indices, p.points.rows(), execution);
        check_twins(t, p.points.rows(), execution);
        idm::metric_neighbors(p, b, t, pool.indices, pool.distances, flow, i, l, execution);
    });
    return py::make_tuple(nearest, lengths);
}

SparseMatrix reverse_metric_neighbors(const PointIndex& index, const Array& values, const Array& pool_radii,
                                      const IndexArray& pool_last, const Array& radii, const IndexArray& last,
                                      const Array& bases, const Array& base_values, const IndexArray& twins, double tau,
                                      const std::string& mixing, const std::string& change, int n_threads) {
    const Flow flow = flow_of(tau, mixing, change);
    const FeaturePoints p = feature_points(index.index->points(), values, "values", flow);
    const FeaturePoints b = base_points(p, bases, base_values);
    const Reach pool = reach_of(pool_radii, pool_last, p.points.rows()), reach = reach_of(radii, last, p.points.rows());
    const ConstIndexMatrixView t = matrix(twins, "twins", b.points.rows(), 1);
    SparseMatrix found;
    run(n_threads, [&](const Execution& execution) {
        check_twins(t, p.points.rows(), execution);
        found = idm::reverse_metric_neighbors(*index.index, p.values, pool, reach, b, t, flow, execution);
    });
    return found;
}

}  // namespace

void register_metric(py::module_& module) {
    module.def("metric_neighbors", &metric_neighbors, py::arg("points").noconvert(), py::arg("values").noconvert(),
               py::arg("bases").noconvert(), py::arg("base_values").noconvert(), py::arg("twins").noconvert(),
               py::arg("indices").noconvert(), py::arg("distances").noconvert(), py::kw_only(), py::arg("tau"),
               py::arg("mixing"), py::arg("change"), py::arg("n_neighbors"), py::arg("n_threads"));
    module.def("reverse_metric_neighbors", &reverse_metric_neighbors, py::arg("index"), py::arg("values").noconvert(),
               py::kw_only(), py::arg("pool_radii").noconvert(), py::arg("pool_last").noconvert(),
               py::arg("radii").noconvert(), py::arg("last").noconvert(), py::arg("bases").noconvert(),
               py::arg("base_values").noconvert(), py::arg("twins").noconvert(), py::arg("tau"), py::arg("mixing"),
               py::arg("change"), py::arg("n_threads"));
}

}  // namespace idm::bindings
