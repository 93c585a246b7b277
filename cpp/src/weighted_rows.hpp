// A weighted sum of rows of a matrix, in an order that depends on nothing but its arguments.
#pragma once

#include <cstdint>

#include "idm/eigen.hpp"

namespace idm {

// out[0..width) = sum_e weights[e] x(columns[e], first..first + width), for `count` entries. The sums stay in
// registers; those of even and of odd entries are apart, so that an addition need not wait for the one before.
template <int width>
inline void weighted_rows_tile(const std::int32_t* columns, const double* weights, std::int64_t count, const double* x,
                               Index stride, double* out) {
    double even[width] = {}, odd[width] = {};
    std::int64_t e = 0;
    for (; e + 2 <= count; e += 2) {
        const double *row = x + columns[e] * stride, *next = x + columns[e + 1] * stride;
        const double weight = weights[e], weight_of_next = weights[e + 1];
        for (int c = 0; c < width; ++c) even[c] += weight * row[c];
        for (int c = 0; c < width; ++c) odd[c] += weight_of_next * next[c];
    }
    for (; e < count; ++e) {
        const double* row = x + columns[e] * stride;
        for (int c = 0; c < width; ++c) even[c] += weights[e] * row[c];
    }
    for (int c = 0; c < width; ++c) out[c] = even[c] + odd[c];
}

// Four sums for one column, so that an addition need not wait for the one before.
template <>
inline void weighted_rows_tile<1>(const std::int32_t* columns, const double* weights, std::int64_t count,
                                  const double* x, Index stride, double* out) {
    double sums[4] = {};
    std::int64_t e = 0;
    for (; e + 4 <= count; e += 4) {
        for (int l = 0; l < 4; ++l) sums[l] += weights[e + l] * x[columns[e + l] * stride];
    }
    for (int l = 0; e < count; ++e, ++l) sums[l] += weights[e] * x[columns[e] * stride];
    *out = (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

// out = sum_e weights[e] x.row(columns[e]); x has `stride` columns.
inline void weighted_rows(const std::int32_t* columns, const double* weights, std::int64_t count, const double* x,
                          Index stride, double* out) {
    Index c = 0;
    for (; c + 16 <= stride; c += 16) weighted_rows_tile<16>(columns, weights, count, x + c, stride, out + c);
    for (; c + 8 <= stride; c += 8) weighted_rows_tile<8>(columns, weights, count, x + c, stride, out + c);
    for (; c + 4 <= stride; c += 4) weighted_rows_tile<4>(columns, weights, count, x + c, stride, out + c);
    if (c < stride && stride >= 4) {  // four at once, of which some are computed again
        c = stride - 4;
        weighted_rows_tile<4>(columns, weights, count, x + c, stride, out + c);
        return;
    }
    for (; c < stride; ++c) weighted_rows_tile<1>(columns, weights, count, x + c, stride, out + c);
}

}  // namespace idm
