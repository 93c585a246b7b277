#include "idm/neighborhood.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gather.hpp"
#include "symmetric.hpp"

namespace idm {
namespace {

// Eigenvalues below this share of the largest are rounding errors of zeros.
constexpr double vanishing = 1e-14;

}  // namespace

Neighborhood::Neighborhood(Index k, Index m)
    : k_(k),
      m_(m),
      q_(std::min(k, m)),
      small_(m <= 4 && m <= k),
      pairs_(small_ ? m * (m + 1) / 2 : 0, k),
      powers_(small_ ? 3 : 0, k),
      moments_(pairs_.rows(), 3),
      zeros_(Eigen::ArrayXd::Zero(m)),
      coordinates_(m, k),
      rows_(q_, m),
      gram_(q_, q_),
      scaled_(m, k),
      system_(q_, q_),
      vectors_(q_, q_),
      dual_vectors_(q_, q_),
      values_(q_),
      exponents_(q_),
      root_weights_(k),
      scratch_(2 * q_),
      projection_(k),
      weighted_(k),
      image_(std::max(m, q_)) {}

void Neighborhood::start(ConstMatrixView points, const double* base, const Index* indices, double unit,
                         Region& region) {
    points_ = points.data();
    base_ = base;
    unit_ = unit > 0 ? unit : 1;
    const double inverse = 1 / unit_;
    indices_ = indices;
    n_rows_ = n_gram_ = 0;
    gather_coordinates(
        points, indices, k_, base, zeros_.data(), [&](Index) { return inverse; }, coordinates_.data(), k_, region);
    if (!small_) return;
    for (Index a = 0, row = 0; a < m_; ++a) {
        for (Index b = 0; b <= a; ++b, ++row) {
            pairs_.row(row).array() = coordinates_.row(a).array() * coordinates_.row(b).array();
        }
    }
}

// E[g], E[x g] and E[x^2 g], whose entries are weighted sums of the pairs.
void Neighborhood::find_moments(const Weights& weights) {
    const double inverse = 1 / weights.sum();
    const double *x = weights.x().data(), *w = weights.w().data();
    double *w0 = powers_.row(0).data(), *w1 = powers_.row(1).data(), *w2 = powers_.row(2).data();
    for (Index j = 0; j < n_; ++j) {
        w0[j] = w[j] * inverse;
        w1[j] = w0[j] * x[j];
        w2[j] = w1[j] * x[j];
    }
    dots_with_three(pairs_.data(), pairs_.rows(), powers_.data(), n_, k_, moments_.data());
}

// Makes the inner products of the first n differences available.
void Neighborhood::extend_gram(Index n, Region& region) {
    if (n <= n_gram_) return;
    for (; n_rows_ < n; ++n_rows_) {
        if (n_rows_ % 64 == 0) region.checkpoint_after(64 * m_);
        const double* x = points_ + indices_[n_rows_] * m_;
        for (Index c = 0; c < m_; ++c) rows_(n_rows_, c) = (x[c] - base_[c]) / unit_;
    }
    gram_lower(rows_.data(), n, m_, m_, gram_.data(), q_, region);
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < i; ++j) gram_(j, i) = gram_(i, j);
    }
    n_gram_ = n;
}

void Neighborhood::decompose(const Weights& weights, Region& region) {
    n_ = weights.count();
    dual_ = m_ > n_ && !small_;
    size_ = dual_ ? n_ : m_;
    if (small_) {
        find_moments(weights);
        for (Index a = 0, row = 0; a < m_; ++a) {
            for (Index b = 0; b <= a; ++b, ++row) system_(a, b) = moments_(row, 0);
        }
        symmetric_eigen(system_.data(), m_, q_, values_.data(), vectors_.data(), q_, scratch_.data(), region);
        return;
    }
    root_weights_.head(n_) = (weights.w().head(n_) / weights.sum()).sqrt();
    if (dual_) {
        extend_gram(n_, region);
        for (Index i = 0; i < n_; ++i) {
            for (Index j = 0; j <= i; ++j) system_(i, j) = gram_(i, j) * root_weights_[i] * root_weights_[j];
        }
    } else {
        for (Index c = 0; c < m_; ++c) {
            const double* x = coordinates_.row(c).data();
            double* out = scaled_.row(c).data();
            for (Index j = 0; j < n_; ++j) out[j] = x[j] * root_weights_[j];
            if (c % 64 == 0) region.checkpoint_after(64 * n_);
        }
        gram_lower(scaled_.data(), m_, n_, k_, system_.data(), q_, region);
    }
    symmetric_eigen(system_.data(), size_, q_, values_.data(), vectors_.data(), q_, scratch_.data(), region);
    region.checkpoint_after(size_ * size_ * n_);
    if (!dual_) return;
    for (Index l = 0; l < size_; ++l) {
        const double factor = vanishes(l) ? 0 : 1 / std::sqrt(values_[l]);
        for (Index j = 0; j < n_; ++j) dual_vectors_(l, j) = vectors_(l, j) * root_weights_[j] * factor;
    }
}

bool Neighborhood::vanishes(Index l) const { return l >= size_ || !(values_[l] > vanishing * values_[0]); }

double Neighborhood::singular_value(Index l) const { return vanishes(l) ? 0 : std::sqrt(values_[l]) * unit_; }

