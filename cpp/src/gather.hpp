// Differences of neighbours from a base point, a row per coordinate.
#pragma once

#include "idm/eigen.hpp"
#include "idm/parallel.hpp"

namespace idm {

// out(c, j) = scale_j ((x_j(c) - base(c)) - shift(c)) for the rows x_j = points(indices[j]), j < n, c < m; rows of
// `out` are `stride` apart. Transposed in registers, a square block at a time.
template <class Scale>
void gather_coordinates(ConstMatrixView points, const Index* indices, Index n, const double* base, const double* shift,
                        Scale&& scale, double* out, Index stride, Region& region) {
    using namespace Eigen::internal;
    using Packet = packet_traits<double>::type;
    constexpr Index lanes = packet_traits<double>::size;
    const Index m = points.cols();
    const auto one = [&](Index c, Index j) {
        out[c * stride + j] = scale(j) * (points(indices[j], c) - base[c] - shift[c]);
    };
    Index j = 0;
    for (; j + lanes <= n; j += lanes) {
        if (j % 64 == 0) region.checkpoint_after(64 * m);
        Index c = 0;
        for (; c + lanes <= m; c += lanes) {
            PacketBlock<Packet, lanes> block;
            for (Index l = 0; l < lanes; ++l) {
                const Packet x = ploadu<Packet>(points.data() + indices[j + l] * m + c);
                const Packet dx = psub(psub(x, ploadu<Packet>(base + c)), ploadu<Packet>(shift + c));
                block.packet[l] = pmul(pset1<Packet>(scale(j + l)), dx);
            }
            ptranspose(block);
            for (Index l = 0; l < lanes; ++l) pstoreu(out + (c + l) * stride + j, block.packet[l]);
        }
        for (; c < m; ++c) {
            for (Index l = 0; l < lanes; ++l) one(c, j + l);
        }
    }
    for (; j < n; ++j) {
        for (Index c = 0; c < m; ++c) one(c, j);
    }
}

}  // namespace idm
