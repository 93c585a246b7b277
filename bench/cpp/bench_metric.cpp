#include "idm/metric.hpp"

#include <benchmark/benchmark.h>

#include "data.hpp"

namespace idm::bench {
namespace {

// The 300 smallest lengths of 500 candidates, two features, in 3 and in 30 columns.
void shortest(benchmark::State& state) {
    const Index m = state.range(1), k = 300;
    const Matrix points = torus(4000) * gaussian(3, m), derivatives = gaussian(4000, 2 * m);
    const Neighbors pool(points, 500);
    const FeaturePoints data{view(points), view(derivatives)};
    const Execution execution{static_cast<int>(state.range(0))};
    IndexMatrix indices(4000, k);
    Matrix lengths(4000, k);
    for (auto _ : state) {
        metric_neighbors(data, pool.indices(), pool.distances(), {0.5, Mixing::lengths, Change::derivative},
                         {indices.data(), 4000, k}, view(lengths), execution);
    }
}

BENCHMARK(shortest)
    ->ArgNames({"threads", "columns"})
    ->ArgsProduct({{1, 2}, {3, 30}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace idm::bench
