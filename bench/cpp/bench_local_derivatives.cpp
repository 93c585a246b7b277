#include "idm/local_derivatives.hpp"

#include <benchmark/benchmark.h>

#include "data.hpp"

namespace idm::bench {
namespace {

void regress(benchmark::State& state, const Matrix& points, double bandwidth, double gamma) {
    const Index n = points.rows(), m = points.cols();
    const Neighbors neighbors(points, 500);
    const Matrix bandwidths = Matrix::Constant(n, 1, bandwidth), values = points.leftCols(2);
    Matrix derivatives(n, 2 * m), fitted(n, 2);
    const Execution execution{static_cast<int>(state.range(0))};
    for (auto _ : state) {
        local_derivatives(view(points), view(values), view(points), view(values), neighbors.indices(),
                          neighbors.distances(), view(bandwidths), Derivative::affine, gamma, view(derivatives),
                          view(fitted), execution);
    }
}

void ridge_torus(benchmark::State& state) { regress(state, torus(10000), 0.04, 0.05); }
void ridge_gaussian_250(benchmark::State& state) { regress(state, gaussian(1000, 250), 40, 0.05); }
void plain_gaussian_250(benchmark::State& state) { regress(state, gaussian(1000, 250), 40, 0); }

BENCHMARK(ridge_torus)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(ridge_gaussian_250)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(plain_gaussian_250)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace idm::bench
