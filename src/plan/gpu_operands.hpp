// How the operands of a problem lie, and what that makes of them under a plan on a GPU: boxes, classes of rows, phases,
// copies in workspace. Arithmetic over layout classes alone.
#pragma once

#include <tilewright/plan.hpp>
#include <tilewright/tile/classes.hpp>

namespace tilewright::plan {

inline constexpr int widest_copy = 16, narrowest_copy = 4;  // bytes

/// Another output type than the inputs' or f32: rare, so one tile and copies that suit most alignments have to do.
bool converts(const Problem& problem);
/// Whether every row starts where a box may.
bool has_boxes(const LayoutClass& layout);
/// The axis along which an operand is read: of two that are adjacent, as cuda::mover_for takes it.
bool a_along_m(const Problem& problem);
bool b_along_n(const Problem& problem);
/// Whether an operand has rows of adjacent elements, wherever each starts; and of which every second is the operand's.
bool has_rows(const LayoutClass& layout);
bool has_second_rows(const LayoutClass& layout);
/// Rows along K that start anywhere come as boxes class by class: rows of A or columns of B.
bool a_has_classes(const Problem& problem);
bool b_has_classes(const Problem& problem);
/// Rows of B along N that start anywhere come as boxes in phases, beside rows of A along M.
bool b_has_phases(const Problem& problem);
/// Whether C's columns are adjacent elements (plan.hpp: "k" in C's class), and its rows are not.
bool stored_by_columns(const Problem& problem);
/// Whether coordinates of boxes hold the extents. An empty sum has nothing to make a map of.
bool fits_boxes(const Problem& problem);

/// The problem that is multiplied under a plan: with packed operands where it packs some.
Problem as_packed(const Problem& problem, const Packing& packing);
/// A packed operand's elements from row to row, for so many in each; and the bytes of an operand's copy.
i64 packed_pitch(i64 adjacent);
i64 packed_bytes(const Problem& problem, const Packing& packing);

// What follows speaks of the problem as it is multiplied: as_packed.

/// A plan's tile in the product that is computed, which is C^T = B^T * A^T if the plan transposes.
TileShape product_tile(const Plan& plan);
/// Whether programs take rows of A, or columns of B, by classes: by tma, of rows that start anywhere.
bool a_in_classes(const Problem& problem, const Plan& plan);
bool b_in_classes(const Problem& problem, const Plan& plan);
/// Whether each program takes B's rows, which run along N and start anywhere, by all classes in phases.
bool b_in_phases(const Problem& problem, const Plan& plan);
/// The columns of C that are a program's own: of a tile's columns a few stand for others in some phases.
i64 own_columns(const Problem& problem, const Plan& plan);
/// Those classes; a single one if programs take adjacent rows and columns.
tile::Classes classes_of(const Problem& problem, const Plan& plan);
/// The rows and columns of tiles: where programs take them by classes, those of each class.
i64 tile_rows(const Problem& problem, const Plan& plan);
i64 tile_cols(const Problem& problem, const Plan& plan);
/// The mover of an operand of this layout class.
Mover gpu_mover(const LayoutClass& layout);
/// Bytes of one asynchronous copy where both operands are moved by those: 16 if the rows of both are aligned to that,
/// else 4 for both, so that kernels are few. 0 where the movers differ: an operand's own alignment decides.
int copy_bytes(const Problem& problem, const Plan& plan);

}  // namespace tilewright::plan
