#include "idm/extension.hpp"

#include "arrays.hpp"

namespace idm::bindings {
namespace {

py::tuple extend(const PointIndex& index, const Array& values, const Array& pool_radii, const Array& radii,
                 const Array& bases, const Array& base_values, double tau, const std::string& mixing,
                 const std::string& change, Index pool_size, Index k, double epsilon, const Array& weights,
                 const Array& functions, const std::optional<Array>& scales, double unit, double reach, Index n_near,
                 int n_threads) {
    const Flow flow = flow_of(tau, mixing, change);
    const FeaturePoints p = feature_points(index.index->points(), values, flow);
    const Index n = p.points.rows();
    const ConstMatrixView b = matrix(bases, "bases", any, p.points.cols());
    const ConstMatrixView v = matrix(base_values, "base_values", b.rows(), p.values.cols());
    check_between(pool_size, "pool_size", 1, n);
    check_between(k, "n_neighbors", 1, pool_size);
    check_positive(epsilon, "epsilon");
    std::optional<LocalScales> local;
    if (scales) {
        check_positive(unit, "unit");
        check_positive(reach, "reach");
        check_between(n_near, "n_near", 1, k);
        local.emplace(LocalScales{matrix(*scales, "scales", n, 3), unit, reach, n_near});
    }
    const TrainedMap map{*index.index,
                         p.values,
                         matrix(pool_radii, "pool_radii", n, 1),
                         matrix(radii, "radii", n, 1),
                         flow,
                         pool_size,
                         k,
                         epsilon,
                         matrix(weights, "weights", n, 1),
                         matrix(functions, "functions", n),
                         local};
    Array extended({b.rows(), map.functions.cols()}), distances({b.rows(), Index{1}});
    IndexArray nearest({b.rows(), Index{1}});
    const MatrixView e(extended.mutable_data(), b.rows(), map.functions.cols()), d = output(distances);
    const IndexMatrixView i = output(nearest);
    run(n_threads, [&](const Execution& execution) {
        check_finite(b, "bases", execution);
        idm::extend(map, {b, v}, e, i, d, execution);
    });
    return py::make_tuple(extended, nearest, distances);
}

}  // namespace

void register_extension(py::module_& module) {
    module.def("extend", &extend, py::arg("index"), py::kw_only(), py::arg("values").noconvert(),
               py::arg("pool_radii").noconvert(), py::arg("radii").noconvert(), py::arg("bases").noconvert(),
               py::arg("base_values").noconvert(), py::arg("tau"), py::arg("mixing"), py::arg("change"),
               py::arg("pool_size"), py::arg("n_neighbors"), py::arg("epsilon"), py::arg("weights").noconvert(),
               py::arg("functions").noconvert(), py::arg("scales").noconvert(), py::arg("unit"), py::arg("reach"),
               py::arg("n_near"), py::arg("n_threads"));
}

}  // namespace idm::bindings
