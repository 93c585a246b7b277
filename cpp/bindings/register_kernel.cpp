#include "idm/kernel.hpp"

#include "arrays.hpp"

namespace idm::bindings {
namespace {

using Assemble = SparseMatrix (*)(ConstIndexMatrixView, ConstMatrixView, double, const Execution&);

template <Assemble assemble>
SparseMatrix kernel(const IndexArray& indices, const Array& distances, double epsilon, int n_threads) {
    const NeighborsView near = neighbors(indices, distances, matrix(indices, "indices").rows());
    check_positive(epsilon, "epsilon");
    SparseMatrix result;
    run(n_threads, [&](const Execution& execution) {
        check_indices(near.indices, near.indices.rows(), execution);
        result = assemble(near.indices, near.distances, epsilon, execution);
    });
    return result;
}

Array kernel_dimensions(const Array& distances, double epsilon, int n_threads) {
    const ConstMatrixView d = matrix(distances, "distances");
    check_positive(epsilon, "epsilon");
    Array dimensions({d.rows(), Index{1}});
    const MatrixView out = output(dimensions);
    run(n_threads, [&](const Execution& execution) { idm::kernel_dimensions(d, epsilon, out, execution); });
    return dimensions;
}

}  // namespace

void register_kernel(py::module_& module) {
    module.def("symmetric_kernel", &kernel<idm::symmetric_kernel>, py::arg("indices").noconvert(),
               py::arg("distances").noconvert(), py::arg("epsilon"), py::arg("n_threads"));
    module.def("nearest_kernel", &kernel<idm::nearest_kernel>, py::arg("indices").noconvert(),
               py::arg("distances").noconvert(), py::arg("epsilon"), py::arg("n_threads"));
    module.def("kernel_dimensions", &kernel_dimensions, py::arg("distances").noconvert(), py::arg("epsilon"),
               py::arg("n_threads"));
}

}  // namespace idm::bindings
