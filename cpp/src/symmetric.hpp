// Dense symmetric kernels on row-major buffers that belong to the caller: no allocation, a fixed order of
// operations. Rows are `stride` apart. What takes long with large matrices stops at checkpoints.
#pragma once

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"

namespace idm {

// sum_c a[c] b[c]
double dot(const double* a, const double* b, Index n);

// products(i, j) = sum_c a(i, c) b(j, c) for n rows of a and three of b, all `stride` apart.
void dots_with_three(const double* a, Index n, const double* b, Index length, Index stride, double* products);

// The lower triangle of rows rows^T: gram(i, j) = sum_c rows(i, c) rows(j, c) for j <= i < n, c < length.
void gram_lower(const double* rows, Index n, Index length, Index stride, double* gram, Index gram_stride,
                Region& region);

// Replaces a symmetric n x n matrix (lower triangle given) by its Cholesky factor L, in the lower triangle.
// False if it is not positive definite.
bool cholesky(double* matrix, Index n, Index stride, Region& region);

// Solves L L^T z = z in place.
void cholesky_solve(const double* factor, Index n, Index stride, double* z);

// Eigenvalues, largest first, of a positive semi-definite n x n matrix (lower triangle given), and its
// orthonormal eigenvectors as the rows of `vectors`. The matrix is overwritten; `scratch` holds 2 n numbers.
void symmetric_eigen(double* matrix, Index n, Index stride, double* values, double* vectors, Index vector_stride,
                     double* scratch, Region& region);

}  // namespace idm
