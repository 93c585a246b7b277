#include "idm/local_estimates.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "gather.hpp"
#include "idm/weights.hpp"
#include "symmetric.hpp"

namespace idm {
namespace {

// One neighbourhood, in units of its largest distance.
class Estimates {
  public:
    Estimates(Index k, Index m, Index n)
        : k_(k),
          m_(m),
          n_(n),
          dual_(m > k),
          weights_(k),
          differences_(dual_ ? k : m, dual_ ? m : k),
          gram_(dual_ ? k : 0, dual_ ? k : 0),
          rows_(dual_ ? 0 : m, dual_ ? 0 : k),
          cross_(dual_ ? 0 : n, dual_ ? 0 : m),
          system_(std::min(k, m), std::min(k, m)),
          factor_(std::min(k, m), std::min(k, m)),
          changes_(n, k),
          w_(k),
          roots_(k),
          images_(k),
          solution_(std::max(k, m)),
          right_(std::max(k, m)),
          mean_value_(n),
          zeros_(Eigen::ArrayXd::Zero(m)),
          scaled_(k),
          counts_(k),
          others_(k) {}

    // The neighbours of base i but for the one that is left out, if there is such.
    void start(const WeightedPoints& data, const LocalBases& bases, Index i, Region& region) {
        const ConstMatrixView points = data.points, values = data.values;
        const double *base = bases.points.row(i).data(), *distances = bases.distances.row(i).data();
        const Index* indices = bases.indices.row(i).data();
        const Index n_given = bases.indices.cols();
        if (n_given > k_) {
            const Index* own = std::find(indices, indices + n_given - 1, bases.left_out(i, 0));
            const Index before = own - indices;
            std::copy(indices, own, others_.begin());
            std::copy(own + 1, indices + n_given, others_.begin() + before);
            std::copy_n(distances, before, scaled_.data());
            std::copy_n(distances + before + 1, k_ - before, scaled_.data() + before);
            indices = others_.data();
        } else {
            std::copy_n(distances, k_, scaled_.data());
        }
        unit_ = scaled_[k_ - 1] > 1e-290 ? scaled_[k_ - 1] : 1;  // whose inverse is finite
        scaled_ /= unit_;
        weights_.start(scaled_.data());
        bandwidth_ = bases.bandwidths(i, 0) / unit_ / unit_;
        for (Index j = 0; j < k_; ++j) counts_[j] = data.counts(indices[j], 0);
        const double inverse = 1 / unit_;
        if (dual_) {
            for (Index j = 0; j < k_; ++j) {
                if (j % 64 == 0) region.checkpoint_after(64 * m_);
                const double* x = points.row(indices[j]).data();
                for (Index c = 0; c < m_; ++c) differences_(j, c) = inverse * (x[c] - base[c]);
            }
            gram_lower(differences_.data(), k_, m_, m_, gram_.data(), k_, region);
            for (Index j = 0; j < k_; ++j) {
                for (Index l = 0; l < j; ++l) gram_(l, j) = gram_(j, l);
            }
        } else {
            gather_coordinates(
                points, indices, k_, base, zeros_.data(), [&](Index) { return inverse; }, differences_.data(), k_,
                region);
        }
        // Relative to the first, whose digits the differences must not lose.
        first_ = values.row(indices[0]).data();
        for (Index f = 0; f < n_; ++f) {
            for (Index j = 0; j < k_; ++j) changes_(f, j) = values(indices[j], f) - first_[f];
        }
    }

