// What every binding shares: array types, checked views of them, and how a C++ step runs under Python.
//
// Arrays come in as C-ordered and of the right type or not at all (`.noconvert()`): python/idm/_validation.py
// converts, C++ never copies silently. Shapes are checked by matrix(), options by choice(), and what takes a look at
// every number by the check_ functions, inside run(): in parallel and without the GIL. What does not fit is a
// ValueError, whoever calls. Outputs are allocated with the GIL held, then run() releases it.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "idm/eigen.hpp"
#include "idm/metric.hpp"
#include "idm/neighbors.hpp"
#include "idm/parallel.hpp"
#include "idm/sparse_matrix.hpp"

namespace idm::bindings {

namespace py = pybind11;

using Array = py::array_t<double, py::array::c_style>;
using IndexArray = py::array_t<Index, py::array::c_style>;
using RowStartArray = py::array_t<std::int64_t, py::array::c_style>;
using ColumnArray = py::array_t<std::int32_t, py::array::c_style>;

// Numbers of rows or columns that are not known beforehand.
constexpr Index any = -1, at_least_one = -2;

template <class T>
Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> matrix(
    const py::array_t<T, py::array::c_style>& array, const char* name, Index rows = at_least_one,
    Index columns = at_least_one) {
    const auto fits = [](Index size, Index wanted) {
        return wanted == any || (wanted == at_least_one ? size > 0 : size == wanted);
    };
    const auto text = [](Index wanted) {
        return wanted == any ? "any" : wanted == at_least_one ? "at least 1" : std::to_string(wanted);
    };
    if (array.ndim() != 2) throw py::value_error(std::string(name) + " must have two dimensions");
    if (!fits(array.shape(0), rows) || !fits(array.shape(1), columns)) {
        throw py::value_error(std::string(name) + " must have shape (" + text(rows) + ", " + text(columns) +
                              "), got (" + std::to_string(array.shape(0)) + ", " + std::to_string(array.shape(1)) +
                              ")");
    }
    return {array.data(), array.shape(0), array.shape(1)};
}

// An array that the step writes to; throws if it is read-only.
template <class T>
Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> output(
    py::array_t<T, py::array::c_style>& array) {
    return {array.mutable_data(), array.shape(0), array.size() / std::max<Index>(1, array.shape(0))};
}

// The neighbours (rows x k) of `rows` points.
struct NeighborsView {
    ConstIndexMatrixView indices;
    ConstMatrixView distances;
};
inline NeighborsView neighbors(const IndexArray& indices, const Array& distances, Index rows) {
    const ConstIndexMatrixView i = matrix(indices, "indices", rows);
    return {i, matrix(distances, "distances", rows, i.cols())};
}

template <class Choice>
Choice choice(const std::string& value, const char* name,
              std::initializer_list<std::pair<const char*, Choice>> choices) {
    std::string names;
    for (const auto& [text, result] : choices) {
        if (value == text) return result;
        names += std::string(names.empty() ? "'" : ", '") + text + "'";
    }
    throw py::value_error(std::string(name) + " must be one of " + names + ", got '" + value + "'");
}

inline void check_between(Index value, const char* name, Index low, Index high) {
    if (value >= low && value <= high) return;
    throw py::value_error(std::string(name) + " must be between " + std::to_string(low) + " and " +
                          std::to_string(high) + ", got " + std::to_string(value));
}

inline void check_positive(double value, const char* name) {
    if (!(value > 0 && std::isfinite(value))) throw py::value_error(std::string(name) + " must be positive and finite");
}

// Throws unless all entries are right.
template <class View, class Right>
void check_all(const View& view, const char* name, const char* rule, const Execution& execution, Right&& right) {
    parallel_for(
        view.rows(), 256, execution, [] { return 0; },
        [&](Index begin, Index end, int, Region&) {
            bool all = true;
            for (const auto* v = view.data() + begin * view.cols(); v < view.data() + end * view.cols(); ++v) {
                all &= right(*v);
            }
            if (!all) throw std::invalid_argument(std::string(name) + " must be " + rule);
        });
}
inline void check_indices(ConstIndexMatrixView indices, Index n, const Execution& execution) {
    check_all(indices, "indices", "rows of the points", execution, [n](Index i) { return i >= 0 && i < n; });
}
inline void check_finite(ConstMatrixView values, const char* name, const Execution& execution) {
    check_all(values, name, "finite", execution, [](double v) { return std::isfinite(v); });
}
inline void check_bandwidths(ConstMatrixView bandwidths, const Execution& execution) {
    check_all(bandwidths, "bandwidths", "positive and finite", execution,
              [](double v) { return v > 0 && std::isfinite(v); });
}

// An index of neighbours with the array that it refers to. Classes are module_local: a process may load both variants.
struct PointIndex {
    Array points;
    std::unique_ptr<const NeighborIndex> index;
};

// A flow by the names of its options, and points with the features that it needs, or with derivatives of these.
Flow flow_of(double tau, const std::string& mixing, const std::string& change);
FeaturePoints feature_points(ConstMatrixView points, const Array& values, const Flow& flow);

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
void register_sparse_matrix(py::module_& module);
void register_neighbors(py::module_& module);
void register_local_geometry(py::module_& module);
void register_scaling_laws(py::module_& module);
void register_tangent_spaces(py::module_& module);
void register_local_derivatives(py::module_& module);
void register_local_estimates(py::module_& module);
void register_landmarks(py::module_& module);
void register_metric(py::module_& module);
void register_variable_bandwidth(py::module_& module);
void register_kernel(py::module_& module);
void register_normalization(py::module_& module);
void register_orthogonalization(py::module_& module);
void register_extension(py::module_& module);

}  // namespace idm::bindings
