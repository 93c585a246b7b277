#include "idm/local_geometry.hpp"

#include <benchmark/benchmark.h>

#include "data.hpp"

namespace idm::bench {
namespace {

void tune(benchmark::State& state, const Matrix& points, Tuning tuning) {
    const Neighbors neighbors(points, std::min<Index>(500, points.rows()));
    Matrix geometry(points.rows(), 3);
    const Execution execution{static_cast<int>(state.range(0))};
    for (auto _ : state) {
        local_geometry(view(points), neighbors.indices(), neighbors.distances(), tuning, 100, view(geometry),
                       execution);
    }
}

void d1_torus(benchmark::State& state) { tune(state, torus(10000), Tuning::d1); }
void svd_torus(benchmark::State& state) { tune(state, torus(10000), Tuning::svd); }
void svd_gaussian_30(benchmark::State& state) { tune(state, gaussian(1000, 30), Tuning::svd); }

BENCHMARK(d1_torus)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(svd_torus)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(svd_gaussian_30)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace idm::bench
