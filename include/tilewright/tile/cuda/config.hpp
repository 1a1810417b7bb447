// How a kernel is compiled for a GPU: the parts of a plan that device code must know at compile time. Plain numbers,
// shared by the host, which writes them into the text that is compiled, and by the executor, whose template parameter
// they are.
#pragma once

#include <tilewright/tile/element.hpp>

namespace tilewright::cuda {

/// The way of a block of memory into shared memory. All zero-fill what the mask leaves out and read nothing there.
enum class Via : unsigned char {
  gather,      // element by element: any strides, any index
  async_copy,  // cp.async of `bytes`: unit stride along one axis, rows that start at multiples of `bytes`
  realign,     // unit stride, rows that start anywhere: aligned 16-byte loads, shifted in registers
  tma,         // boxes of a tensor map, by threads of their own: unit stride, rows that start at multiples of 16 bytes
  classes,     // the same for rows that start anywhere, of which a program takes those of one class: parts.hpp
};

/// One operand's mover, as the launcher promises that its memory allows.
struct Move {
  Via via = Via::gather;
  int axis = 1;   // the axis whose neighbours are adjacent in shared memory, and in memory unless gathered: 0 rows, 1
                  // columns of the load as the kernel writes it
  int bytes = 0;  // of one async_copy: 16, 8 or 4
  int step = 1;   // of rows that stay raw (rows.hpp), elements from one neighbour to the next: 1 or 2
};

inline constexpr int most_moves = 4;

/// A thread's sums that blocks may share: of programs with more, each has work enough, and no register is to spare.
inline constexpr int most_shared_sums = 32;

/// What the tensor memory accelerator knows of a matrix: the driver's CUtensorMap.
struct alignas(64) TensorMap {
  unsigned long long words[16];
};
struct TensorMaps {
  TensorMap of[2];  // of the first and the second load of a pipeline's step
};

/// What multiplies 16-bit elements: an instruction of one warp, or, on compute capability 9.0 alone, of four warps that
/// reads its operands from shared memory. A dot whose tile does not suit wgmma takes mma_sync.
enum class Tensor : unsigned char { mma_sync, wgmma };

/// The warps of a program and what they multiply with: what the distribution of values depends on.
struct Team {
  int warps;
  Tensor tensor;
};

struct Config {
  int warps = 4;
  int stages = 3;  // blocks of K in flight in a pipeline
  Tensor tensor = Tensor::mma_sync;
  Move moves[most_moves]{};  // of the first, second, … load of a pipeline's step, or operand of a dot
  int ring_bytes = 0;        // shared memory of a pipeline's stages
  int scratch_bytes = 0;     // and of everything else a program needs, behind them; Footprint counts both
  int teams = 1;             // programs that a block works on at once, if it has roles
  bool shares = false;       // whether the blocks of a cluster may share a program's sums, if it has roles

  /// The threads that a program's values are distributed over.
  constexpr int threads() const { return warps * 32; }
  /// Whether blocks are brought by threads of their own (roles.hpp), four warps behind the others.
  constexpr bool roles() const { return takes(Via::tma) || in_parts(); }
  /// Whether the launch's arguments are Parts.
  constexpr bool in_parts() const { return takes(Via::classes); }
  /// Whether rows by classes are rows of K, so that every program takes all classes, in phases.
  constexpr bool in_phases() const { return moves[1].via == Via::classes && moves[1].axis == 1; }
  constexpr int block_threads() const { return threads() * teams + (roles() ? 128 : 0); }
  /// Two barriers a stage and one a team, behind everything else.
  constexpr int barrier_bytes() const { return roles() ? 16 * stages + 8 * teams : 0; }
  constexpr int shared_bytes() const { return ring_bytes + scratch_bytes * teams + barrier_bytes(); }
  constexpr Team team() const { return {warps, tensor}; }
  /// Whether some block arrives as it lies in memory and is settled afterwards.
  constexpr bool settles() const { return takes(Via::realign); }
  constexpr Move move(int operand) const { return operand < most_moves ? moves[operand] : Move{}; }

 private:
  constexpr bool takes(Via via) const {
    for (const Move& move : moves) {
      if (move.via == via) return true;
    }
    return false;
  }
};

}  // namespace tilewright::cuda
