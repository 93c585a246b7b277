// Rows that occur more than once.
#pragma once

#include <cstdint>
#include <vector>

#include "idm/parallel.hpp"

namespace idm {

// Of k nearest points, ties by index, a row with k equal rows before it is never one: a search may leave it out.
struct Repeats {
    Repeats(ConstMatrixView points, Region& region);

    std::vector<std::int32_t> group;  // N: which distinct row it is, in the order in which they first occur
    std::vector<std::int32_t> rank;   // N: how many equal rows come before it
    Index most = 0;                   // the largest number of equal rows
};

}  // namespace idm
