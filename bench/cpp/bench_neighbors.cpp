#include "idm/neighbors.hpp"

#include <benchmark/benchmark.h>

#include "data.hpp"

namespace idm::bench {
namespace {

constexpr Index n_points = 10000, k = 500;

void search(benchmark::State& state, const Matrix& points, NeighborMethod method) {
    IndexMatrix indices(points.rows(), k);
    Matrix distances(points.rows(), k);
    const Execution execution{static_cast<int>(state.range(0))};
    for (auto _ : state) {
        const NeighborIndex index(view(points), execution);
        index.nearest(IndexMatrixView(indices.data(), points.rows(), k), view(distances), execution, method);
        benchmark::ClobberMemory();
    }
}

void tree_torus(benchmark::State& state) { search(state, torus(n_points), NeighborMethod::tree); }
void blocked_gaussian_30(benchmark::State& state) { search(state, gaussian(n_points, 30), NeighborMethod::blocked); }
void blocked_gaussian_250(benchmark::State& state) { search(state, gaussian(n_points, 250), NeighborMethod::blocked); }

void distances_of_pairs(benchmark::State& state) {
    const Matrix points = torus(n_points);
    const Neighbors neighbors(points, k);
    Matrix distances(n_points, k);
    const Execution execution{static_cast<int>(state.range(0))};
    for (auto _ : state) {
        pair_distances(view(points), neighbors.indices(), view(distances), execution);
        benchmark::ClobberMemory();
    }
}

BENCHMARK(tree_torus)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(blocked_gaussian_30)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(blocked_gaussian_250)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(distances_of_pairs)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace idm::bench
