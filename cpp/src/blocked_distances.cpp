#include "blocked_distances.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace idm {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr double unit_roundoff = 0x1p-24;  // of float
constexpr double smallest = 1e-37;         // below this, float loses relative precision

// A point in the middle of the data: the median of each coordinate over some of the rows, so that neither an
// offset of all data nor a few outliers cost digits.
Eigen::RowVectorXd middle(ConstMatrixView points) {
    const Index n = points.rows(), n_rows = std::min<Index>(n, 129);
    Eigen::RowVectorXd centre(points.cols());
    std::vector<double> column(n_rows);
    for (Index c = 0; c < points.cols(); ++c) {
        for (Index r = 0; r < n_rows; ++r) column[r] = points(r * (n - 1) / std::max<Index>(1, n_rows - 1), c);
        std::nth_element(column.begin(), column.begin() + n_rows / 2, column.end());
        centre[c] = column[n_rows / 2];
    }
    return centre;
}

double largest_deviation(ConstMatrixView rows, const Eigen::RowVectorXd& centre, const Execution& execution) {
    Eigen::VectorXd largest(rows.rows());
    parallel_for(
        rows.rows(), 64, execution, [] { return 0; },
        [&](Index begin, Index end, int, Region&) {
            for (Index i = begin; i < end; ++i) largest[i] = (rows.row(i) - centre).cwiseAbs().maxCoeff();
        });
    return largest.maxCoeff();
}

// (rows - centre) * factor in single precision, and the squared norms of that.
void round_rows(ConstMatrixView rows, const Eigen::RowVectorXd& centre, double factor, const Execution& execution,
                FloatMatrix& rounded, std::vector<double>& norms) {
    rounded.resize(rows.rows(), rows.cols());
    norms.resize(rows.rows());
    parallel_for(
        rows.rows(), 64, execution, [] { return 0; },
        [&](Index begin, Index end, int, Region&) {
            for (Index i = begin; i < end; ++i) {
                rounded.row(i) = ((rows.row(i) - centre) * factor).cast<float>();
                norms[i] = rounded.row(i).cast<double>().squaredNorm();
            }
        });
}

}  // namespace

BlockedDistances::BlockedDistances(ConstMatrixView points, ConstMatrixView queries, bool self, Index k,
                                   const Execution& execution)
    : points_(points),
      queries_(queries),
      k_(k),
      error_(1.1 * static_cast<double>(points.cols() + 10) * unit_roundoff),
      norms_(points.rows()) {
    const Eigen::RowVectorXd centre = middle(points);
    double scale = largest_deviation(points, centre, execution);
    if (!self) scale = std::max(scale, largest_deviation(queries, centre, execution));
    // A power of two near 1 / scale; smaller deviations than 2^-1000 need not fill the range of float.
    const double factor = scale > 0 ? std::ldexp(1.0, -std::max(std::ilogb(scale), -1000)) : 1.0;
    std::vector<double> point_norms;
    round_rows(points, centre, factor, execution, rounded_points_, point_norms);
    for (Index j = 0; j < points.rows(); ++j) norms_[j] = static_cast<float>((1 - error_) * point_norms[j]);
    if (self) {
        rounded_queries_ = -2 * rounded_points_;
        query_norms_ = std::move(point_norms);
    } else {
        round_rows(queries, centre, -2 * factor, execution, rounded_queries_, query_norms_);
        for (double& norm : query_norms_) norm /= 4;
    }
}

// Covers the errors that grow with |y_i|^2, and those of numbers too small for float.
double BlockedDistances::slack_of(double norm) const {
    return error_ * norm + static_cast<double>(points_.cols() + 10) * smallest;
}

BlockedDistances::Workspace BlockedDistances::workspace() const {
    Workspace w;
    w.products.resize(block_size, std::min(tile_size, points_.rows()));
    w.rows.resize(block_size);
    return w;
}

