#include "idm/scaling_laws.hpp"

#include "arrays.hpp"

namespace idm::bindings {
namespace {

py::tuple scaling_laws(const Array& points, const Array& base, const IndexArray& indices, const Array& distances,
                       const Array& bandwidths, int n_threads) {
    const ConstMatrixView p = view(points), b = view(base), d = view(distances), e = view(bandwidths);
    const ConstIndexMatrixView i = view(indices);
    check_neighbors(p, 1, i, d);
    const Index n = e.size(), q = std::min(p.cols(), i.cols());
    Array singular_values({n, q}), exponents({n, q}), laws({n, Index{5}});
    const MatrixView s = mutable_view(singular_values), x = mutable_view(exponents), l = mutable_view(laws);
    run(n_threads, [&](const Execution& execution) { idm::scaling_laws(p, b, i, d, e, s, x, l, execution); });
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
