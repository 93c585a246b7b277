#include "idm/scaling_laws.hpp"

#include <algorithm>

#include "arrays.hpp"

namespace idm::bindings {
namespace {

py::tuple scaling_laws(const Array& points, const Array& base, const IndexArray& indices, const Array& distances,
                       const Array& bandwidths, int n_threads) {
    const ConstMatrixView p = matrix(points, "points"), b = matrix(base, "base", 1, p.cols()),
                          e = matrix(bandwidths, "bandwidths", 1, at_least_one);
    const NeighborsView near = neighbors(indices, distances, 1);
    const Index n = e.size(), q = std::min(p.cols(), near.indices.cols());
    Array singular_values({n, q}), exponents({n, q}), laws({n, Index{5}});
    const MatrixView s = output(singular_values), x = output(exponents), l = output(laws);
    run(n_threads, [&](const Execution& execution) {
        check_indices(near.indices, p.rows(), execution);
        check_bandwidths(e, execution);
        idm::scaling_laws(p, b, near.indices, near.distances, e, s, x, l, execution);
    });
    return py::make_tuple(singular_values, exponents, laws);
}

}  // namespace

void register_scaling_laws(py::module_& module) {
    module.attr("least_weight") = least_weight;
    module.def("scaling_laws", &scaling_laws, py::arg("points").noconvert(), py::arg("base").noconvert(),
               py::arg("indices").noconvert(), py::arg("distances").noconvert(), py::arg("bandwidths").noconvert(),
               py::arg("n_threads"));
}

}  // namespace idm::bindings
