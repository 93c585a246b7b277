#include "symmetric.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace idm {
namespace {

using Packet = Eigen::internal::packet_traits<double>::type;
constexpr Index lanes = Eigen::internal::packet_traits<double>::size;

// out(i, j) = sum_c a(i, c) b(j, c) for `Rows` rows of a and `Columns` of b, with the sums in registers.
template <Index Rows, Index Columns>
void dot_block(const double* a, const double* b, Index length, Index stride, double out[Rows][Columns]) {
    using namespace Eigen::internal;
    Packet sums[Rows][Columns];
    for (Index i = 0; i < Rows; ++i) {
        for (Index j = 0; j < Columns; ++j) sums[i][j] = pset1<Packet>(0.0);
    }
    Index c = 0;
    for (; c + lanes <= length; c += lanes) {
        Packet right[Columns];
        for (Index j = 0; j < Columns; ++j) right[j] = ploadu<Packet>(b + j * stride + c);
        for (Index i = 0; i < Rows; ++i) {
            const Packet left = ploadu<Packet>(a + i * stride + c);
            for (Index j = 0; j < Columns; ++j) sums[i][j] = pmadd(left, right[j], sums[i][j]);
        }
    }
    for (Index i = 0; i < Rows; ++i) {
        for (Index j = 0; j < Columns; ++j) {
            out[i][j] = predux(sums[i][j]);
            for (Index r = c; r < length; ++r) out[i][j] += a[i * stride + r] * b[j * stride + r];
        }
    }
}

}  // namespace

double dot(const double* a, const double* b, Index n) {
    // Four quarters as rows of their own, so that the sums do not wait for each other.
    const Index quarter = n / 4 / lanes * lanes;
    double sum = 0;
    if (quarter > 0) {
        using namespace Eigen::internal;
        Packet sums[4];
        for (Packet& s : sums) s = pset1<Packet>(0.0);
        for (Index c = 0; c < quarter; c += lanes) {
            for (Index q = 0; q < 4; ++q) {
                sums[q] = pmadd(ploadu<Packet>(a + q * quarter + c), ploadu<Packet>(b + q * quarter + c), sums[q]);
            }
        }
        sum = predux(padd(padd(sums[0], sums[1]), padd(sums[2], sums[3])));
    }
    for (Index c = 4 * quarter; c < n; ++c) sum += a[c] * b[c];
    return sum;
}

