#include "idm/kernel.hpp"

#include "arrays.hpp"

namespace idm::bindings {
namespace {

// Hands an array over to Python without a copy.
template <class T>
py::array_t<T> as_array(std::unique_ptr<T[]> values, Index size) {
    T* data = values.release();
    const py::capsule owner(data, [](void* p) { delete[] static_cast<T*>(p); });
    return py::array_t<T>({size}, {sizeof(T)}, data, owner);
}

py::tuple symmetric_kernel(const IndexArray& indices, const Array& distances, double epsilon, int n_threads) {
    const ConstIndexMatrixView i = view(indices);
    const ConstMatrixView d = view(distances);
    check_neighbors(d, d.rows(), i, d);
    SparseMatrix kernel;
    run(n_threads, [&](const Execution& execution) { kernel = idm::symmetric_kernel(i, d, epsilon, execution); });
    const Index n_entries = kernel.n_entries();
    return py::make_tuple(as_array(std::move(kernel.row_start), kernel.n_rows + 1),
                          as_array(std::move(kernel.columns), n_entries),
                          as_array(std::move(kernel.values), n_entries));
}

void multiply(const py::array_t<std::int64_t, py::array::c_style>& row_start,
              const py::array_t<std::int32_t, py::array::c_style>& columns, const Array& values, const Array& x,
              Array& y, int n_threads) {
    const ConstMatrixView in(x.data(), x.size(), 1);
    const MatrixView out(y.mutable_data(), y.size(), 1);
    if (row_start.size() != out.rows() + 1 || in.rows() != out.rows() || columns.size() != values.size()) {
        throw py::value_error("multiply: the sizes of the matrix and the vectors do not agree");
    }
    run(n_threads, [&](const Execution& execution) {
        idm::multiply(row_start.data(), columns.data(), values.data(), in, out, execution);
    });
}

}  // namespace

void register_kernel(py::module_& module) {
    module.def("symmetric_kernel", &symmetric_kernel, py::arg("indices").noconvert(), py::arg("distances").noconvert(),
               py::arg("epsilon"), py::arg("n_threads"));
    module.def("multiply", &multiply, py::arg("row_start").noconvert(), py::arg("columns").noconvert(),
               py::arg("values").noconvert(), py::arg("x").noconvert(), py::arg("y").noconvert(), py::arg("n_threads"));
}

}  // namespace idm::bindings
