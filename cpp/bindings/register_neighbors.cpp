#include "idm/neighbors.hpp"

#include <pybind11/stl.h>

#include "arrays.hpp"

namespace idm::bindings {
namespace {

NeighborMethod method_of(const std::string& name) {
    if (name == "auto") return NeighborMethod::automatic;
    if (name == "tree") return NeighborMethod::tree;
    if (name == "blocked") return NeighborMethod::blocked;
    throw py::value_error("method must be 'auto', 'tree' or 'blocked', got '" + name + "'");
}

py::tuple nearest_neighbors(const Array& points, const std::optional<Array>& queries, Index k, int n_threads,
                            const std::string& method) {
    const ConstMatrixView p = view(points), q = queries ? view(*queries) : p;
    if (p.cols() != q.cols()) throw py::value_error("queries must have as many columns as points");
    const NeighborMethod chosen = method_of(method);
    IndexArray indices({q.rows(), k});
    Array distances({q.rows(), k});
    const IndexMatrixView i = mutable_view(indices);
    const MatrixView d = mutable_view(distances);
    run(n_threads, [&](const Execution& execution) {
        if (queries) {
            idm::nearest_neighbors(p, q, i, d, execution, chosen);
        } else {
            idm::nearest_neighbors(p, i, d, execution, chosen);
        }
    });
    return py::make_tuple(indices, distances);
}

Array pair_distances(const Array& points, const IndexArray& indices, int n_threads) {
    const ConstMatrixView p = view(points);
    const ConstIndexMatrixView i = view(indices);
    Array distances({i.rows(), i.cols()});
    const MatrixView d = mutable_view(distances);
    check_neighbors(p, p.rows(), i, view(distances));
    run(n_threads, [&](const Execution& execution) { idm::pair_distances(p, i, d, execution); });
    return distances;
}

}  // namespace

void register_neighbors(py::module_& module) {
    module.def("nearest_neighbors", &nearest_neighbors, py::arg("points").noconvert(),
               py::arg("queries").noconvert().none(true), py::arg("n_neighbors"), py::arg("n_threads"),
               py::arg("method") = "auto");
    module.def("pair_distances", &pair_distances, py::arg("points").noconvert(), py::arg("indices").noconvert(),
               py::arg("n_threads"));
}

}  // namespace idm::bindings
