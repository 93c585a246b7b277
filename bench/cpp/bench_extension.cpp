#include "idm/extension.hpp"

#include <benchmark/benchmark.h>

#include "data.hpp"

namespace idm::bench {
namespace {

void extend_torus(benchmark::State& state) {
    const Matrix points = torus(10000), queries = points.array() + 0.01, values = gaussian(10000, 50);
    const Neighbors neighbors(points, 500);
    const Matrix radii = neighbors.distance.rightCols(1), weights = Matrix::Ones(10000, 1);
    const IndexMatrix last = neighbors.index.rightCols(1), twins = IndexMatrix::Constant(10000, 1, -1);
    const Execution execution{static_cast<int>(state.range(0))};
    const SparseMatrix found =
        NeighborIndex(view(points), execution)
            .reverse({view(radii), {last.data(), 10000, 1}}, view(queries), {twins.data(), 10000, 1}, execution);
    Matrix extended(10000, 50), support(10000, 1);
    for (auto _ : state) {
        extend(neighbors.indices(), neighbors.distances(), found.view(), 0.03, view(weights), view(values),
               view(extended), view(support), execution);
    }
}

BENCHMARK(extend_torus)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace idm::bench
