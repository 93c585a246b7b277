#include "idm/kernel.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace idm {
namespace {

constexpr Index n_parts = 16;  // of the rows that are transposed side by side

// The kernel of one row, longer than k by what makes it whole packets: Eigen's exp rounds differently beyond the last
// whole packet, and equal distances must give equal values.
Eigen::ArrayXd row_buffer(Index k) { return Eigen::ArrayXd::Zero((k + 7) / 8 * 8); }

// exp(-d_ij^2 / (2 eps)) for the k neighbours of point i.
void kernel_row(ConstMatrixView distances, Index i, double epsilon, Eigen::ArrayXd& values) {
    std::copy_n(distances.row(i).data(), distances.cols(), values.data());
    values = (values.square() * (-0.5 / epsilon)).exp();
}

// Scatters entries of J to the rows of J^T. The rows of J are split in parts; each part counts its entries per column,
// then writes them where those of the parts before it end. So entries come by increasing row of J, whatever thread
// does which part.
class Scatter {
  public:
    Scatter(Index n, Index k, const Execution& execution)
        : n_(n), k_(k), part_size_((n + n_parts - 1) / n_parts), execution_(execution), next_(n_parts * n, 0) {}

    struct Workspace {
        Eigen::ArrayXd values;
        std::vector<std::int32_t> places;
    };

    // visit(i, workspace, take) calls take(j) for the columns j of row i whose entries are wanted.
    template <class Visit>
    void count(Visit&& visit) {
        for_rows([&](Index i, Workspace& w, std::int64_t* next) { visit(i, w, [&](Index j) { ++next[j]; }); });
    }

    // Sets the row starts of a matrix that keeps `reserved` entries at the beginning of each row.
    void place(Index reserved, SparseMatrix& matrix) {
        std::vector<std::int64_t> to(n_, reserved);  // lengths of the rows, then where their next entries go
        for (Index p = 0; p < n_parts; ++p) {
            for (Index c = 0; c < n_; ++c) to[c] += next_[p * n_ + c];
        }
        std::int64_t total = 0;
        for (Index c = 0; c < n_; ++c) {
            matrix.row_start[c] = total;
            total += std::exchange(to[c], total + reserved);
        }
        for (Index p = 0; p < n_parts; ++p) {
            for (Index c = 0; c < n_; ++c) to[c] += std::exchange(next_[p * n_ + c], to[c]);
        }
        matrix.row_start[n_] = total;
    }

    // write(i, workspace, to) calls to(j), which returns where the entry goes, as often and in the order of count().
    template <class Write>
    void fill(Write&& write) {
        for_rows([&](Index i, Workspace& w, std::int64_t* next) { write(i, w, [&](Index j) { return next[j]++; }); });
    }

  private:
    template <class Work>
    void for_rows(Work&& work) {
        parallel_for(
            n_, part_size_, execution_, [&] { return Workspace{row_buffer(k_), std::vector<std::int32_t>(k_)}; },
            [&](Index begin, Index end, Workspace& w, Region& region) {
                for (Index i = begin; i < end; ++i) {
                    work(i, w, next_.data() + begin / part_size_ * n_);
                    region.checkpoint();
                }
            });
    }

    Index n_, k_, part_size_;
    const Execution& execution_;
    std::vector<std::int64_t> next_;  // per part and column: the count, then where the next entry goes
};

// J^T.
SparseMatrix reversed(ConstIndexMatrixView indices, ConstMatrixView distances, double epsilon,
                      const Execution& execution) {
    const Index n = indices.rows(), k = indices.cols();
    Scatter scatter(n, k, execution);
    scatter.count([&](Index i, Scatter::Workspace&, auto&& take) {
        for (Index j = 0; j < k; ++j) take(indices(i, j));
    });
    SparseMatrix result(n, n);
    scatter.place(0, result);
    result.allocate_entries();
    scatter.fill([&](Index i, Scatter::Workspace& w, auto&& to) {
        kernel_row(distances, i, epsilon, w.values);
        for (Index j = 0; j < k; ++j) {
            const std::int64_t e = to(indices(i, j));
            result.columns[e] = static_cast<std::int32_t>(i);
            result.values[e] = w.values[j];
        }
    });
    return result;
}

struct Workspace {
    Eigen::ArrayXd values;
    std::vector<std::int32_t> place;  // of each point among the neighbours of the current one, or -1
};

}  // namespace

