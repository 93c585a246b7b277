#include "repeats.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace idm {
namespace {

// Equal rows have equal hashes: 0 is added because -0 equals 0.
std::uint64_t hash(const double* row, Index m) {
    std::uint64_t h = 0x9e3779b97f4a7c15;
    for (Index c = 0; c < m; ++c) {
        const double value = row[c] + 0.0;
        std::uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        h = (h ^ bits) * 0xff51afd7ed558ccd;
        h ^= h >> 32;
    }
    return h;
}

}  // namespace

Repeats::Repeats(ConstMatrixView points, Region& region) : group(points.rows()), rank(points.rows(), 0) {
    const Index n = points.rows(), m = points.cols();
    std::vector<std::pair<std::uint64_t, std::int32_t>> order(n);
    for (Index i = 0; i < n; ++i) {
        order[i] = {hash(points.row(i).data(), m), static_cast<std::int32_t>(i)};
        if (i % 256 == 0) region.checkpoint();
    }
    std::sort(order.begin(), order.end());
    // group: first the row that each one repeats, which is itself where only the hash is that of another.
    for (Index p = 0, first = 0; p < n; ++p) {
        if (order[p].first != order[first].first) first = p;
        const std::int32_t i = order[p].second, earlier = order[first].second;
        const double *a = points.row(i).data(), *b = points.row(earlier).data();
        group[i] = std::equal(a, a + m, b) ? earlier : i;
        if (p % 256 == 0) region.checkpoint();
    }
    std::vector<std::int32_t> counts;
    for (Index i = 0; i < n; ++i) {
        if (group[i] == i) {
            group[i] = static_cast<std::int32_t>(counts.size());
            counts.push_back(0);
        } else {
            group[i] = group[group[i]];  // of a row before this one, so it is a number by now
        }
        rank[i] = counts[group[i]]++;
        most = std::max<Index>(most, counts[group[i]]);
    }
}

}  // namespace idm
