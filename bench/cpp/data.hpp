// Data for the benchmarks.
#pragma once

#include <cmath>
#include <random>

#include "idm/eigen.hpp"

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

inline ConstMatrixView view(const Matrix& matrix) { return {matrix.data(), matrix.rows(), matrix.cols()}; }

}  // namespace idm::bench
