// Compressed rows whose lengths show only when they are filled.
#pragma once

#include <algorithm>
#include <vector>

#include "idm/parallel.hpp"
#include "idm/sparse_matrix.hpp"

namespace idm {

// fill(i, workspace, row) calls row.add(column, value) for the entries of row i, in their order.
template <class MakeWorkspace, class Fill>
SparseMatrix collect_rows(Index n_rows, Index n_columns, const Execution& execution, MakeWorkspace&& make_workspace,
                          Fill&& fill) {
    constexpr Index block = 64;
    struct Block {
        std::vector<std::int32_t> columns;
        std::vector<double> values;
        void add(std::int32_t column, double value) {
            columns.push_back(column);
            values.push_back(value);
        }
    };
    std::vector<Block> blocks((n_rows + block - 1) / block);
    SparseMatrix result(n_rows, n_columns);
    parallel_for(n_rows, block, execution, make_workspace,
                 [&](Index begin, Index end, auto& workspace, Region& region) {
                     Block& rows = blocks[begin / block];
                     for (Index i = begin; i < end; ++i) {
                         const std::size_t before = rows.columns.size();
                         fill(i, workspace, rows);
                         result.row_start[i + 1] = static_cast<std::int64_t>(rows.columns.size() - before);
                         region.checkpoint();
                     }
                 });
    for (Index i = 0; i < n_rows; ++i) result.row_start[i + 1] += result.row_start[i];
    result.allocate_entries();
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        const std::int64_t first = result.row_start[static_cast<Index>(b) * block];
        std::copy(blocks[b].columns.begin(), blocks[b].columns.end(), result.columns.get() + first);
        std::copy(blocks[b].values.begin(), blocks[b].values.end(), result.values.get() + first);
    }
    return result;
}

}  // namespace idm
