// Least squares by a rank-revealing factorisation, on buffers that are made once.
#pragma once

#include <vector>

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"

namespace idm {

// The solution of least norm of min |A d - y|, where A is n x m and may be of any rank: QR with column
// pivoting, and a second QR of what it leaves if the rank is less than m.
class LeastSquares {
  public:
    LeastSquares(Index n_max, Index m);

    // `columns` (m rows of n numbers, `stride` apart) are the columns of A and are overwritten, as are the
    // right-hand sides (n_rhs rows of n numbers). Solutions are n_rhs rows of m numbers. Columns whose remainder has a
    // norm of at most `noise` count as dependent on the others.
    void solve(double* columns, Index n, Index stride, double* rhs, Index n_rhs, Index rhs_stride, double noise,
               double* solutions, Region& region);

  private:
    Index factorise(double* columns, Index n, Index stride, double* rhs, Index n_rhs, Index rhs_stride, double noise,
                    Region& region);

    Index m_;
    std::vector<Index> order_;  // the pivots
    std::vector<double> norms_,
        exact_;       // squared norms of what remains of the columns, and when last computed
    Matrix reduced_;  // rank x m
    std::vector<double> scales_, solution_;
};

}  // namespace idm