void Neighborhood::vector(Index l, double* v) const {
    std::fill(v, v + m_, 0.0);
    if (dual_ && l < size_) {
        for (Index j = 0; j < n_; ++j) {
            for (Index c = 0; c < m_; ++c) v[c] += dual_vectors_(l, j) * rows_(j, c);
        }
    } else if (l < size_) {
        std::copy_n(vectors_.row(l).data(), m_, v);
    }
    const double* largest = std::max_element(v, v + m_, [](double a, double b) { return std::abs(a) < std::abs(b); });
    if (*largest < 0) std::transform(v, v + m_, v, [](double a) { return -a; });
}

Index Neighborhood::n_exponents(const Moments& moments) const {
    return std::min(q_, static_cast<Index>(moments.d1()) + 1);
}

// What the scaling of sigma_l depends on: v^T E[x g] v, v^T E[x^2 g] v, and what gives v_p^T E[x g] v for any p.
Neighborhood::Projected Neighborhood::project(Index l, const Weights& weights) {
    if (small_) {
        const double* v = vectors_.row(l).data();
        double image[4] = {};
        double second = 0;
        for (Index a = 0, row = 0; a < m_; ++a) {
            for (Index b = 0; b <= a; ++b, ++row) {
                image[a] += moments_(row, 1) * v[b];
                if (a != b) image[b] += moments_(row, 1) * v[a];
                second += (a == b ? 1 : 2) * moments_(row, 2) * v[a] * v[b];
            }
        }
        std::copy_n(image, m_, image_.data());
        return {dot(v, image, m_), second};
    }
    // Either F = the coordinates (m x n) and z_l = v_l, or F = the Gram matrix (n x n) and z_l its vectors: both give
    // the projections v_l . (x_j - x) = z_l^T F, and v_p . y = z_p^T (F t) for y = sum_j t_j (x_j - x).
    const Matrix& f = dual_ ? gram_ : coordinates_;
    const Matrix& z = dual_ ? dual_vectors_ : vectors_;
    double *projection = projection_.data(), *weighted = weighted_.data();
    const double *x = weights.x().data(), *w = weights.w().data();
    const double inverse = 1 / weights.sum();
    std::fill(projection, projection + n_, 0.0);
    for (Index c = 0; c < size_; ++c) {
        const double zc = z(l, c);
        const double* row = f.row(c).data();
        for (Index j = 0; j < n_; ++j) projection[j] += zc * row[j];
    }
    for (Index j = 0; j < n_; ++j) weighted[j] = w[j] * x[j] * projection[j] * inverse;
    const double first = dot(weighted, projection, n_);
    for (Index c = 0; c < size_; ++c) image_[c] = dot(f.row(c).data(), weighted, n_);
    for (Index j = 0; j < n_; ++j) projection[j] *= x[j];
    return {first, dot(weighted, projection, n_)};
}

Agreement Neighborhood::agreement(const Weights& weights, const Moments& moments, Index n_exponents, Region& region) {
    const double mean = moments.mean, mean_square = moments.mean_square, d1 = moments.d1();
    const double d1_change = d1 * moments.d1_slope();
    const Index whole = std::min(m_, static_cast<Index>(d1));
    const auto share = [&](Index l) {
        return l < whole ? 1.0 : l == whole && whole < m_ ? d1 - static_cast<double>(whole) : 0.0;
    };
    const Matrix& z = dual_ ? dual_vectors_ : vectors_;
    double d2 = 0, d2_change = 0;
    for (Index l = 0; l < n_exponents; ++l) {
        if (vanishes(l)) {
            exponents_[l] = 1;
            d2 += 2 * share(l);
            if (l == whole) d2_change += 2 * d1_change;
            continue;
        }
        const auto [first, second] = project(l, weights);
        region.checkpoint_after(size_ * n_);
        const double value = values_[l];
        const double change = first - mean * value;  // v^T C' v
        exponents_[l] = change / (2 * value);
        d2 += 2 * share(l) * exponents_[l];
        if (l == whole) d2_change += 2 * d1_change * exponents_[l];
        if (share(l) == 0) continue;
        const double curvature =
            second - (1 + 2 * mean) * first - (mean_square - mean - 2 * mean * mean) * value;  // v^T C'' v
        const double ratio = change / value;
        double sum = 0.5 * share(l) * (curvature / value - ratio * ratio);
        // Second order: each pair l < p that C' mixes adds mixed^2 (c_l / value_l - c_p / value_p) / (value_l
        // - value_p).
        for (Index p = l + 1; p < size_; ++p) {
            const double mixed = dot(&z(p, 0), image_.data(), size_);
            if (!vanishes(p) && share(p) == share(l)) {
                sum -= (mixed / value) * (mixed / values_[p]) * share(l);
            } else {
                const double gap = std::max(value - values_[p], vanishing * values_[0]);
                sum += share(l) * (mixed / value) * (mixed / gap);
                if (!vanishes(p)) sum -= share(p) * (mixed / values_[p]) * (mixed / gap);
            }
        }
        d2_change += 2 * sum;
    }
    const double d_ave = (d1 + d2) / 2;
    const double m = std::abs(d1 - d2) / d_ave + std::abs(moments.d1_slope()) + std::abs(d2_change / d2);
    const double disagreement = d2 > 0 && std::isfinite(m) ? m : std::numeric_limits<double>::infinity();
    return {d2, d_ave, disagreement};
}

}  // namespace idm
