#include "idm/extension.hpp"

#include <benchmark/benchmark.h>

#include "data.hpp"

namespace idm::bench {
namespace {

struct Case {
    Matrix points = torus(10000), queries = points.array() + 0.01, values = gaussian(10000, 50);
    Neighbors neighbors{points, 500};
    Matrix radii = neighbors.distance.rightCols(1), weights = Matrix::Ones(10000, 1);
    IndexMatrix last = neighbors.index.rightCols(1), twins = IndexMatrix::Constant(10000, 1, -1);

    Reach reach() const { return {view(radii), {last.data(), 10000, 1}}; }
};

void reverse(benchmark::State& state) {
    const Case c;
    const Execution execution{static_cast<int>(state.range(0))};
    for (auto _ : state) {
        benchmark::DoNotOptimize(
            reverse_neighbors(view(c.points), c.reach(), view(c.queries), {c.twins.data(), 10000, 1}, execution));
    }
}

void extend_torus(benchmark::State& state) {
    const Case c;
    const Execution execution{static_cast<int>(state.range(0))};
    const SparseMatrix found =
        reverse_neighbors(view(c.points), c.reach(), view(c.queries), {c.twins.data(), 10000, 1}, execution);
    Matrix extended(10000, 50), support(10000, 1);
    for (auto _ : state) {
        extend(c.neighbors.indices(), c.neighbors.distances(), found.view(), 0.03, view(c.weights), view(c.values),
               view(extended), view(support), execution);
    }
}

BENCHMARK(reverse)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(extend_torus)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace idm::bench
