#include "least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "symmetric.hpp"

namespace idm {
namespace {

// Turns v (n numbers) into the vector of the reflection H = I - v v^T that maps it to (result, 0, ..., 0).
double make_reflection(double* v, Index n) {
    const double norm = std::sqrt(dot(v, v, n));
    if (norm == 0) return 0;
    const double result = v[0] > 0 ? -norm : norm;
    v[0] -= result;
    const double scale = 1 / std::sqrt(-result * v[0]);  // v.v = -2 result v[0]
    for (Index i = 0; i < n; ++i) v[i] *= scale;
    return result;
}

void reflect(const double* v, Index n, double* x) {
    const double s = dot(v, x, n);
    for (Index i = 0; i < n; ++i) x[i] -= s * v[i];
}

}  // namespace

LeastSquares::LeastSquares(Index n_max, Index m)
    : m_(m), order_(m), norms_(m), exact_(m), reduced_(std::min(n_max, m), m), scales_(m), solution_(m) {}

// Leaves R in the columns (the pivots' diagonal in scales_) and Q^T y in the right-hand sides; returns the
// rank.
Index LeastSquares::factorise(double* columns, Index n, Index stride, double* rhs, Index n_rhs, Index rhs_stride,
                              double noise, Region& region) {
    const double tolerance = std::numeric_limits<double>::epsilon() * static_cast<double>(std::max(n, m_));
    std::iota(order_.begin(), order_.end(), Index{0});
    for (Index c = 0; c < m_; ++c) {
        exact_[c] = norms_[c] = dot(columns + c * stride, columns + c * stride, n);
        if (c % 64 == 0) region.checkpoint_after(64 * n);
    }
    for (Index s = 0; s < std::min(n, m_); ++s) {
        const auto pivot =
            std::max_element(order_.begin() + s, order_.end(), [&](Index a, Index b) { return norms_[a] < norms_[b]; });
        std::swap(order_[s], *pivot);
        double* v = columns + order_[s] * stride + s;
        const Index rest = n - s;
        const double size = std::sqrt(dot(v, v, rest));
        if (size <= noise || (s > 0 && size <= tolerance * std::abs(scales_[0]))) return s;
        scales_[s] = make_reflection(v, rest);
        for (Index j = s + 1; j < m_; ++j) {
            const Index c = order_[j];
            double* x = columns + c * stride + s;
            reflect(v, rest, x);
            if (j % 64 == 0) region.checkpoint_after(64 * rest);
            norms_[c] -= x[0] * x[0];
            if (norms_[c] < 1e-8 * exact_[c]) {  // too many digits lost by subtracting
                norms_[c] = exact_[c] = dot(x + 1, x + 1, rest - 1);
            }
        }
        for (Index r = 0; r < n_rhs; ++r) reflect(v, rest, rhs + r * rhs_stride + s);
        region.checkpoint_after(n_rhs * rest);
    }
    return std::min(n, m_);
}

void LeastSquares::solve(double* columns, Index n, Index stride, double* rhs, Index n_rhs, Index rhs_stride,
                         double noise, double* solutions, Region& region) {
    const Index rank = factorise(columns, n, stride, rhs, n_rhs, rhs_stride, noise, region);
    const auto upper = [&](Index i, Index j) {  // R(i, j)
        return i == j ? scales_[i] : columns[order_[j] * stride + i];
    };
    if (rank == m_) {
        for (Index r = 0; r < n_rhs; ++r) {
            const double* y = rhs + r * rhs_stride;
            for (Index i = m_ - 1; i >= 0; --i) {
                double sum = y[i];
                for (Index j = i + 1; j < m_; ++j) sum -= upper(i, j) * solution_[j];
                solution_[i] = sum / scales_[i];
            }
            for (Index j = 0; j < m_; ++j) solutions[r * m_ + order_[j]] = solution_[j];
            region.checkpoint_after(m_ * m_);
        }
        return;
    }
    // [R11 R12]^T = Q2 S: the least-norm solution is Q2 (u, 0) with S^T u = Q^T y.
    for (Index i = 0; i < rank; ++i) {
        for (Index j = 0; j < m_; ++j) reduced_(i, j) = j < i ? 0 : upper(i, j);
        region.checkpoint_after(rank * m_);
    }
    for (Index i = 0; i < rank; ++i) {
        double* v = &reduced_(i, i);
        scales_[i] = make_reflection(v, m_ - i);
        for (Index j = i + 1; j < rank; ++j) reflect(v, m_ - i, &reduced_(j, i));
        region.checkpoint_after(rank * m_);
    }
    for (Index r = 0; r < n_rhs; ++r) {
        const double* y = rhs + r * rhs_stride;
        std::fill(solution_.begin(), solution_.end(), 0.0);
        for (Index i = 0; i < rank; ++i) {
            solution_[i] = (y[i] - dot(&reduced_(i, 0), solution_.data(), i)) / scales_[i];
        }
        for (Index i = rank - 1; i >= 0; --i) reflect(&reduced_(i, i), m_ - i, solution_.data() + i);
        for (Index j = 0; j < m_; ++j) solutions[r * m_ + order_[j]] = solution_[j];
        region.checkpoint_after(rank * m_);
    }
}

}  // namespace idm
