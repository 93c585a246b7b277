#include "idm/sparse_matrix.hpp"

#include <benchmark/benchmark.h>

#include "data.hpp"
#include "idm/kernel.hpp"

namespace idm::bench {
namespace {

SparseMatrix kernel(const Execution& execution) {
    const Neighbors neighbors(torus(10000), 500);
    return symmetric_kernel(neighbors.indices(), neighbors.distances(), 0.003, execution);
}

void product(benchmark::State& state) {
    const Execution execution{static_cast<int>(state.range(0))};
    const SparseMatrix a = kernel(execution);
    const Index width = state.range(1);
    const Matrix x = gaussian(10000, width);
    Matrix y(10000, width);
    for (auto _ : state) {
        multiply(a.view(), view(x), view(y), execution);
    }
}

void filtered_product(benchmark::State& state) {
    const Execution execution{static_cast<int>(state.range(0))};
    const SparseMatrix a = kernel(execution);
    const Matrix x = gaussian(10000, 8);
    Matrix y(10000, 8);
    for (auto _ : state) {
        chebyshev(a.view(), view(x), -0.1, 0.8, 5, view(y), execution);
    }
}

void rows_in_another_order(benchmark::State& state) {
    const Execution execution{static_cast<int>(state.range(0))};
    const SparseMatrix a = kernel(execution);
    const IndexMatrix rows = IndexMatrix::NullaryExpr(10000, 1, [](Index i, Index) { return 9999 - i; });
    for (auto _ : state) {
        benchmark::DoNotOptimize(submatrix(a.view(), {rows.data(), 10000, 1}, execution));
    }
}

void components(benchmark::State& state) {
    const SparseMatrix a = kernel(Execution{max_threads()});
    IndexMatrix labels(10000, 1);
    for (auto _ : state) {
        benchmark::DoNotOptimize(connected_components(a.view(), 0, {labels.data(), 10000, 1}));
    }
}

BENCHMARK(product)
    ->ArgNames({"threads", "width"})
    ->ArgsProduct({{1, 2}, {1, 8, 16}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(filtered_product)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(rows_in_another_order)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(components)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace idm::bench
