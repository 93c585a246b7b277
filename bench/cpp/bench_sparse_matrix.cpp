#include "idm/sparse_matrix.hpp"

#include <benchmark/benchmark.h>

#include "data.hpp"
#include "idm/kernel.hpp"

namespace idm::bench {
namespace {

void product(benchmark::State& state) {
    const Neighbors neighbors(torus(10000), 500);
    const Execution execution{static_cast<int>(state.range(0))};
    const SparseMatrix a = symmetric_kernel(neighbors.indices(), neighbors.distances(), 0.003, execution);
    const Index width = state.range(1);
    const Matrix x = gaussian(10000, width);
    Matrix y(10000, width);
    for (auto _ : state) {
        multiply(a.view(), view(x), view(y), execution);
    }
}

BENCHMARK(product)
    ->ArgNames({"threads", "width"})
    ->ArgsProduct({{1, 2}, {1, 8, 16}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace idm::bench
