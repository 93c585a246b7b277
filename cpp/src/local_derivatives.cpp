#include "idm/local_derivatives.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "gather.hpp"
#include "idm/weights.hpp"
#include "least_squares.hpp"
#include "symmetric.hpp"

namespace idm {
namespace {

// The weighted differences of one neighbourhood, and the solution of its regression.
class Regression {
  public:
    Regression(Index k, Index m, Index n, Derivative method, double gamma)
        : m_(m),
          n_(n),
          method_(method),
          gamma_(gamma),
          weights_(k),
          roots_(k),
          means_(m),
          value_means_(n),
          feature_units_(n),
          differences_(std::max(k, m) * std::min(k, m)),
          features_(n, k),
          system_(std::min(k, m), std::min(k, m)),
          least_squares_(gamma == 0 ? k : 0, gamma == 0 ? m : 0) {}

    void solve(ConstMatrixView points, ConstMatrixView values, const double* base, const double* base_value,
               const Index* indices, const double* distances, double epsilon, double* derivative, double* fitted,
               Region& region) {
        weights_.start(distances);
        weights_.at(epsilon);
        n_weighted_ = weights_.count();
        roots_.head(n_weighted_) = (weights_.w().head(n_weighted_) / weights_.sum()).sqrt();
        find_means(points, values, base, base_value, indices, region);
        // In units of the largest weighted distance and feature difference, so that products stay in range.
        const double farthest = distances[n_weighted_ - 1], unit = farthest > 0 ? farthest : 1;
        roots_.head(n_weighted_) /= unit;
        const double relative_epsilon = epsilon / unit / unit;
        for (Index f = 0; f < n_; ++f) gather_feature(values, indices, f, unit);
        const bool by_coordinates = m_ <= n_weighted_ || method_ == Derivative::correlation || gamma_ == 0;
        if (by_coordinates) {
            gather_coordinates(
                points, indices, n_weighted_, base, means_.data(), [&](Index j) { return roots_[j]; },
                differences_.data(), n_weighted_, region);
        } else {
            gather_points(points, base, indices, region);
        }
        if (method_ == Derivative::correlation) {
            for (Index f = 0; f < n_; ++f) {
                products(f, derivative, 1 / relative_epsilon);
                region.checkpoint_after(m_ * n_weighted_);
            }
        } else if (gamma_ == 0) {
            // Coordinates are rounded, and a direction in which they vary by no more than that is none.
            const double rounding = std::numeric_limits<double>::epsilon() * largest_coordinate(base) / unit;
            least_squares_.solve(differences_.data(), n_weighted_, n_weighted_, features_.data(), n_, features_.cols(),
                                 16 * rounding, derivative, region);
        } else if (by_coordinates) {
            factorise(m_, n_weighted_, gamma_ * relative_epsilon, region);
            for (Index f = 0; f < n_; ++f) {
                products(f, derivative, 1);
                cholesky_solve(system_.data(), m_, system_.cols(), derivative + f * m_);
                region.checkpoint_after(m_ * n_weighted_);
            }
        } else {
            // The smaller system: (G + gamma eps I) z = dy over the points, DH = sum_j z_j dx_j^T.
            factorise(n_weighted_, m_, gamma_ * relative_epsilon, region);
            for (Index f = 0; f < n_; ++f) {
                double *z = &features_(f, 0), *out = derivative + f * m_;
                cholesky_solve(system_.data(), n_weighted_, system_.cols(), z);
                std::fill(out, out + m_, 0.0);
                for (Index j = 0; j < n_weighted_; ++j) {
                    const double* row = differences_.data() + j * m_;
                    for (Index c = 0; c < m_; ++c) out[c] += z[j] * row[c];
                }
                region.checkpoint_after(m_ * n_weighted_);
            }
        }
        for (Index f = 0; f < n_; ++f) {
            const double factor = feature_units_[f] / unit;
            for (Index c = 0; c < m_; ++c) derivative[f * m_ + c] *= factor;
            fitted[f] = value_means_[f] - dot(derivative + f * m_, means_.data(), m_);
        }
    }

  private:
    double largest_coordinate(const double* base) const {
        double largest = 0;
        for (Index c = 0; c < m_; ++c) largest = std::max(largest, std::abs(base[c]));
        return largest;
    }

