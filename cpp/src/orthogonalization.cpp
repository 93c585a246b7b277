#include "idm/orthogonalization.hpp"

#include <algorithm>
#include <vector>

namespace idm {
namespace {

// Products with a few columns stream V, and are bound by that: a general matrix product packs V first.
template <int width>
struct Columns {
    static constexpr Index group = 4;  // rows at a time
    using Row = Eigen::Array<double, 1, width>;
    using RowView = Eigen::Map<Row>;
    using ConstRowView = Eigen::Map<const Row>;

    // sums (d x width) += V^T block
    static void inner(const double* v, Index v_stride, Index d, const double* block, Index b_stride, Index n_rows,
                      double* sums) {
        Index i = 0;
        for (; i + group <= n_rows; i += group, v += group * v_stride, block += group * b_stride) {
            const double *v1 = v + v_stride, *v2 = v1 + v_stride, *v3 = v2 + v_stride;
            const Row b0 = ConstRowView(block), b1 = ConstRowView(block + b_stride),
                      b2 = ConstRowView(block + 2 * b_stride), b3 = ConstRowView(block + 3 * b_stride);
            for (Index j = 0; j < d; ++j) {
                RowView(sums + j * width) += (v[j] * b0 + v1[j] * b1) + (v2[j] * b2 + v3[j] * b3);
            }
        }
        for (; i < n_rows; ++i, v += v_stride, block += b_stride) {
            const Row b = ConstRowView(block);
            for (Index j = 0; j < d; ++j) RowView(sums + j * width) += v[j] * b;
        }
    }

    // block -= V sums
    static void outer(const double* v, Index v_stride, Index d, const double* sums, double* block, Index b_stride,
                      Index n_rows) {
        Index i = 0;
        for (; i + group <= n_rows; i += group, v += group * v_stride, block += group * b_stride) {
            const double *v1 = v + v_stride, *v2 = v1 + v_stride, *v3 = v2 + v_stride;
            Row b0 = Row::Zero(), b1 = b0, b2 = b0, b3 = b0;
            for (Index j = 0; j < d; ++j) {
                const Row s = ConstRowView(sums + j * width);
                b0 += v[j] * s;
                b1 += v1[j] * s;
                b2 += v2[j] * s;
                b3 += v3[j] * s;
            }
            RowView(block) -= b0;
            RowView(block + b_stride) -= b1;
            RowView(block + 2 * b_stride) -= b2;
            RowView(block + 3 * b_stride) -= b3;
        }
        for (; i < n_rows; ++i, v += v_stride, block += b_stride) {
            Row b = Row::Zero();
            for (Index j = 0; j < d; ++j) b += v[j] * ConstRowView(sums + j * width);
            RowView(block) -= b;
        }
    }
};

}  // namespace

void project_out(ConstMatrixView basis, Index d, MatrixView block, const Execution& execution) {
    constexpr Index most_parts = 64;
    const Index n = basis.rows(), part = std::max<Index>(128, (n + most_parts - 1) / most_parts);
    std::vector<Matrix> sums((n + part - 1) / part);  // V^T block, a part of the rows each
    const auto for_parts = [&](auto&& work) {
        parallel_for(
            n, part, execution, [] { return 0; },
            [&](Index begin, Index end, int, Region&) { work(begin / part, begin, end - begin); });
    };
    const auto of_columns = [&](auto columns, Index first_column, Index width) {
        using C = decltype(columns);
        for_parts([&](Index p, Index first, Index count) {
            sums[p] = Matrix::Zero(d, width);
            C::inner(basis.row(first).data(), basis.cols(), d, block.row(first).data() + first_column, block.cols(),
                     count, sums[p].data());
        });
        Matrix sum = sums[0];
        for (std::size_t p = 1; p < sums.size(); ++p) sum += sums[p];
        for_parts([&](Index, Index first, Index count) {
            C::outer(basis.row(first).data(), basis.cols(), d, sum.data(), block.row(first).data() + first_column,
                     block.cols(), count);
        });
    };
    Index c = 0;
    for (; c + 8 <= block.cols(); c += 8) of_columns(Columns<8>{}, c, 8);
    for (; c < block.cols(); ++c) of_columns(Columns<1>{}, c, 1);
}

}  // namespace idm
