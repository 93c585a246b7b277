#include "idm/extension.hpp"

#include "arrays.hpp"

namespace idm::bindings {
namespace {

py::tuple extend(const IndexArray& indices, const Array& distances, const SparseMatrix& reverse, double epsilon,
                 const Array& weights, const Array& values, int n_threads) {
    const ConstMatrixView v = matrix(values, "values"), w = matrix(weights, "weights", v.rows(), 1);
    const NeighborsView near = neighbors(indices, distances, reverse.n_rows);
    if (reverse.n_columns != v.rows()) throw py::value_error("reverse must have a column for each row of values");
    check_positive(epsilon, "epsilon");
    Array extended({near.indices.rows(), v.cols()}), support({near.indices.rows(), Index{1}});
    const MatrixView out(extended.mutable_data(), near.indices.rows(), v.cols()), s = output(support);
    run(n_threads, [&](const Execution& execution) {
        check_indices(near.indices, v.rows(), execution);
        idm::extend(near.indices, near.distances, reverse.view(), epsilon, w, v, out, s, execution);
    });
    return py::make_tuple(extended, support);
}

}  // namespace

void register_extension(py::module_& module) {
    module.def("extend", &extend, py::arg("indices").noconvert(), py::arg("distances").noconvert(), py::arg("reverse"),
               py::arg("epsilon"), py::arg("weights").noconvert(), py::arg("values").noconvert(), py::arg("n_threads"));
}

}  // namespace idm::bindings
