#include <chrono>
#include <string>
#include <thread>

#include "arrays.hpp"

namespace idm::bindings {
namespace {

// The parallel layer by itself, for its tests: n blocks that take `seconds` each; block `fail_at` throws.
// Returns how many threads took part.
int parallel_probe(Index n, double seconds, Index fail_at, int n_threads) {
    std::atomic<int> n_workspaces{0};
    run(n_threads, [&](const Execution& execution) {
        parallel_for(
            n, 1, execution, [&] { return ++n_workspaces; },
            [&](Index begin, Index, int, Region&) {
                std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
                if (begin == fail_at) throw std::runtime_error("block " + std::to_string(begin) + " failed");
            });
    });
    return n_workspaces;
}

}  // namespace

void register_parallel(py::module_& module) {
    module.def("max_threads", &max_threads);
    module.def("in_forked_child", &in_forked_child);
    module.def("parallel_probe", &parallel_probe, py::arg("n"), py::arg("seconds"), py::arg("fail_at"),
               py::arg("n_threads"));
}

}  // namespace idm::bindings
