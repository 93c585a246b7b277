#include "idm/orthogonalization.hpp"

#include <algorithm>
#include <vector>

namespace idm {

void project_out(ConstMatrixView basis, Index d, MatrixView block, const Execution& execution) {
    constexpr Index most_parts = 64;
    const Index n = basis.rows(), part = std::max<Index>(128, (n + most_parts - 1) / most_parts);
    std::vector<Matrix> sums((n + part - 1) / part);  // V^T block, a part of the rows each
    const auto for_parts = [&](auto&& work) {
        parallel_for(
            n, part, execution, [] { return 0; },
            [&](Index begin, Index end, int, Region&) { work(begin / part, begin, end - begin); });
    };
    for_parts([&](Index p, Index first, Index count) {
        sums[p].noalias() = basis.block(first, 0, count, d).transpose() * block.middleRows(first, count);
    });
    Matrix sum = sums[0];
    for (std::size_t p = 1; p < sums.size(); ++p) sum += sums[p];
    for_parts([&](Index, Index first, Index count) {
        block.middleRows(first, count).noalias() -= basis.block(first, 0, count, d) * sum;
    });
}

}  // namespace idm