namespace {

// The block of `Rows` rows from i, against all rows up to the diagonal, in blocks of three.
template <Index Rows>
void gram_rows(const double* rows, Index i, Index length, Index stride, double* gram, Index gram_stride) {
    const double* a = rows + i * stride;
    const Index n = i + Rows;
    const auto store = [&](Index j, Index columns, const double* out, Index out_stride) {
        for (Index r = 0; r < Rows; ++r) {
            for (Index c = 0; c < columns; ++c) gram[(i + r) * gram_stride + j + c] = out[r * out_stride + c];
        }
    };
    Index j = 0;
    for (; j + 3 <= n; j += 3) {
        double out[Rows][3];
        dot_block<Rows, 3>(a, rows + j * stride, length, stride, out);
        store(j, 3, out[0], 3);
    }
    for (; j < n; ++j) {
        double out[Rows][1];
        dot_block<Rows, 1>(a, rows + j * stride, length, stride, out);
        store(j, 1, out[0], 1);
    }
}

// Householder tridiagonalisation. On return: diagonal d, off-diagonal e (e[i] between i and i + 1), and the
// product of the reflections, transposed, as the rows of z.
void tridiagonalise(double* a, Index n, Index stride, double* d, double* e, double* z, Index z_stride, Region& region) {
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < i; ++j) a[j * stride + i] = a[i * stride + j];
    }
    for (Index i = 0; i + 2 < n; ++i) {
        double* v = a + i * stride + i + 1;  // the reflection's vector replaces row i
        const Index rest = n - i - 1;
        const double norm = std::sqrt(dot(v, v, rest));
        const double tail = dot(v + 1, v + 1, rest - 1);
        if (tail == 0 || norm == 0) {
            e[i] = v[0];
            std::fill(v, v + rest, 0.0);
            continue;
        }
        e[i] = v[0] > 0 ? -norm : norm;
        v[0] -= e[i];
        // Scaled such that H = I - v v^T.
        const double scale = std::sqrt(2 / (v[0] * v[0] + tail));
        for (Index j = 0; j < rest; ++j) v[j] *= scale;
        double* p = e + i + 1;  // e beyond i is free as scratch
        double* sub = a + (i + 1) * stride + i + 1;
        for (Index r = 0; r < rest; ++r) p[r] = dot(sub + r * stride, v, rest);
        const double half = 0.5 * dot(v, p, rest);
        for (Index r = 0; r < rest; ++r) p[r] -= half * v[r];
        for (Index r = 0; r < rest; ++r) {
            double* row = sub + r * stride;
            const double vr = v[r], pr = p[r];
            for (Index c = 0; c < rest; ++c) row[c] -= vr * p[c] + pr * v[c];
        }
        region.checkpoint_after(rest * rest);
    }
    if (n > 1) e[n - 2] = a[(n - 2) * stride + n - 1];
    for (Index i = 0; i < n; ++i) {
        d[i] = a[i * stride + i];
        double* row = z + i * z_stride;
        std::fill(row, row + n, 0.0);
        row[i] = 1;
    }
    for (Index i = n - 3; i >= 0; --i) {
        const double* v = a + i * stride + i + 1;
        const Index rest = n - i - 1;
        for (Index r = i + 1; r < n; ++r) {
            double* row = z + r * z_stride + i + 1;
            const double s = dot(row, v, rest);
            for (Index c = 0; c < rest; ++c) row[c] -= s * v[c];
        }
        region.checkpoint_after(rest * rest);
    }
}

// Implicit QL with Wilkinson's shift on a tridiagonal matrix; rotations act on pairs of rows of z.
void diagonalise(double* d, double* e, Index n, double* z, Index z_stride, Region& region) {
    const double precision = std::numeric_limits<double>::epsilon();
    e[n - 1] = 0;
    for (Index l = 0; l < n; ++l) {
        for (int iteration = 0; iteration < 60; ++iteration) {
            Index m = l;
            while (m + 1 < n && std::abs(e[m]) > precision * (std::abs(d[m]) + std::abs(d[m + 1]))) ++m;
            if (m == l) break;
            region.checkpoint_after((m - l) * n);
            double g = (d[l + 1] - d[l]) / (2 * e[l]);
            double r = std::sqrt(g * g + 1);
            g = d[m] - d[l] + e[l] / (g + std::copysign(r, g));
            double s = 1, c = 1, p = 0;
            Index i = m - 1;
            for (; i >= l; --i) {
                const double f = s * e[i], b = c * e[i];
                r = std::sqrt(f * f + g * g);
                e[i + 1] = r;
                if (r == 0) {
                    d[i + 1] -= p;
                    e[m] = 0;
                    break;
                }
                s = f / r;
                c = g / r;
                g = d[i + 1] - p;
                const double t = (d[i] - g) * s + 2 * c * b;
                p = s * t;
                d[i + 1] = g + p;
                g = c * t - b;
                double *upper = z + i * z_stride, *lower = upper + z_stride;
                for (Index k = 0; k < n; ++k) {
                    const double u = upper[k], v = lower[k];
                    lower[k] = s * u + c * v;
                    upper[k] = c * u - s * v;
                }
            }
            if (r == 0 && i >= l) continue;
            d[l] -= p;
            e[l] = g;
            e[m] = 0;
        }
    }
}

}  // namespace

void dots_with_three(const double* a, Index n, const double* b, Index length, Index stride, double* products) {
    Index i = 0;
    for (; i + 3 <= n; i += 3) {
        double out[3][3];
        dot_block<3, 3>(a + i * stride, b, length, stride, out);
        std::copy_n(out[0], 9, products + 3 * i);
    }
    for (; i < n; ++i) {
        double out[1][3];
        dot_block<1, 3>(a + i * stride, b, length, stride, out);
        std::copy_n(out[0], 3, products + 3 * i);
    }
}

