#include "idm/sparse_matrix.hpp"

#include <algorithm>
#include <vector>

#include "arrays.hpp"

namespace idm::bindings {
namespace {

// A copy, so that what was checked stays so.
SparseMatrix from_arrays(const RowStartArray& row_start, const ColumnArray& columns, const Array& values,
                         Index n_columns) {
    const Index n_rows = row_start.size() - 1;
    const std::int64_t* start = row_start.data();
    if (row_start.ndim() != 1 || columns.ndim() != 1 || values.ndim() != 1 || n_rows < 0 || n_columns < 0 ||
        columns.size() != values.size() || start[0] != 0 || start[n_rows] != columns.size() ||
        !std::is_sorted(start, start + n_rows + 1) ||
        !std::all_of(
            columns.data(), columns.data() + columns.size(), [&](auto c) { return c >= 0 && c < n_columns; })) {
        throw py::value_error("the arrays are not the compressed rows of a matrix");
    }
    SparseMatrix result(n_rows, n_columns);
    std::copy_n(start, n_rows + 1, result.row_start.get());
    result.allocate_entries();
    std::copy_n(columns.data(), columns.size(), result.columns.get());
    std::copy_n(values.data(), values.size(), result.values.get());
    return result;
}

// A view that keeps the matrix alive.
template <class T>
py::array_t<T> read_only(const py::object& owner, const T* data, Index size) {
    py::array_t<T> array({size}, {static_cast<py::ssize_t>(sizeof(T))}, data, owner);
    py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
    return array;
}

Array multiply(const SparseMatrix& a, const Array& x, int n_threads) {
    const ConstMatrixView in = matrix(x, "x", a.n_columns, any);
    Array product({a.n_rows, in.cols()});
    const MatrixView out(product.mutable_data(), a.n_rows, in.cols());
    run(n_threads, [&](const Execution& execution) { idm::multiply(a.view(), in, out, execution); });
    return product;
}

Array chebyshev(const SparseMatrix& a, const Array& x, double low, double high, Index degree, int n_threads) {
    if (a.n_rows != a.n_columns) throw py::value_error("chebyshev: the matrix must be square");
    if (!(low < high)) throw py::value_error("chebyshev: low must be below high");
    if (degree < 1) throw py::value_error("chebyshev: degree must be positive");
    const ConstMatrixView in = matrix(x, "x", a.n_columns, any);
    Array filtered({a.n_rows, in.cols()});
    const MatrixView out(filtered.mutable_data(), a.n_rows, in.cols());
    run(n_threads,
        [&](const Execution& execution) { idm::chebyshev(a.view(), in, low, high, degree, out, execution); });
    return filtered;
}

SparseMatrix submatrix(const SparseMatrix& a, const IndexArray& rows, int n_threads) {
    if (a.n_rows != a.n_columns) throw py::value_error("submatrix: the matrix must be square");
    const ConstIndexMatrixView r = matrix(rows, "rows", any, 1);
    std::vector<char> seen(a.n_rows, 0);
    for (Index i = 0; i < r.rows(); ++i) {
        if (r(i, 0) < 0 || r(i, 0) >= a.n_rows || seen[r(i, 0)]++) {
            throw py::value_error("submatrix: rows must be rows of the points, each at most once");
        }
    }
    SparseMatrix result;
    run(n_threads, [&](const Execution& execution) { result = idm::submatrix(a.view(), r, execution); });
    return result;
}

py::tuple connected_components(const SparseMatrix& a, double least) {
    if (a.n_rows != a.n_columns) throw py::value_error("connected_components: the matrix must be square");
    IndexArray labels({a.n_rows, Index{1}});
    const IndexMatrixView l = output(labels);
    Index n_components = 0;
    run(1, [&](const Execution&) { n_components = idm::connected_components(a.view(), least, l); });
    return py::make_tuple(n_components, labels);
}

}  // namespace

void register_sparse_matrix(py::module_& module) {
    py::class_<SparseMatrix>(module, "SparseMatrix", py::module_local())
        .def(py::init(&from_arrays), py::arg("row_start").noconvert(), py::arg("columns").noconvert(),
             py::arg("values").noconvert(), py::arg("n_columns"))
        .def_readonly("n_rows", &SparseMatrix::n_rows)
        .def_readonly("n_columns", &SparseMatrix::n_columns)
        .def_property_readonly("row_start",
                               [](const py::object& self) {
                                   const auto& a = self.cast<const SparseMatrix&>();
                                   return read_only(self, a.row_start.get(), a.n_rows + 1);
                               })
        .def_property_readonly("columns",
                               [](const py::object& self) {
                                   const auto& a = self.cast<const SparseMatrix&>();
                                   return read_only(self, a.columns.get(), a.n_entries());
                               })
        .def_property_readonly("values", [](const py::object& self) {
            const auto& a = self.cast<const SparseMatrix&>();
            return read_only(self, a.values.get(), a.n_entries());
        });
    module.def("multiply", &multiply, py::arg("matrix"), py::arg("x").noconvert(), py::arg("n_threads"));
    module.def("chebyshev", &chebyshev, py::arg("matrix"), py::arg("x").noconvert(), py::arg("low"), py::arg("high"),
               py::arg("degree"), py::arg("n_threads"));
    module.def("submatrix", &submatrix, py::arg("matrix"), py::arg("rows").noconvert(), py::arg("n_threads"));
    module.def("connected_components", &connected_components, py::arg("matrix"), py::arg("least"));
}

}  // namespace idm::bindings
