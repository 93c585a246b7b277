#include "idm/landmarks.hpp"

#include <benchmark/benchmark.h>

#include "data.hpp"

namespace idm::bench {
namespace {

// 2000 of 8000 points, half of them given, in 3 and in 50 columns.
void farthest(benchmark::State& state) {
    const Matrix points = gaussian(8000, state.range(0));
    IndexMatrix chosen(2000, 1);
    for (auto _ : state) farthest_points(view(points), 1000, {chosen.data(), 2000, 1}, Execution{});
}

BENCHMARK(farthest)->ArgName("columns")->Arg(3)->Arg(50)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace idm::bench