void gram_lower(const double* rows, Index n, Index length, Index stride, double* gram, Index gram_stride,
                Region& region) {
    Index i = 0;
    for (; i + 4 <= n; i += 4) {
        gram_rows<4>(rows, i, length, stride, gram, gram_stride);
        region.checkpoint_after(4 * i * length);
    }
    for (; i < n; ++i) gram_rows<1>(rows, i, length, stride, gram, gram_stride);
}

bool cholesky(double* matrix, Index n, Index stride, Region& region) {
    // L(i, j) = (A(i, j) - sum_c L(i, c) L(j, c)) / L(j, j), in blocks of rows by blocks of columns.
    constexpr Index n_rows = 4, n_columns = 3;
    for (Index i = 0; i < n; i += n_rows) {
        const Index rows = std::min(n_rows, n - i);
        double* a = matrix + i * stride;
        for (Index j = 0; j < i; j += n_columns) {
            const Index columns = std::min(n_columns, i - j);
            const double* b = matrix + j * stride;
            double sums[n_rows][n_columns];
            if (rows == n_rows && columns == n_columns) {
                dot_block<n_rows, n_columns>(a, b, j, stride, sums);
            } else {
                for (Index r = 0; r < rows; ++r) {
                    for (Index c = 0; c < columns; ++c) sums[r][c] = dot(a + r * stride, b + c * stride, j);
                }
            }
            for (Index r = 0; r < rows; ++r) {
                double* row = a + r * stride + j;
                for (Index c = 0; c < columns; ++c) {
                    double sum = row[c] - sums[r][c];
                    for (Index p = 0; p < c; ++p) sum -= row[p] * b[c * stride + j + p];
                    row[c] = sum / b[c * stride + j + c];
                }
            }
        }
        for (Index r = 0; r < rows; ++r) {
            double* row = a + r * stride;
            for (Index j = i; j < i + r; ++j) {
                row[j] = (row[j] - dot(row, matrix + j * stride, j)) / matrix[j * stride + j];
            }
            const double pivot = row[i + r] - dot(row, row, i + r);
            if (!(pivot > 0)) return false;
            row[i + r] = std::sqrt(pivot);
        }
        region.checkpoint_after(rows * i * i);
    }
    return true;
}

void cholesky_solve(const double* factor, Index n, Index stride, double* z) {
    for (Index i = 0; i < n; ++i) z[i] = (z[i] - dot(factor + i * stride, z, i)) / factor[i * stride + i];
    for (Index i = n - 1; i >= 0; --i) {
        const double* row = factor + i * stride;
        z[i] /= row[i];
        for (Index j = 0; j < i; ++j) z[j] -= z[i] * row[j];
    }
}

void symmetric_eigen(double* matrix, Index n, Index stride, double* values, double* vectors, Index vector_stride,
                     double* scratch, Region& region) {
    // In units of the largest entry, so that squares neither overflow nor vanish.
    double unit = 0;
    for (Index i = 0; i < n; ++i) unit = std::max(unit, matrix[i * stride + i]);
    const double inverse = unit > 0 ? 1 / unit : 1;
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j <= i; ++j) matrix[i * stride + j] *= inverse;
    }
    tridiagonalise(matrix, n, stride, values, scratch, vectors, vector_stride, region);
    diagonalise(values, scratch, n, vectors, vector_stride, region);
    for (Index i = 0; i < n; ++i) values[i] *= unit;
    for (Index i = 0; i + 1 < n; ++i) {
        const Index largest = std::max_element(values + i, values + n) - values;
        if (largest == i) continue;
        std::swap(values[i], values[largest]);
        std::swap_ranges(vectors + i * vector_stride, vectors + i * vector_stride + n,
                         vectors + largest * vector_stride);
    }
}

}  // namespace idm