    // The origins of both differences: the base point, or the weighted means, as offsets from the base point
    // and from the first value.
    void find_means(ConstMatrixView points, ConstMatrixView values, const double* base, const double* base_value,
                    const Index* indices, Region& region) {
        means_.setZero();
        if (method_ != Derivative::affine) {
            for (Index f = 0; f < n_; ++f) value_means_[f] = base_value[f];
            return;
        }
        value_means_.setZero();
        for (Index j = 0; j < n_weighted_; ++j) {
            if (j % 64 == 0) region.checkpoint_after(64 * m_);
            const double weight = roots_[j] * roots_[j];
            const double* x = points.row(indices[j]).data();
            for (Index c = 0; c < m_; ++c) means_[c] += weight * (x[c] - base[c]);
            for (Index f = 0; f < n_; ++f) value_means_[f] += weight * (values(indices[j], f) - values(indices[0], f));
        }
        for (Index f = 0; f < n_; ++f) value_means_[f] += values(indices[0], f);
    }

    // The weighted differences of one feature, in units of the largest difference. `unit` undoes that of the roots.
    void gather_feature(ConstMatrixView values, const Index* indices, Index f, double unit) {
        double largest = 0;
        for (Index j = 0; j < n_weighted_; ++j) {
            largest = std::max(largest, std::abs(values(indices[j], f) - value_means_[f]));
        }
        feature_units_[f] = largest > 0 ? largest : 1;
        for (Index j = 0; j < n_weighted_; ++j) {
            features_(f, j) = roots_[j] * unit * ((values(indices[j], f) - value_means_[f]) / feature_units_[f]);
        }
    }

    // Weighted differences as n_weighted rows of m numbers.
    void gather_points(ConstMatrixView points, const double* base, const Index* indices, Region& region) {
        for (Index j = 0; j < n_weighted_; ++j) {
            if (j % 64 == 0) region.checkpoint_after(64 * m_);
            const double* x = points.row(indices[j]).data();
            double* out = differences_.data() + j * m_;
            for (Index c = 0; c < m_; ++c) out[c] = roots_[j] * (x[c] - base[c] - means_[c]);
        }
    }

    // sum_j w_j dy_j dx_j^T for one feature, times a factor.
    void products(Index feature, double* derivative, double factor) const {
        for (Index c = 0; c < m_; ++c) {
            const double* row = differences_.data() + c * n_weighted_;
            derivative[feature * m_ + c] = factor * dot(row, &features_(feature, 0), n_weighted_);
        }
    }

    // Cholesky factor of rows rows^T + ridge I. A ridge that rounding would hide is raised to 1e-12 of the largest
    // entry.
    void factorise(Index size, Index length, double ridge, Region& region) {
        gram_lower(differences_.data(), size, length, length, system_.data(), system_.cols(), region);
        double largest = 0;
        for (Index i = 0; i < size; ++i) largest = std::max(largest, system_(i, i));
        ridge = std::max(ridge, largest > 0 ? 1e-12 * largest : 1.0);
        for (Index i = 0; i < size; ++i) system_(i, i) += ridge;
        if (!cholesky(system_.data(), size, system_.cols(), region)) {
            throw std::runtime_error("local_derivatives: the normal equations are not positive definite");
        }
    }

    Index m_, n_, n_weighted_ = 0;
    Derivative method_;
    double gamma_;
    Weights weights_;
    Eigen::ArrayXd roots_, means_, value_means_, feature_units_;
    std::vector<double> differences_;
    Matrix features_, system_;
    LeastSquares least_squares_;
};

}  // namespace

void local_derivatives(ConstMatrixView points, ConstMatrixView values, ConstMatrixView bases,
                       ConstMatrixView base_values, ConstIndexMatrixView indices, ConstMatrixView distances,
                       ConstMatrixView bandwidths, Derivative method, double gamma, MatrixView derivatives,
                       MatrixView fitted, const Execution& execution) {
    const Index k = indices.cols(), m = points.cols(), n = values.cols();
    parallel_for(
        indices.rows(), 8, execution, [&] { return Regression(k, m, n, method, gamma); },
        [&](Index begin, Index end, Regression& regression, Region& region) {
            for (Index i = begin; i < end; ++i) {
                const double* base_value = base_values.size() > 0 ? base_values.row(i).data() : nullptr;
                regression.solve(points, values, bases.row(i).data(), base_value, indices.row(i).data(),
                                 distances.row(i).data(), bandwidths(i, 0), derivatives.row(i).data(),
                                 fitted.row(i).data(), region);
                region.checkpoint();
            }
        });
}

}  // namespace idm
