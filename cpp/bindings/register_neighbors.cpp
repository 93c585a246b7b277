#include "idm/neighbors.hpp"

#include <optional>

#include "arrays.hpp"

namespace idm::bindings {
namespace {

PointIndex make_index(const Array& points) {
    const ConstMatrixView p = matrix(points, "points");
    std::unique_ptr<const NeighborIndex> index;
    run(1, [&](const Execution& execution) {
        check_finite(p, "points", execution);
        index = std::make_unique<const NeighborIndex>(p, execution);
    });
    return {points, std::move(index)};
}

py::tuple nearest(const PointIndex& self, const std::optional<Array>& queries, Index k, int n_threads,
                  const std::string& method) {
    const NeighborIndex& index = *self.index;
    const ConstMatrixView p = index.points(), q = queries ? matrix(*queries, "queries", any, p.cols()) : p;
    check_between(k, "n_neighbors", 1, p.rows());
    const auto chosen = choice<NeighborMethod>(
        method, "method",
        {{"auto", NeighborMethod::automatic}, {"tree", NeighborMethod::tree}, {"blocked", NeighborMethod::blocked}});
    IndexArray indices({q.rows(), k});
    Array distances({q.rows(), k});
    const IndexMatrixView i = output(indices);
    const MatrixView d = output(distances);
    run(n_threads, [&](const Execution& execution) {
        if (queries) {
            check_finite(q, "queries", execution);
            index.nearest(q, i, d, execution, chosen);
        } else {
            index.nearest(i, d, execution, chosen);
        }
    });
    return py::make_tuple(indices, distances);
}

IndexArray order(const PointIndex& self) {
    IndexArray points(self.index->points().rows());
    self.index->order(points.mutable_data());
    return points;
}

Array pair_distances(const Array& points, const IndexArray& indices, int n_threads) {
    const ConstMatrixView p = matrix(points, "points");
    const ConstIndexMatrixView i = matrix(indices, "indices", p.rows(), any);
    Array distances({i.rows(), i.cols()});
    const MatrixView d(distances.mutable_data(), i.rows(), i.cols());
    run(n_threads, [&](const Execution& execution) {
        check_indices(i, p.rows(), execution);
        idm::pair_distances(p, i, d, execution);
    });
    return distances;
}

}  // namespace

void register_neighbors(py::module_& module) {
    py::class_<PointIndex>(module, "NeighborIndex", py::module_local())
        .def(py::init(&make_index), py::arg("points").noconvert())
        .def("order", &order)
        .def("nearest", &nearest, py::arg("queries").noconvert().none(true), py::arg("n_neighbors"),
             py::arg("n_threads"), py::arg("method") = "auto");
    module.def("pair_distances", &pair_distances, py::arg("points").noconvert(), py::arg("indices").noconvert(),
               py::arg("n_threads"));
}

}  // namespace idm::bindings
