#include "idm/local_estimates.hpp"

#include <optional>

#include "arrays.hpp"

namespace idm::bindings {
namespace {

Array local_estimates(const Array& points, const Array& values, const Array& counts, const Array& bases,
                      const IndexArray& indices, const Array& distances, const Array& bandwidths,
                      const std::optional<IndexArray>& left_out, const Array& factors, const Array& gammas,
                      int n_threads) {
    const ConstMatrixView p = matrix(points, "points"), y = matrix(values, "values", p.rows()),
                          c = matrix(counts, "counts", p.rows(), 1), b = matrix(bases, "bases", at_least_one, p.cols()),
                          e = matrix(bandwidths, "bandwidths", b.rows(), 1),
                          f = matrix(factors, "factors", 1, at_least_one),
                          g = matrix(gammas, "gammas", 1, at_least_one);
    const NeighborsView near = neighbors(indices, distances, b.rows());
    const ConstIndexMatrixView without =
        left_out ? matrix(*left_out, "left_out", b.rows(), 1) : ConstIndexMatrixView(nullptr, 0, 1);
    if (left_out && near.indices.cols() < 2) throw py::value_error("indices must have two columns, one to be left out");
    Array fitted({b.rows(), f.cols(), g.cols(), y.cols()});
    const MatrixView out = output(fitted);
    run(n_threads, [&](const Execution& execution) {
        const auto positive = [](double v) { return v > 0 && std::isfinite(v); };
        check_indices(near.indices, p.rows(), execution);
        check_indices(without, p.rows(), execution);
        check_bandwidths(e, execution);
        check_all(c, "counts", "positive and finite", execution, positive);
        check_all(f, "factors", "positive and finite", execution, positive);
        check_all(g, "gammas", "positive and finite", execution, positive);
        idm::local_estimates({p, y, c}, {b, near.indices, near.distances, e, without}, f, g, out, execution);
    });
    return fitted;
}

}  // namespace

void register_local_estimates(py::module_& module) {
    module.def("local_estimates", &local_estimates, py::arg("points").noconvert(), py::arg("values").noconvert(),
               py::arg("counts").noconvert(), py::arg("bases").noconvert(), py::arg("indices").noconvert(),
               py::arg("distances").noconvert(), py::arg("bandwidths").noconvert(),
               py::arg("left_out").noconvert().none(true), py::arg("factors").noconvert(),
               py::arg("gammas").noconvert(), py::arg("n_threads"));
}

}  // namespace idm::bindings
