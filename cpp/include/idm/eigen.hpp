// The only header that includes Eigen, and the array types of every interface.
#pragma once

#define EIGEN_DONT_PARALLELIZE  // our loops over points are the parallel ones
#include <Eigen/Core>

namespace idm {

using Index = Eigen::Index;

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using FloatMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using IndexMatrix = Eigen::Matrix<Index, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Views of C-ordered arrays that belong to the caller.
using MatrixView = Eigen::Map<Matrix>;
using ConstMatrixView = Eigen::Map<const Matrix>;
using IndexMatrixView = Eigen::Map<IndexMatrix>;
using ConstIndexMatrixView = Eigen::Map<const IndexMatrix>;

}  // namespace idm