    // The weights at eps = factor times the bandwidth of the base, and the matrix of the regression with them.
    void weigh(double factor, Region& region) {
        epsilon_ = factor * bandwidth_;
        weights_.at(epsilon_);
        count_ = weights_.count();
        w_.head(count_) = weights_.w().head(count_) * counts_.head(count_);
        w_.head(count_) /= w_.head(count_).sum();
        roots_.head(count_) = w_.head(count_).sqrt();
        for (Index f = 0; f < n_; ++f) mean_value_[f] = dot(w_.data(), &changes_(f, 0), count_);
        if (dual_) {
            for (Index i = 0; i < count_; ++i) images_[i] = dot(gram_.row(i).data(), w_.data(), count_);  // x_i . x~
            const double square = dot(images_.data(), w_.data(), count_);                                 // |x~|^2
            for (Index i = 0; i < count_; ++i) {
                for (Index j = 0; j <= i; ++j) {
                    system_(i, j) = roots_[i] * roots_[j] * (gram_(i, j) - images_[i] - images_[j] + square);
                }
                right_[i] = roots_[i] * (images_[i] - square);
            }
            size_ = count_;
        } else {
            for (Index c = 0; c < m_; ++c) {
                const double* x = differences_.row(c).data();
                const double mean = dot(x, w_.data(), count_);
                double* out = rows_.row(c).data();
                for (Index j = 0; j < count_; ++j) out[j] = roots_[j] * (x[j] - mean);
                right_[c] = mean;
                if (c % 64 == 0) region.checkpoint_after(64 * count_);
            }
            gram_lower(rows_.data(), m_, count_, k_, system_.data(), system_.cols(), region);
            for (Index f = 0; f < n_; ++f) {
                for (Index j = 0; j < count_; ++j) images_[j] = roots_[j] * (changes_(f, j) - mean_value_[f]);
                for (Index c = 0; c < m_; ++c) cross_(f, c) = dot(rows_.row(c).data(), images_.data(), count_);
                region.checkpoint_after(m_ * count_);
            }
            size_ = m_;
        }
        largest_ = 0;
        for (Index i = 0; i < size_; ++i) largest_ = std::max(largest_, system_(i, i));
    }

    void estimate(double gamma, double* fitted, Region& region) {
        const double ridge = std::max(gamma * epsilon_, largest_ > 0 ? 1e-12 * largest_ : 1.0);
        for (Index i = 0; i < size_; ++i) {
            std::copy_n(system_.row(i).data(), i + 1, factor_.row(i).data());
            factor_(i, i) += ridge;
        }
        if (!cholesky(factor_.data(), size_, factor_.cols(), region)) {
            throw std::runtime_error("local_estimates: the normal equations are not positive definite");
        }
        std::copy_n(right_.data(), size_, solution_.data());
        cholesky_solve(factor_.data(), size_, factor_.cols(), solution_.data());
        double sum = 0;
        for (Index j = 0; dual_ && j < count_; ++j) {  // images_ become the weights of the changes of y
            images_[j] = roots_[j] * solution_[j];
            sum += images_[j];
        }
        for (Index f = 0; f < n_; ++f) {
            const double slope = dual_ ? dot(images_.data(), &changes_(f, 0), count_) - sum * mean_value_[f]
                                       : dot(solution_.data(), &cross_(f, 0), m_);
            fitted[f] = first_[f] + (mean_value_[f] - slope);
        }
    }

  private:
    Index k_, m_, n_;
    bool dual_;
    Weights weights_;
    double unit_ = 1, bandwidth_ = 1, epsilon_ = 0, largest_ = 0;
    Index count_ = 0, size_ = 0;  // points with weight; the size of the system
    const double* first_ = nullptr;
    Matrix differences_;   // from the base: k x m if dual, else m x k
    Matrix gram_;          // k x k, their inner products, if dual
    Matrix rows_, cross_;  // m x k, R^T, and n x m, products of R with the changes of y, if not
    Matrix system_, factor_, changes_;
    Eigen::ArrayXd w_, roots_, images_, solution_, right_, mean_value_, zeros_, scaled_, counts_;
    std::vector<Index> others_;
};

}  // namespace

void local_estimates(const WeightedPoints& data, const LocalBases& bases, ConstMatrixView factors,
                     ConstMatrixView gammas, MatrixView fitted, const Execution& execution) {
    const Index n = data.values.cols(), k = bases.indices.cols() - (bases.left_out.size() > 0 ? 1 : 0);
    parallel_for(
        bases.indices.rows(), 8, execution, [&] { return Estimates(k, data.points.cols(), n); },
        [&](Index begin, Index end, Estimates& estimates, Region& region) {
            for (Index i = begin; i < end; ++i) {
                estimates.start(data, bases, i, region);
                double* out = fitted.row(i).data();
                for (Index f = 0; f < factors.size(); ++f) {
                    estimates.weigh(factors.data()[f], region);
                    for (Index g = 0; g < gammas.size(); ++g, out += n)
                        estimates.estimate(gammas.data()[g], out, region);
                    region.checkpoint();
                }
            }
        });
}

}  // namespace idm
