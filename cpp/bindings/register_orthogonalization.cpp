#include "idm/orthogonalization.hpp"

#include "arrays.hpp"

namespace idm::bindings {
namespace {

// In place.
void project_out(const Array& basis, Index n_columns, Array& block, int n_threads) {
    const ConstMatrixView v = view(basis);
    const MatrixView b = mutable_view(block);
    if (v.rows() != b.rows() || n_columns < 0 || n_columns > v.cols()) {
        throw py::value_error("project_out: the sizes of the basis and the block do not agree");
    }
    run(n_threads, [&](const Execution& execution) { idm::project_out(v, n_columns, b, execution); });
}

}  // namespace

void register_orthogonalization(py::module_& module) {
    module.def("project_out", &project_out, py::arg("basis").noconvert(), py::arg("n_columns"),
               py::arg("block").noconvert(), py::arg("n_threads"));
}

}  // namespace idm::bindings
