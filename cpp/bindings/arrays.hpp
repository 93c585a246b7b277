// What every binding shares: array types, views of them, and how a C++ step runs under Python.
//
// Arrays come in as C-ordered and of the right type or not at all (`.noconvert()`): python/idm/_validation.py
// converts, C++ never copies silently. Outputs are allocated with the GIL held, then run() releases it.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "idm/eigen.hpp"
#include "idm/extension.hpp"
#include "idm/kernel.hpp"
#include "idm/parallel.hpp"

namespace idm::bindings {

namespace py = pybind11;

using Array = py::array_t<double, py::array::c_style>;
using IndexArray = py::array_t<Index, py::array::c_style>;
using RowStartArray = py::array_t<std::int64_t, py::array::c_style>;
using ColumnArray = py::array_t<std::int32_t, py::array::c_style>;

inline ConstMatrixView view(const Array& array) {
    if (array.ndim() != 2) throw py::value_error("expected a two-dimensional array");
    return {array.data(), array.shape(0), array.shape(1)};
}
inline ConstIndexMatrixView view(const IndexArray& array) {
    if (array.ndim() != 2) throw py::value_error("expected a two-dimensional array");
    return {array.data(), array.shape(0), array.shape(1)};
}
inline MatrixView mutable_view(Array& array) { return {array.mutable_data(), array.shape(0), array.shape(1)}; }
inline IndexMatrixView mutable_view(IndexArray& array) {
    return {array.mutable_data(), array.shape(0), array.shape(1)};
}

// Throws unless neighbours are those of `n_bases` base points among the rows of `points`.
inline void check_neighbors(ConstMatrixView points, Index n_bases, ConstIndexMatrixView indices,
                            ConstMatrixView distances) {
    if (indices.rows() != n_bases || distances.rows() != n_bases || indices.cols() != distances.cols() ||
        indices.cols() < 1) {
        throw py::value_error("neighbours must be two arrays of shape (rows, k)");
    }
    if (indices.size() > 0 && (indices.minCoeff() < 0 || indices.maxCoeff() >= points.rows())) {
        throw py::value_error("indices of neighbours must be rows of the points");
    }
}

// Compressed rows; throws unless the sizes of the arrays agree.
inline SparseView view(const RowStartArray& row_start, const ColumnArray& columns, const Array& values) {
    const Index n = row_start.size() - 1;
    if (n < 0 || columns.size() != values.size() || row_start.data()[n] != columns.size()) {
        throw py::value_error("the arrays are not the compressed rows of a matrix");
    }
    return {n, row_start.data(), columns.data(), values.data()};
}

// Hands an array over to Python without a copy.
template <class T>
py::array_t<T> as_array(Buffer<T> values, Index size) {
    T* data = values.release();
    const py::capsule owner(data, &release);
    return py::array_t<T>({size}, {sizeof(T)}, data, owner);
}

inline py::tuple as_arrays(SparseMatrix matrix) {
    const Index n_entries = matrix.n_entries();
    return py::make_tuple(as_array(std::move(matrix.row_start), matrix.n_rows + 1),
                          as_array(std::move(matrix.columns), n_entries),
                          as_array(std::move(matrix.values), n_entries));
}

inline Reach reach_of(const Array& radii, const IndexArray& last, Index n) {
    const Reach reach{view(radii), view(last)};
    if (reach.radii.rows() != n || reach.radii.cols() != 1 || reach.last.rows() != n || reach.last.cols() != 1) {
        throw py::value_error("the reach of the points must be two arrays of shape (N, 1)");
    }
    return reach;
}

// Polled by the thread that called the step, which holds no GIL then. True leaves Python's exception set.
inline bool python_interrupted() {
    const py::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

// Calls step(execution) without the GIL: safe because a step touches only plain memory that its arguments
// keep alive.
template <class Step>
void run(int n_threads, Step&& step) {
    try {
        const py::gil_scoped_release no_gil;
        step(Execution{n_threads, &python_interrupted});
    } catch (const Interrupted&) {
        throw py::error_already_set();
    }
}

void register_config(py::module_& module);
void register_parallel(py::module_& module);
void register_neighbors(py::module_& module);
void register_local_geometry(py::module_& module);
void register_scaling_laws(py::module_& module);
void register_tangent_spaces(py::module_& module);
void register_local_derivatives(py::module_& module);
void register_metric(py::module_& module);
void register_kernel(py::module_& module);
void register_normalization(py::module_& module);
void register_orthogonalization(py::module_& module);
void register_extension(py::module_& module);

}  // namespace idm::bindings
