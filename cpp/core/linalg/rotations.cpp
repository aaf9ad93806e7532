#include "core/linalg/rotations.hpp"

#include "core/simd/packets.hpp"

namespace kernsift {

void rotate_columns(double* z, Index stride, Index columns, const Rotation* chain, Index steps) {
  Index done = 0;
  for (; done + kLanes <= columns; done += kLanes, z += kLanes * stride) {
    simd::PacketBlock<Packet, kLanes> tile;
    alignas(Packet) double last[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) last[lane] = z[lane * stride];
    Packet carried = simd::pload<Packet>(last);  // coordinate q of the vectors, still to be rotated
    Index q = 0;
    for (; q + kLanes <= steps; q += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) tile.packet[lane] = load(z + lane * stride + q + 1);
      simd::ptranspose(tile);
      for (int step = 0; step < kLanes; ++step) {
        const Packet c = splat(chain[q + step].c), s = splat(chain[q + step].s), next = tile.packet[step];
        tile.packet[step] = simd::pmadd(c, carried, simd::pmul(s, next));
        carried = simd::psub(simd::pmul(c, next), simd::pmul(s, carried));
      }
      simd::ptranspose(tile);
      for (int lane = 0; lane < kLanes; ++lane) store(z + lane * stride + q, tile.packet[lane]);
    }
    simd::pstore(last, carried);
    for (int lane = 0; lane < kLanes; ++lane) {
      double* x = z + lane * stride;
      x[q] = last[lane];
      for (Index rest = q; rest < steps; ++rest) chain[rest].apply(x[rest], x[rest + 1]);
    }
  }
  for (; done < columns; ++done, z += stride)
    for (Index q = 0; q < steps; ++q) chain[q].apply(z[q], z[q + 1]);
}

void Rotations::rotate_rows(MatrixRef M, Index offset) const {
  if (M.cols() == 0) return;  // a matrix of no columns has no first element
  rotate_columns(M.data() + first + offset, M.outerStride(), M.cols(), chain.data(), static_cast<Index>(chain.size()));
}

void Rotations::rotate_both(MatrixRef M) const {
  rotate_rows(M, 0);
  for (std::size_t k = 0; k < chain.size(); ++k) {
    double* a = M.col(first + static_cast<Index>(k)).data();
    double* b = M.col(first + static_cast<Index>(k) + 1).data();
    for (Index r = 0; r < M.rows(); ++r) chain[k].apply(a[r], b[r]);
  }
}

}  // namespace kernsift
