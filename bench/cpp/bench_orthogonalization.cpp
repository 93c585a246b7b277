#include "idm/orthogonalization.hpp"

#include <benchmark/benchmark.h>

#include "data.hpp"

namespace idm::bench {
namespace {

void project(benchmark::State& state) {
    const Matrix basis = gaussian(10000, 800) / 100;
    Matrix block = gaussian(10000, 8);
    const Execution execution{static_cast<int>(state.range(0))};
    for (auto _ : state) {
        block.setOnes();
        project_out(view(basis), 800, view(block), execution);
    }
}

BENCHMARK(project)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace idm::bench
