#include "idm/normalization.hpp"

#include <cmath>
#include <vector>

namespace idm {

void normalize(SparseMatrix& matrix, double alpha, MatrixView sums, const Execution& execution) {
    const Index n = matrix.n_rows;
    const std::int64_t* row_start = matrix.row_start.get();
    const std::int32_t* columns = matrix.columns.get();
    double* values = matrix.values.get();
    const auto for_rows = [&](auto&& row) {
        parallel_for(
            n, 64, execution, [] { return 0; },
            [&](Index begin, Index end, int, Region&) {
                for (Index i = begin; i < end; ++i) row(i, row_start[i], row_start[i + 1]);
            });
    };
    std::vector<double> factors(n);  // D^-alpha, then D^-alpha / Dh
    for_rows([&](Index i, std::int64_t begin, std::int64_t end) {
        double sum = 0;
        for (std::int64_t e = begin; e < end; ++e) sum += values[e];
        sums(i, 0) = sum;
        factors[i] = std::pow(sum, -alpha);
    });
    for_rows([&](Index i, std::int64_t begin, std::int64_t end) {
        double sum = 0;
        for (std::int64_t e = begin; e < end; ++e) sum += values[e] * factors[columns[e]];
        sums(i, 1) = std::sqrt(factors[i] * sum);
    });
    for (Index i = 0; i < n; ++i) factors[i] /= sums(i, 1);
    for_rows([&](Index i, std::int64_t begin, std::int64_t end) {
        for (std::int64_t e = begin; e < end; ++e) values[e] *= factors[i] * factors[columns[e]];
    });
}

}  // namespace idm
