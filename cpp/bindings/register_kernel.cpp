#include "idm/kernel.hpp"

#include "arrays.hpp"

namespace idm::bindings {
namespace {

// `exact`: the neighbours are those that nearest_neighbors finds.
py::tuple symmetric_kernel(const IndexArray& indices, const Array& distances, double epsilon, bool exact,
                           int n_threads) {
    const ConstIndexMatrixView i = view(indices);
    const ConstMatrixView d = view(distances);
    check_neighbors(d, d.rows(), i, d);
    SparseMatrix kernel;
    run(n_threads, [&](const Execution& execution) {
        kernel = (exact ? idm::nearest_kernel : idm::symmetric_kernel)(i, d, epsilon, execution);
    });
    return as_arrays(std::move(kernel));
}

Array kernel_dimensions(const Array& distances, double epsilon, int n_threads) {
    const ConstMatrixView d = view(distances);
    Array dimensions({d.rows(), Index{1}});
    const MatrixView out = mutable_view(dimensions);
    run(n_threads, [&](const Execution& execution) { idm::kernel_dimensions(d, epsilon, out, execution); });
    return dimensions;
}

py::tuple connected_components(const RowStartArray& row_start, const ColumnArray& columns, const Array& values,
                               double least) {
    const SparseView matrix = view(row_start, columns, values);
    IndexArray labels({matrix.n_rows, Index{1}});
    const IndexMatrixView l = mutable_view(labels);
    Index n_components = 0;
    run(1, [&](const Execution&) { n_components = idm::connected_components(matrix, least, l); });
    return py::make_tuple(n_components, labels);
}

void multiply(const RowStartArray& row_start, const ColumnArray& columns, const Array& values, const Array& x, Array& y,
              int n_threads) {
    const ConstMatrixView in = view(x);
    const MatrixView out = mutable_view(y);
    const SparseView a = view(row_start, columns, values);
    if (a.n_rows != out.rows() || in.rows() != out.rows() || in.cols() != out.cols()) {
        throw py::value_error("multiply: the sizes of the matrix and the vectors do not agree");
    }
    run(n_threads, [&](const Execution& execution) { idm::multiply(a, in, out, execution); });
}

}  // namespace

void register_kernel(py::module_& module) {
    module.def("symmetric_kernel", &symmetric_kernel, py::arg("indices").noconvert(), py::arg("distances").noconvert(),
               py::arg("epsilon"), py::arg("exact"), py::arg("n_threads"));
    module.def("kernel_dimensions", &kernel_dimensions, py::arg("distances").noconvert(), py::arg("epsilon"),
               py::arg("n_threads"));
    module.def("connected_components", &connected_components, py::arg("row_start").noconvert(),
               py::arg("columns").noconvert(), py::arg("values").noconvert(), py::arg("least"));
    module.def("multiply", &multiply, py::arg("row_start").noconvert(), py::arg("columns").noconvert(),
               py::arg("values").noconvert(), py::arg("x").noconvert(), py::arg("y").noconvert(), py::arg("n_threads"));
}

}  // namespace idm::bindings
