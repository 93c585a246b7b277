#include "idm/normalization.hpp"

#include <benchmark/benchmark.h>

#include "data.hpp"
#include "idm/kernel.hpp"

namespace idm::bench {
namespace {

void normalize_torus(benchmark::State& state) {
    const Neighbors neighbors(torus(10000), 500);
    const Execution execution{static_cast<int>(state.range(0))};
    SparseMatrix a = symmetric_kernel(neighbors.indices(), neighbors.distances(), 0.003, execution);
    Matrix sums(10000, 2);
    for (auto _ : state) {
        normalize(a, 1.0, view(sums), execution);
    }
}

BENCHMARK(normalize_torus)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace idm::bench