SparseMatrix nearest_kernel(ConstIndexMatrixView indices, ConstMatrixView distances, double epsilon,
                            const Execution& execution) {
    const Index n = indices.rows(), k = indices.cols();
    std::vector<double> radius(n);
    std::vector<std::int32_t> last(n);
    parallel_for(
        n, 64, execution, [] { return 0; },
        [&](Index begin, Index end, int, Region&) {
            for (Index i = begin; i < end; ++i) {
                radius[i] = distances(i, k - 1);
                last[i] = static_cast<std::int32_t>(indices(i, k - 1));
            }
        });
    // Which neighbours of i do not count it among theirs: their places, by increasing distance. All within half the
    // radius do, by the triangle inequality, and most of the others: a branch would be mispredicted now and then.
    const auto one_sided = [&](Index i, std::vector<std::int32_t>& places) {
        const double* row = distances.row(i).data();
        Index n_far = 0, n_places = 0;
        for (Index j = std::lower_bound(row, row + k, 0.499 * radius[i]) - row; j < k; ++j) {
            places[n_far] = static_cast<std::int32_t>(j);
            n_far += row[j] >= radius[indices(i, j)];
        }
        for (Index f = 0; f < n_far; ++f) {
            const Index other = indices(i, places[f]);
            places[n_places] = places[f];
            n_places += other != i && (row[places[f]] > radius[other] || i > last[other]);
        }
        return n_places;
    };
    Scatter scatter(n, k, execution);
    scatter.count([&](Index i, Scatter::Workspace& w, auto&& take) {
        const Index n_places = one_sided(i, w.places);
        for (Index p = 0; p < n_places; ++p) take(indices(i, w.places[p]));
    });
    SparseMatrix result(n, n);
    scatter.place(k, result);
    result.allocate_entries();
    scatter.fill([&](Index i, Scatter::Workspace& w, auto&& to) {
        kernel_row(distances, i, epsilon, w.values);
        const Index n_places = one_sided(i, w.places);
        for (Index p = 0; p < n_places; ++p) {
            double& value = w.values[w.places[p]];
            value /= 2;
            const std::int64_t e = to(indices(i, w.places[p]));
            result.columns[e] = static_cast<std::int32_t>(i);
            result.values[e] = value;
        }
        std::int32_t* columns = result.columns.get() + result.row_start[i];
        for (Index j = 0; j < k; ++j) columns[j] = static_cast<std::int32_t>(indices(i, j));
        std::copy_n(w.values.data(), k, result.values.get() + result.row_start[i]);
    });
    return result;
}

SparseMatrix symmetric_kernel(ConstIndexMatrixView indices, ConstMatrixView distances, double epsilon,
                              const Execution& execution) {
    const Index n = indices.rows(), k = indices.cols();
    const SparseMatrix reverse = reversed(indices, distances, epsilon, execution);

    SparseMatrix result(n, n);
    const auto make_workspace = [&] { return Workspace{row_buffer(k), std::vector<std::int32_t>(n, -1)}; };
    // For each row: marks the neighbours, calls work(i, place), and takes the marks back.
    const auto for_rows = [&](auto&& work) {
        parallel_for(n, 64, execution, make_workspace, [&](Index begin, Index end, Workspace& w, Region&) {
            for (Index i = begin; i < end; ++i) {
                for (Index j = 0; j < k; ++j) w.place[indices(i, j)] = static_cast<std::int32_t>(j);
                work(i, w);
                for (Index j = 0; j < k; ++j) w.place[indices(i, j)] = -1;
            }
        });
    };
    for_rows([&](Index i, Workspace& w) {
        std::int64_t count = k;
        for (std::int64_t e = reverse.row_start[i]; e < reverse.row_start[i + 1]; ++e) {
            count += w.place[reverse.columns[e]] < 0;
        }
        result.row_start[i + 1] = count;
    });
    for (Index i = 0; i < n; ++i) result.row_start[i + 1] += result.row_start[i];
    result.allocate_entries();
    for_rows([&](Index i, Workspace& w) {
        std::int32_t* columns = result.columns.get() + result.row_start[i];
        double* values = result.values.get() + result.row_start[i];
        kernel_row(distances, i, epsilon, w.values);
        for (Index j = 0; j < k; ++j) {
            columns[j] = static_cast<std::int32_t>(indices(i, j));
            values[j] = w.values[j] / 2;
        }
        Index to = k;
        for (std::int64_t e = reverse.row_start[i]; e < reverse.row_start[i + 1]; ++e) {
            const std::int32_t column = reverse.columns[e], place = w.place[column];
            if (place >= 0) {
                values[place] += reverse.values[e] / 2;
            } else {
                columns[to] = column;
                values[to++] = reverse.values[e] / 2;
            }
        }
    });
    return result;
}

void kernel_dimensions(ConstMatrixView distances, double epsilon, MatrixView dimensions, const Execution& execution) {
    const Index k = distances.cols();
    parallel_for(
        distances.rows(), 64, execution, [&] { return row_buffer(k); },
        [&](Index begin, Index end, Eigen::ArrayXd& weights, Region&) {
            for (Index i = begin; i < end; ++i) {
                kernel_row(distances, i, epsilon, weights);
                double sum = 0, squares = 0;
                for (Index j = 0; j < k; ++j) {
                    sum += weights[j];
                    squares += weights[j] * (distances(i, j) * distances(i, j));
                }
                dimensions(i, 0) = squares / (epsilon * sum);
            }
        });
}

}  // namespace idm
