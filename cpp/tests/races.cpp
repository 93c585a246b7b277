// Every step on four threads, for ThreadSanitizer: it ends the program with a report where two threads touch the same
// memory without order. `.ci/races` builds and runs it.
#include <cstdio>
#include <utility>

#include "data.hpp"
#include "idm/extension.hpp"
#include "idm/kernel.hpp"
#include "idm/landmarks.hpp"
#include "idm/local_derivatives.hpp"
#include "idm/local_estimates.hpp"
#include "idm/local_geometry.hpp"
#include "idm/metric.hpp"
#include "idm/normalization.hpp"
#include "idm/orthogonalization.hpp"
#include "idm/scaling_laws.hpp"
#include "idm/tangent_spaces.hpp"
#include "idm/variable_bandwidth.hpp"

namespace idm::bench {
namespace {

constexpr Index n = 600, k = 60;
const Execution four{4, [] { return false; }};

IndexMatrixView view(IndexMatrix& matrix) { return {matrix.data(), matrix.rows(), matrix.cols()}; }
ConstIndexMatrixView view(const IndexMatrix& matrix) { return {matrix.data(), matrix.rows(), matrix.cols()}; }
using bench::view;

// Queries and points, tree and blocks, repeated rows.
void neighbors(const Matrix& points, const Matrix& queries, const Neighbors& of_points) {
    IndexMatrix indices(n, k);
    Matrix distances(n, k), repeated = points;
    repeated.topRows(n / 2).setZero();
    for (const Matrix& data : {points, repeated}) {
        const NeighborIndex index(view(data), four);
        for (const NeighborMethod method : {NeighborMethod::tree, NeighborMethod::blocked}) {
            index.nearest(view(indices), view(distances), four, method);
            index.nearest(view(queries), view(indices), view(distances), four, method);
        }
    }
    pair_distances(view(points), of_points.indices(), view(distances), four);
}

void local_steps(const Matrix& points, const Neighbors& of_points) {
    const Index m = points.cols();
    const Matrix values = points.leftCols(2), bandwidths = Matrix::Constant(n, 1, 0.1);
    Matrix geometry(n, 3), sizes(n, 2), vectors(n, m * 2), derivatives(n, 2 * m), fitted(n, 2);
    for (const Tuning tuning : {Tuning::d1, Tuning::svd}) {
        local_geometry(view(points), of_points.indices(), of_points.distances(), tuning, 50, view(geometry), four);
    }
    tangent_spaces(view(points), of_points.indices(), of_points.distances(), view(bandwidths), view(sizes),
                   view(vectors), four);
    for (const Derivative method : {Derivative::affine, Derivative::regression, Derivative::correlation}) {
        for (const double gamma : {0.0, 1e-3}) {
            local_derivatives(view(points), view(values), view(points), view(values), of_points.indices(),
                              of_points.distances(), view(bandwidths), method, gamma, view(derivatives), view(fitted),
                              four);
        }
    }
    Matrix estimates(n, 2 * 2 * 2), factors(1, 2), gammas(1, 2);
    factors << 0.1, 1;
    gammas << 1e-3, 1;
    const Matrix counts = Matrix::Ones(n, 1);
    const IndexMatrix own = of_points.index.leftCols(1);
    local_estimates({view(points), view(values), view(counts)},
                    {view(points), of_points.indices(), of_points.distances(), view(bandwidths), view(own)},
                    view(std::as_const(factors)), view(std::as_const(gammas)), view(estimates), four);
    const Matrix base = points.topRows(1), many = Matrix::Constant(40, 1, 0.1);
    const IndexMatrix first_indices = of_points.index.topRows(1);
    const Matrix first_distances = of_points.distance.topRows(1);
    const Index q = std::min(k, m);
    Matrix singular_values(40, q), exponents(40, q), laws(40, 5);
    scaling_laws(view(points), view(base), view(first_indices), view(first_distances), view(many),
                 view(singular_values), view(exponents), view(laws), four);
}

void global_steps(const Matrix& points, const Matrix& queries, const Neighbors& of_points) {
    Matrix dimensions(n, 1), sums(n, 2), product(n, 8);
    const Matrix values = gaussian(n, 8), weights = Matrix::Ones(n, 1);
    kernel_dimensions(of_points.distances(), 0.1, view(dimensions), four);
    SparseMatrix kernel = symmetric_kernel(of_points.indices(), of_points.distances(), 0.1, four);
    kernel = nearest_kernel(of_points.indices(), of_points.distances(), 0.1, four);
    normalize(kernel, 0.5, view(sums), four);
    multiply(kernel.view(), view(values), view(product), four);
    chebyshev(kernel.view(), view(values), -0.1, 0.5, 3, view(product), four);
    const IndexMatrix backwards = IndexMatrix::NullaryExpr(n / 2, 1, [](Index i, Index) { return n - 1 - i; });
    kernel = submatrix(kernel.view(), view(backwards), four);
    project_out(view(values), 8, view(product), four);
    IndexMatrix indices(n, k / 2), nearest(n, 1), chosen(50, 1);
    Matrix lengths(n, k / 2), distances(n, 1);
    const Flow flow{0.5, Mixing::lengths, Change::difference};
    metric_neighbors({view(points), view(points)}, of_points.indices(), of_points.distances(), flow, view(indices),
                     view(lengths), four);
    Matrix scale(n, 3), scaled(n, k / 2);
    const LocalScales scales =
        local_scales(view(std::as_const(indices)), view(std::as_const(lengths)), 4, view(scale), four);
    const Matrix rho = scale.rightCols(1);
    scale_lengths(view(std::as_const(indices)), view(std::as_const(lengths)), view(rho), view(scaled), four);
    const Matrix pool_radii = of_points.distance.rightCols(1), radii = lengths.rightCols(1);
    const NeighborIndex index(view(points), four);
    const TrainedMap map{index, view(points), view(pool_radii), view(radii),  flow,  k,
                         k / 2, 0.1,          view(weights),    view(values), scales};
    extend(map, {view(queries), view(queries)}, view(product), view(nearest), view(distances), four);
    farthest_points(view(points), 1, view(chosen), four);
}

// An exception of a block, and an interrupt while other threads work.
void ways_to_stop() {
    const auto loop = [](const Execution& execution, Index fail_at) {
        try {
            parallel_for(
                200, 1, execution, [] { return 0; },
                [&](Index begin, Index, int, Region&) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    if (begin == fail_at) throw std::runtime_error("block failed");
                });
        } catch (const std::runtime_error&) {
            return;
        }
        throw std::logic_error("the loop should have stopped");
    };
    loop(four, 20);
    loop({4, [] { return true; }}, -1);
}

}  // namespace
}  // namespace idm::bench

int main() {
    using namespace idm::bench;
    for (const idm::Index columns : {3, 80}) {  // 80 is more than there are neighbours
        const idm::Matrix points = torus(n) * gaussian(3, columns) + 0.01 * gaussian(n, columns);
        const idm::Matrix queries = points.array() + 0.01;
        const Neighbors of_points(points, k);
        neighbors(points, queries, of_points);
        local_steps(points, of_points);
        global_steps(points, queries, of_points);
    }
    ways_to_stop();
    std::puts("no races");
}
