#include "idm/landmarks.hpp"

#include "arrays.hpp"

namespace idm::bindings {
namespace {

IndexArray farthest_points(const Array& points, Index n_given, Index n_landmarks) {
    const ConstMatrixView p = matrix(points, "points");
    check_between(n_landmarks, "n_landmarks", 1, p.rows());
    check_between(n_given, "n_given", 1, n_landmarks);
    IndexArray chosen({n_landmarks, Index{1}});
    const IndexMatrixView c = output(chosen);
    run(1, [&](const Execution& execution) { idm::farthest_points(p, n_given, c, execution); });
    return chosen;
}

}  // namespace

void register_landmarks(py::module_& module) {
    module.def("farthest_points", &farthest_points, py::arg("points").noconvert(), py::arg("n_given"),
               py::arg("n_landmarks"));
}

}  // namespace idm::bindings
