#include "idm/extension.hpp"

#include <benchmark/benchmark.h>

#include "data.hpp"

namespace idm::bench {
namespace {

// 4000 new points among 2000 landmarks with 300 neighbours of 500, two features and 40 coordinates, in 3 and 40
// columns.
void extend_landmarks(benchmark::State& state) {
    const Index n = 2000, m = state.range(1), k = 300, p = 500;
    const Matrix turn = gaussian(3, m), points = torus(n) * turn, bases = (torus(4000).array() + 0.01).matrix() * turn;
    const Matrix values = gaussian(n, 2), base_values = gaussian(4000, 2), functions = gaussian(n, 40);
    const Neighbors pool(points, p);
    const Execution execution{static_cast<int>(state.range(0))};
    const Flow flow{0.95, Mixing::lengths, Change::difference};
    IndexMatrix indices(n, k);
    Matrix lengths(n, k);
    metric_neighbors({view(points), view(values)}, pool.indices(), pool.distances(), flow, {indices.data(), n, k},
                     view(lengths), execution);
    const Matrix pool_radii = pool.distance.rightCols(1), radii = lengths.rightCols(1), weights = Matrix::Ones(n, 1);
    const NeighborIndex index(view(points), execution);
    Matrix scales(n, 3);
    const TrainedMap map{index,
                         view(values),
                         view(pool_radii),
                         view(radii),
                         flow,
                         p,
                         k,
                         0.03,
                         view(weights),
                         view(functions),
                         local_scales({indices.data(), n, k}, {lengths.data(), n, k}, k / 4, view(scales), execution)};
    Matrix extended(4000, 40), distances(4000, 1);
    IndexMatrix nearest(4000, 1);
    for (auto _ : state) {
        extend(map, {view(bases), view(base_values)}, view(extended), {nearest.data(), 4000, 1}, view(distances),
               execution);
    }
    state.SetItemsProcessed(4000 * state.iterations());
}

BENCHMARK(extend_landmarks)
    ->ArgNames({"threads", "columns"})
    ->ArgsProduct({{1, 2}, {3, 40}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace idm::bench
