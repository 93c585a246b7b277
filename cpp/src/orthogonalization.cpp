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
    constexpr Index most_parts = 64, tile = 32;  // rows of V that stay in cache for all columns of the block
    const Index n = basis.rows(), b = block.cols(), part = std::max<Index>(128, (n + most_parts - 1) / most_parts);
    const auto for_parts = [&](auto&& work) {
        parallel_for(
            n, part, execution, [] { return 0; },
            [&](Index begin, Index end, int, Region&) { work(begin / part, begin, end); });
    };
    // Eight columns of the block at a time, and the rest one by one. Their sums (d x 8 or d x 1) start at c d.
    const auto for_tiles = [&](Index begin, Index end, auto&& work) {
        for (Index row = begin; row < end; row += tile) {
            const double* v = basis.row(row).data();
            double* rows = block.row(row).data();
            const Index count = std::min(tile, end - row);
            Index c = 0;
            for (; c + 8 <= b; c += 8) work(Columns<8>{}, v, rows + c, count, c * d);
            for (; c < b; ++c) work(Columns<1>{}, v, rows + c, count, c * d);
        }
    };
    std::vector<Matrix> sums((n + part - 1) / part);  // V^T block, of a part of the rows each
    for_parts([&](Index p, Index begin, Index end) {
        sums[p] = Matrix::Zero(b, d);
        for_tiles(begin, end, [&](auto columns, const double* v, double* rows, Index count, Index at) {
            columns.inner(v, basis.cols(), d, rows, b, count, sums[p].data() + at);
        });
    });
    for (std::size_t p = 1; p < sums.size(); ++p) sums[0] += sums[p];
    for_parts([&](Index, Index begin, Index end) {
        for_tiles(begin, end, [&](auto columns, const double* v, double* rows, Index count, Index at) {
            columns.outer(v, basis.cols(), d, sums[0].data() + at, rows, b, count);
        });
    });
}

}  // namespace idm
