#include "idm/orthogonalization.hpp"

#include "arrays.hpp"

namespace idm::bindings {
namespace {

// In place.
void project_out(const Array& basis, Index n_columns, Array& block, int n_threads) {
    const ConstMatrixView v = matrix(basis, "basis", at_least_one, any);
    matrix(block, "block", v.rows());
    check_between(n_columns, "n_columns", 0, v.cols());
    const MatrixView b = output(block);
    run(n_threads, [&](const Execution& execution) { idm::project_out(v, n_columns, b, execution); });
}

}  // namespace

void register_orthogonalization(py::module_& module) {
    module.def("project_out", &project_out, py::arg("basis").noconvert(), py::arg("n_columns"),
               py::arg("block").noconvert(), py::arg("n_threads"));
}

}  // namespace idm::bindings
