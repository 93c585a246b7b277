#include "idm/local_geometry.hpp"

#include "arrays.hpp"

namespace idm::bindings {
namespace {

py::tuple local_geometry(const Array& points, const IndexArray& indices, const Array& distances,
                         const std::string& tuning, Index n_bandwidths, int n_threads) {
    const ConstMatrixView p = matrix(points, "points");
    const NeighborsView near = neighbors(indices, distances, p.rows());
    const auto chosen = choice<Tuning>(tuning, "tuning", {{"d1", Tuning::d1}, {"svd", Tuning::svd}});
    check_between(n_bandwidths, "n_bandwidths", 2, 100'000);
    Array geometry({p.rows(), Index{3}});
    const MatrixView g = output(geometry);
    Index n_missing = 0;
    run(n_threads, [&](const Execution& execution) {
        check_indices(near.indices, p.rows(), execution);
        n_missing = idm::local_geometry(p, near.indices, near.distances, chosen, n_bandwidths, g, execution);
    });
    return py::make_tuple(geometry, n_missing);
}

}  // namespace

void register_local_geometry(py::module_& module) {
    module.def("local_geometry", &local_geometry, py::arg("points").noconvert(), py::arg("indices").noconvert(),
               py::arg("distances").noconvert(), py::arg("tuning"), py::arg("n_bandwidths"), py::arg("n_threads"));
}

}  // namespace idm::bindings
