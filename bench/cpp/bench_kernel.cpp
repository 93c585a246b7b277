#include "idm/kernel.hpp"

#include <benchmark/benchmark.h>

#include "data.hpp"

namespace idm::bench {
namespace {

constexpr double epsilon = 0.003;

void assemble(benchmark::State& state) {
    const Neighbors neighbors(torus(10000), 500);
    const Execution execution{static_cast<int>(state.range(0))};
    for (auto _ : state) {
        benchmark::DoNotOptimize(symmetric_kernel(neighbors.indices(), neighbors.distances(), epsilon, execution));
    }
}

void assemble_nearest(benchmark::State& state) {
    const Neighbors neighbors(torus(10000), 500);
    const Execution execution{static_cast<int>(state.range(0))};
    for (auto _ : state) {
        benchmark::DoNotOptimize(nearest_kernel(neighbors.indices(), neighbors.distances(), epsilon, execution));
    }
}

void dimensions(benchmark::State& state) {
    const Neighbors neighbors(torus(10000), 500);
    const Execution execution{static_cast<int>(state.range(0))};
    Matrix found(10000, 1);
    for (auto _ : state) {
        kernel_dimensions(neighbors.distances(), epsilon, view(found), execution);
        benchmark::ClobberMemory();
    }
}

BENCHMARK(assemble)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(assemble_nearest)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(dimensions)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace idm::bench
