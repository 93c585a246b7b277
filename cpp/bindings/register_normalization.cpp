#include "idm/normalization.hpp"

#include "arrays.hpp"

namespace idm::bindings {
namespace {

// In place: the matrix is large, and the one that is normalised is not needed again.
Array normalize(const py::array_t<std::int64_t, py::array::c_style>& row_start,
                const py::array_t<std::int32_t, py::array::c_style>& columns, Array& values, double alpha,
                int n_threads) {
    if (columns.size() != values.size()) throw py::value_error("normalize: as many columns as values are needed");
    Array sums({row_start.size() - 1, py::ssize_t{2}});
    const MatrixView s = mutable_view(sums);
    double* v = values.mutable_data();
    run(n_threads,
        [&](const Execution& execution) { idm::normalize(row_start.data(), columns.data(), v, alpha, s, execution); });
    return sums;
}

}  // namespace

void register_normalization(py::module_& module) {
    module.def("normalize", &normalize, py::arg("row_start").noconvert(), py::arg("columns").noconvert(),
               py::arg("values").noconvert(), py::arg("alpha"), py::arg("n_threads"));
}

}  // namespace idm::bindings
