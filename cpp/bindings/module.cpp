#include "arrays.hpp"

// Built once per instruction set, as idm._core._baseline and idm._core._v3.
PYBIND11_MODULE(IDM_MODULE, module, idm::bindings::py::mod_gil_not_used()) {
    using namespace idm::bindings;
    register_config(module);
    register_parallel(module);
    register_sparse_matrix(module);
    register_neighbors(module);
    register_local_geometry(module);
    register_scaling_laws(module);
    register_tangent_spaces(module);
    register_local_derivatives(module);
    register_local_estimates(module);
    register_landmarks(module);
    register_metric(module);
    register_variable_bandwidth(module);
    register_kernel(module);
    register_normalization(module);
    register_orthogonalization(module);
    register_extension(module);
}
