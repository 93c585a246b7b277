// Data for the benchmarks.
#pragma once

#include <cmath>
#include <random>

#include "idm/eigen.hpp"
#include "idm/neighbors.hpp"

namespace idm::bench {

inline Matrix gaussian(Index n, Index m) {
    std::mt19937_64 generator(1);
    std::normal_distribution<double> normal;
    return Matrix::NullaryExpr(n, m, [&] { return normal(generator); });
}

// Random points of the torus with radii 2 and 1.
inline Matrix torus(Index n) {
    std::mt19937_64 generator(1);
    std::uniform_real_distribution<double> angle(0, 6.283185307179586);
    Matrix points(n, 3);
    for (Index i = 0; i < n; ++i) {
        const double theta = angle(generator), phi = angle(generator);
        const double ring = 2 + std::cos(theta);
        points.row(i) << ring * std::cos(phi), ring * std::sin(phi), std::sin(theta);
    }
    return points;
}

struct Neighbors {
    IndexMatrix index;
    Matrix distance;

    Neighbors(const Matrix& points, Index k) : index(points.rows(), k), distance(points.rows(), k) {
        NeighborIndex({points.data(), points.rows(), points.cols()}, Execution{})
            .nearest({index.data(), index.rows(), k}, {distance.data(), distance.rows(), k}, Execution{max_threads()});
    }
    ConstIndexMatrixView indices() const { return {index.data(), index.rows(), index.cols()}; }
    ConstMatrixView distances() const { return {distance.data(), distance.rows(), distance.cols()}; }
};

inline MatrixView view(Matrix& matrix) { return {matrix.data(), matrix.rows(), matrix.cols()}; }
inline ConstMatrixView view(const Matrix& matrix) { return {matrix.data(), matrix.rows(), matrix.cols()}; }

}  // namespace idm::bench
