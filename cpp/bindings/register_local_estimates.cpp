#include "idm/local_estimates.hpp"

#include "arrays.hpp"

namespace idm::bindings {
namespace {

Array local_estimates(const Array& points, const Array& values, const Array& bases, const IndexArray& indices,
                      const Array& distances, const Array& factors, const Array& gammas, int n_threads) {
    const ConstMatrixView p = matrix(points, "points"), y = matrix(values, "values", p.rows()),
                          b = matrix(bases, "bases", at_least_one, p.cols()),
                          f = matrix(factors, "factors", 1, at_least_one),
                          g = matrix(gammas, "gammas", 1, at_least_one);
    const NeighborsView near = neighbors(indices, distances, b.rows());
    Array fitted({b.rows(), f.cols(), g.cols(), y.cols()});
    const MatrixView out = output(fitted);
    run(n_threads, [&](const Execution& execution) {
        check_indices(near.indices, p.rows(), execution);
        check_all(f, "factors", "positive and finite", execution, [](double v) { return v > 0 && std::isfinite(v); });
        check_all(g, "gammas", "positive and finite", execution, [](double v) { return v > 0 && std::isfinite(v); });
        idm::local_estimates(p, y, b, near.indices, near.distances, f, g, out, execution);
    });
    return fitted;
}

}  // namespace

void register_local_estimates(py::module_& module) {
    module.def("local_estimates", &local_estimates, py::arg("points").noconvert(), py::arg("values").noconvert(),
               py::arg("bases").noconvert(), py::arg("indices").noconvert(), py::arg("distances").noconvert(),
               py::arg("factors").noconvert(), py::arg("gammas").noconvert(), py::arg("n_threads"));
}

}  // namespace idm::bindings
