#include "idm/normalization.hpp"

#include "arrays.hpp"

namespace idm::bindings {
namespace {

// In place: the matrix is large, and the one that is normalised is not needed again.
Array normalize(SparseMatrix& a, double alpha, int n_threads) {
    if (a.n_rows != a.n_columns) throw py::value_error("normalize: the matrix must be square");
    Array sums({a.n_rows, Index{2}});
    const MatrixView s = output(sums);
    run(n_threads, [&](const Execution& execution) { idm::normalize(a, alpha, s, execution); });
    return sums;
}

}  // namespace

void register_normalization(py::module_& module) {
    module.def("normalize", &normalize, py::arg("matrix"), py::arg("alpha"), py::arg("n_threads"));
}

}  // namespace idm::bindings
