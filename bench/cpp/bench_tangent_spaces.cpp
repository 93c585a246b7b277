#include "idm/tangent_spaces.hpp"

#include <benchmark/benchmark.h>

#include "data.hpp"

namespace idm::bench {
namespace {

void decompose(benchmark::State& state, const Matrix& points, double bandwidth) {
    const Index n = points.rows(), m = points.cols();
    const Neighbors neighbors(points, 500);
    const Matrix bandwidths = Matrix::Constant(n, 1, bandwidth);
    Matrix values(n, m), vectors(n, m * m);
    const Execution execution{static_cast<int>(state.range(0))};
    for (auto _ : state) {
        tangent_spaces(view(points), neighbors.indices(), neighbors.distances(), view(bandwidths), view(values),
                       view(vectors), execution);
    }
}

void torus_3(benchmark::State& state) { decompose(state, torus(10000), 0.04); }
void gaussian_30(benchmark::State& state) { decompose(state, gaussian(2000, 30), 5); }

BENCHMARK(torus_3)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(gaussian_30)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace idm::bench
