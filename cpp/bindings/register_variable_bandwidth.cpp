#include "idm/variable_bandwidth.hpp"

#include "arrays.hpp"

namespace idm::bindings {
namespace {

py::tuple local_scales(const IndexArray& indices, const Array& distances, Index n_near, int n_threads) {
    const NeighborsView near = neighbors(indices, distances, matrix(indices, "indices").rows());
    check_between(n_near, "n_near", 1, near.indices.cols());
    Array scales({near.indices.rows(), Index{3}});
    const MatrixView out = output(scales);
    double unit = 0, reach = 0;
    run(n_threads, [&](const Execution& execution) {
        check_indices(near.indices, near.indices.rows(), execution);
        const LocalScales found = idm::local_scales(near.indices, near.distances, n_near, out, execution);
        unit = found.unit;
        reach = found.reach;
    });
    return py::make_tuple(scales, unit, reach);
}

Array scale_lengths(const IndexArray& indices, const Array& distances, const Array& bandwidths, int n_threads) {
    const Index n = matrix(indices, "indices").rows();
    const NeighborsView near = neighbors(indices, distances, n);
    const ConstMatrixView rho = matrix(bandwidths, "bandwidths", n, 1);
    Array scaled({n, near.indices.cols()});
    const MatrixView out = output(scaled);
    run(n_threads, [&](const Execution& execution) {
        check_indices(near.indices, n, execution);
        check_bandwidths(rho, execution);
        idm::scale_lengths(near.indices, near.distances, rho, out, execution);
    });
    return scaled;
}

}  // namespace

void register_variable_bandwidth(py::module_& module) {
    module.def("local_scales", &local_scales, py::arg("indices").noconvert(), py::arg("distances").noconvert(),
               py::arg("n_near"), py::arg("n_threads"));
    module.def("scale_lengths", &scale_lengths, py::arg("indices").noconvert(), py::arg("distances").noconvert(),
               py::arg("bandwidths").noconvert(), py::arg("n_threads"));
}

}  // namespace idm::bindings
