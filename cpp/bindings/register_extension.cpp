#include "idm/extension.hpp"

#include "arrays.hpp"

namespace idm::bindings {
namespace {

py::tuple reverse_neighbors(const Array& points, const Array& radii, const IndexArray& last, const Array& queries,
                            const IndexArray& twins, int n_threads) {
    const ConstMatrixView p = view(points), q = view(queries);
    const ConstIndexMatrixView t = view(twins);
    const Reach reach = reach_of(radii, last, p.rows());
    if (p.cols() != q.cols() || t.rows() != q.rows() || t.cols() != 1) {
        throw py::value_error("reverse_neighbors: the sizes of the arrays do not agree");
    }
    SparseMatrix found;
    run(n_threads, [&](const Execution& execution) { found = idm::reverse_neighbors(p, reach, q, t, execution); });
    return as_arrays(std::move(found));
}

py::tuple extend(const IndexArray& indices, const Array& distances, const RowStartArray& row_start,
                 const ColumnArray& columns, const Array& reverse, double epsilon, const Array& weights,
                 const Array& values, int n_threads) {
    const ConstIndexMatrixView i = view(indices);
    const ConstMatrixView d = view(distances), w = view(weights), v = view(values);
    check_neighbors(v, i.rows(), i, d);
    const SparseView r = view(row_start, columns, reverse);
    if (r.n_rows != i.rows() || w.rows() != v.rows() || w.cols() != 1) {
        throw py::value_error("extend: the sizes of the arrays do not agree");
    }
    Array extended({i.rows(), v.cols()}), support({i.rows(), Index{1}});
    const MatrixView out = mutable_view(extended), s = mutable_view(support);
    run(n_threads, [&](const Execution& execution) { idm::extend(i, d, r, epsilon, w, v, out, s, execution); });
    return py::make_tuple(extended, support);
}

}  // namespace

void register_extension(py::module_& module) {
    module.def("reverse_neighbors", &reverse_neighbors, py::arg("points").noconvert(), py::arg("radii").noconvert(),
               py::arg("last").noconvert(), py::arg("queries").noconvert(), py::arg("twins").noconvert(),
               py::arg("n_threads"));
    module.def("extend", &extend, py::arg("indices").noconvert(), py::arg("distances").noconvert(),
               py::arg("row_start").noconvert(), py::arg("columns").noconvert(), py::arg("reverse").noconvert(),
               py::arg("epsilon"), py::arg("weights").noconvert(), py::arg("values").noconvert(), py::arg("n_threads"));
}

}  // namespace idm::bindings
