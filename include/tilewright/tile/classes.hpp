// Rows that start anywhere, taken by boxes. A box begins at a multiple of 16 bytes, and so do its rows; where a matrix'
// rows do not, every P-th of them do alike: P rows are a multiple of 16 bytes apart for some P of 2, 4 or 8. A class is
// the rows whose numbers leave one remainder. All of a class begin the same few elements behind a chunk of 16 bytes,
// its shift; so a product that takes only rows of one class may begin its sum that many elements early, where the other
// operand has zeros, and all its boxes begin at chunks. C has the same rows, so a class is a problem of its own, whose
// tiles are programs as any others are.
//
// With eight times as many classes all rows of one begin at the same byte of a line of 128 bytes, and the sum at a
// line's beginning: fewer lines are touched.
//
// Where rows run along N they are rows of K, and each class is a phase of the sum: its boxes begin `shift` columns in
// front of the tile's first one. From phase to phase the shift becomes less, and the sums move along. Arithmetic alone,
// shared by host and device.
#pragma once

#include <tilewright/tile/element.hpp>
#include <tilewright/tile/order.hpp>

namespace tilewright::tile {

struct Classes {
  u32 chunks = 1;       // P: classes that differ in where their rows begin in a chunk
  u32 lines = 1;        // times so many, so that rows of one begin alike in 16 * lines bytes: a power of two up to 8
  u32 longer = 0;       // the first so many classes have a row more than the others
  u32 tiles_long = 0;   // of each of those
  u32 tiles_short = 0;  // and of each of the others
  u32 base = 0;         // the address of row 0, and the bytes from row to row: of both the lowest bits count
  u32 pitch = 0;

  constexpr u32 count() const { return chunks * lines; }
  constexpr u32 tiles() const { return longer * tiles_long + (count() - longer) * tiles_short; }

  /// The class of one of all tiles, which are numbered class by class, and its number there.
  struct Place {
    u32 of, tile;
  };
  constexpr Place place(u32 number) const {
    const u32 in_long = longer * tiles_long;
    if (number < in_long) return {number / tiles_long, number % tiles_long};
    return {longer + (number - in_long) / tiles_short, (number - in_long) % tiles_short};
  }
  /// Elements from where a class' sums begin to its rows' first element, and of those the ones behind the beginning of
  /// a chunk, which belong to another row or to nobody.
  constexpr u32 shift(u32 of) const { return (base + of * pitch) % (16 * lines) / 2; }
  constexpr u32 foreign(u32 of) const { return (base + of * pitch) % 16 / 2; }

  /// Of rows of K, whose distance alone decides how many classes there are: the class of a phase. The first one has the
  /// largest shift. The last one's is `rest`.
  constexpr u32 of_phase(u32 phase) const {
    u32 of = 0;
    while (foreign(of) * chunks / 8 != chunks - 1 - phase) ++of;
    return of;
  }
  /// Columns by which the shift becomes less from phase to phase.
  constexpr u32 phase_columns() const { return 8 >> log_chunks(); }
  constexpr u32 rest() const { return foreign(0) & (phase_columns() - 1); }
  constexpr int log_chunks() const { return chunks == 8 ? 3 : chunks == 4 ? 2 : chunks == 2 ? 1 : 0; }

  // Each chunk class has two maps of three axes: along its rows, the layers of rows that are lines classes apart, and
  // rows of one layer. One map is of the longer classes, the other of the shorter ones.
  constexpr u32 map(u32 of) const { return of % chunks * 2 + (of < longer ? 1 : 0); }
  constexpr u32 layer(u32 of) const { return of / chunks; }
};

/// The classes of rows of K, so many bytes apart, that are phases.
constexpr Classes phases_of(i64 rows, i64 pitch) {
  Classes c;
  while (c.chunks < 8 && pitch * c.chunks % 16 != 0) c.chunks *= 2;
  c.longer = static_cast<u32>(rows % c.chunks);
  return c;
}

/// The classes of `rows` rows, of which tiles take `tile`.
constexpr Classes classes_of(i64 rows, i64 tile, i64 chunks, i64 lines) {
  Classes c;
  c.chunks = static_cast<u32>(chunks), c.lines = static_cast<u32>(lines);
  const i64 count = chunks * lines, each = rows / count;
  c.longer = static_cast<u32>(rows % count);
  c.tiles_long = static_cast<u32>(cdiv(each + 1, tile)), c.tiles_short = static_cast<u32>(cdiv(each, tile));
  return c;
}

}  // namespace tilewright::tile
