#include "idm/normalization.hpp"

#include "arrays.hpp"

namespace idm::bindings {
namespace {

// In place: the matrix is large, and the one that is normalised is not needed again.
Array normalize(const RowStartArray& row_start, const ColumnArray& columns, Array& values, double alpha,
                int n_threads) {
    const SparseView matrix = view(row_start, columns, values);
    Array sums({row_start.size() - 1, py::ssize_t{2}});
    const MatrixView s = mutable_view(sums);
    double* v = values.mutable_data();
    run(n_threads,
        [&](const Execution& execution) { idm::normalize(matrix.row_start, matrix.columns, v, alpha, s, execution); });
    return sums;
}

}  // namespace

void register_normalization(py::module_& module) {
    module.def("normalize", &normalize, py::arg("row_start").noconvert(), py::arg("columns").noconvert(),
               py::arg("values").noconvert(), py::arg("alpha"), py::arg("n_threads"));
}

}  // namespace idm::bindings
