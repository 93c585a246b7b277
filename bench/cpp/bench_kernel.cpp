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

void product(benchmark::State& state) {
    const Neighbors neighbors(torus(10000), 500);
    const Execution execution{static_cast<int>(state.range(0))};
    const SparseMatrix a = symmetric_kernel(neighbors.indices(), neighbors.distances(), epsilon, execution);
    const Index width = state.range(1);
    const Matrix x = gaussian(10000, width);
    Matrix y(10000, width);
    for (auto _ : state) {
        multiply(a.view(), view(x), view(y), execution);
    }
}

BENCHMARK(assemble)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(assemble_nearest)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(product)
    ->ArgNames({"threads", "width"})
    ->ArgsProduct({{1, 2}, {1, 8, 16}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace idm::bench
