#include "idm/variable_bandwidth.hpp"

#include <algorithm>
#include <vector>

#include "local_scale.hpp"

namespace idm {
namespace {

template <class Work>
void for_rows(Index n, const Execution& execution, Work&& work) {
    parallel_for(
        n, 64, execution, [] { return 0; },
        [&](Index begin, Index end, int, Region& region) {
            for (Index i = begin; i < end; ++i) work(i);
            region.checkpoint();
        });
}

// Of the positive ones the middle, or the upper of two; 1 if there are none.
double median_of_positive(std::vector<double> values) {
    values.erase(std::remove_if(values.begin(), values.end(), [](double v) { return !(v > 0); }), values.end());
    if (values.empty()) return 1;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace

LocalScales local_scales(ConstIndexMatrixView indices, ConstMatrixView lengths, Index n_near, MatrixView scales,
                         const Execution& execution) {
    const Index n = lengths.rows(), last = bridged(n_near, lengths.cols());
    std::vector<double> sizes(n);
    for_rows(n, execution,
             [&](Index i) { sizes[i] = root_mean_square(n_near, [&](Index j) { return lengths(i, j); }); });
    const double unit = median_of_positive(sizes);
    for (Index i = 0; i < n; ++i) scales(i, 0) = first_scale(sizes[i], unit);
    for_rows(n, execution, [&](Index i) {
        const double a = scales(i, 0);
        sizes[i] =
            root_mean_square(n_near, [&](Index j) { return lengths(i, j) / std::sqrt(a * scales(indices(i, j), 0)); });
    });
    const double reach = median_of_positive(std::move(sizes));
    for (const Index c : {0, 1}) {
        for (Index i = 0; i < n; ++i) {
            scales(i, c + 1) = bridged_scale(scales(i, c), lengths(i, last), scales(indices(i, last), c), reach);
        }
    }
    return {{scales.data(), n, 3}, unit, reach, n_near};
}

void scale_lengths(ConstIndexMatrixView indices, ConstMatrixView lengths, ConstMatrixView rho, MatrixView scaled,
                   const Execution& execution) {
    std::vector<double> factors(lengths.rows());
    for (Index i = 0; i < lengths.rows(); ++i) factors[i] = 1 / std::sqrt(rho(i, 0));
    for_rows(lengths.rows(), execution, [&](Index i) {
        for (Index j = 0; j < lengths.cols(); ++j) {
            scaled(i, j) = lengths(i, j) * (factors[i] * factors[indices(i, j)]);
        }
    });
}

}  // namespace idm
