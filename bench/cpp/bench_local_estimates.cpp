#include "idm/local_estimates.hpp"

#include <benchmark/benchmark.h>

#include "data.hpp"

namespace idm::bench {
namespace {

// 11 bandwidths and 5 ridges, two features, 300 neighbours.
void estimate(benchmark::State& state, const Matrix& points) {
    const Index n = points.rows();
    const Neighbors neighbors(points, 300);
    const Matrix values = points.leftCols(2), counts = Matrix::Ones(n, 1);
    const Matrix bandwidths = neighbors.distance.col(150).array().square().matrix();
    Matrix factors(1, 11), gammas(1, 5), fitted(n, 11 * 5 * 2);
    for (Index f = 0; f < 11; ++f) factors(0, f) = std::exp2(static_cast<double>(f) - 8);
    gammas << 1e-6, 1e-3, 0.1, 1, 10;
    const Execution execution{static_cast<int>(state.range(0))};
    for (auto _ : state) {
        local_estimates({view(points), view(values), view(counts)},
                        {view(points), neighbors.indices(), neighbors.distances(), view(bandwidths), {nullptr, 0, 1}},
                        view(std::as_const(factors)), view(std::as_const(gammas)), view(fitted), execution);
    }
}

void torus_3(benchmark::State& state) { estimate(state, torus(2000)); }
void gaussian_30(benchmark::State& state) { estimate(state, gaussian(1000, 30)); }

BENCHMARK(torus_3)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(gaussian_30)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace idm::bench