void BlockedDistances::collect(Index begin, Index end, Workspace& w, Region& region) const {
    screen(begin, end, w, region);
    // Exact distances, for all queries of the block while a few points are in the cache.
    const Index m = points_.cols(), step = std::max<Index>(1, 32768 / m);
    for (Index i = begin; i < end; ++i) w.rows[i - begin].nearest.clear(w.rows[i - begin].size);
    for (Index last = step; last < points_.rows() + step; last += step) {
        for (Index i = begin; i < end; ++i) {
            const double* query = queries_.row(i).data();
            Row& row = w.rows[i - begin];
            for (Index c = row.nearest.size(); c < row.size && row.indices[c] < last; ++c) {
                row.nearest.offer(distance(query, points_.row(row.indices[c]).data(), m), row.indices[c]);
            }
        }
        region.checkpoint();
    }
}

void BlockedDistances::screen(Index begin, Index end, Workspace& w, Region& region) const {
    const Index n = points_.rows();
    for (Row& row : w.rows) {
        row.size = 0;
        row.threshold = infinity;
    }
    for (Index first = 0; first < n; first += tile_size) {
        const Index count = std::min(tile_size, n - first);
        w.products.topLeftCorner(end - begin, count).noalias() =
            rounded_queries_.middleRows(begin, end - begin) * rounded_points_.middleRows(first, count).transpose();
        for (Index i = begin; i < end; ++i) {
            Row& row = w.rows[i - begin];
            append(row, w.products.row(i - begin).data(), first, count);
            const bool first_or_last = row.threshold == infinity || first + count == n;
            // With millions of columns the error bound says nothing, and all points remain candidates.
            if (row.size > (first_or_last ? k_ : 2 * k_) && error_ < 0.05) shrink(row, query_norms_[i], w);
        }
        region.checkpoint();
    }
}

// Adds the points first, ..., first + count - 1 that are not beyond the threshold.
void BlockedDistances::append(Row& row, const float* products, Index first, Index count) const {
    constexpr Index lanes = 16;
    const float* norms = norms_.data() + first;
    const float threshold = row.threshold;
    if (row.size + count > static_cast<Index>(row.values.size())) {
        row.values.resize(row.size + count);
        row.indices.resize(row.size + count);
    }
    float* values = row.values.data();
    std::int32_t* indices = row.indices.data();
    Index size = row.size;
    const auto take = [&](Index j) {
        values[size] = products[j] + norms[j];
        indices[size] = static_cast<std::int32_t>(first + j);
        size += values[size] <= threshold;
    };
    Index j = 0;
    for (; j + lanes <= count; j += lanes) {
        float least = infinity;
        for (Index l = 0; l < lanes; ++l) {
            const float value = products[j + l] + norms[j + l];
            least = value < least ? value : least;
        }
        if (least > threshold) continue;
        for (Index l = 0; l < lanes; ++l) take(j + l);
    }
    for (; j < count; ++j) take(j);
    row.size = size;
}

// Lowers the threshold to what the points seen so far allow, and drops what lies beyond.
void BlockedDistances::shrink(Row& row, double norm, Workspace& w) const {
    // A value that the k smallest do not exceed: the upper end of a bin, or exact where one bin holds too
    // many.
    w.histogram.count(row.values.data(), row.size);
    const int last = w.histogram.bin_of_rank(k_);
    double kth;
    if (w.histogram[last] <= std::max<Index>(16, k_ / 8)) {
        kth = w.histogram.upper_edge(last) + unit_roundoff * norm;
    } else {
        w.values.assign(row.values.begin(), row.values.begin() + row.size);
        std::nth_element(w.values.begin(), w.values.begin() + (k_ - 1), w.values.end());
        kth = static_cast<double>(w.values[k_ - 1]);
    }
    // Points up to there satisfy |y_j|^2 <= 2 |y_i|^2 + 2 d^2 and d^2 <= kth + |y_i|^2 + slack + 2 c |y_j|^2.
    const double slack = slack_of(norm);
    const double squared = (std::max(0.0, kth + norm) + 4 * error_ * norm + slack) / (1 - 4 * error_);
    const double bound = kth + 2 * error_ * (2 * norm + 2 * squared) + 2 * slack;
    row.threshold = std::nextafter(static_cast<float>(bound), infinity);
    Index size = 0;
    for (Index c = 0; c < row.size; ++c) {
        row.values[size] = row.values[c];
        row.indices[size] = row.indices[c];
        size += row.values[c] <= row.threshold;
    }
    row.size = size;
}

}  // namespace idm
