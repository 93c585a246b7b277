#include "idm/scaling_laws.hpp"

#include <benchmark/benchmark.h>

#include "data.hpp"

namespace idm::bench {
namespace {

// One base point, 230 bandwidths, all points.
void laws(benchmark::State& state, const Matrix& points) {
    const Index n = points.rows(), m = points.cols(), n_bandwidths = 230;
    const Matrix base = points.topRows(1);
    IndexMatrix indices(1, n);
    Matrix distances(1, n), bandwidths(1, n_bandwidths), values(n_bandwidths, m), exponents(n_bandwidths, m),
        result(n_bandwidths, 5);
    NeighborIndex(view(points), Execution{}).nearest(view(base), {indices.data(), 1, n}, view(distances), Execution{});
    for (Index l = 0; l < n_bandwidths; ++l) bandwidths(0, l) = std::exp2(-13 + static_cast<double>(l + 1) / 10);
    const Execution execution{static_cast<int>(state.range(0))};
    for (auto _ : state) {
        scaling_laws(view(points), view(base), {indices.data(), 1, n}, view(std::as_const(distances)),
                     view(std::as_const(bandwidths)), view(values), view(exponents), view(result), execution);
    }
}

void torus_3(benchmark::State& state) { laws(state, torus(10000)); }
void gaussian_30(benchmark::State& state) { laws(state, gaussian(10000, 30)); }

BENCHMARK(torus_3)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(gaussian_30)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace idm::bench
