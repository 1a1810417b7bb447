// Whether views share memory: what lets an output be written in parallel, and refused before anything is written.
//
// Asking only whether the byte ranges meet would refuse the even and the odd columns of one matrix; asking every pair
// of elements costs M*N. Both questions here are instead solved as linear equations in bounded integers (overlap.cpp).
#pragma once

#include <tilewright/view.hpp>

namespace tilewright::core {

/// Whether two elements of the view share a byte. Exact for all views. Empty views never do. Throws as byte_range.
bool overlaps_itself(const MatrixView& view);

/// Whether an element of one view shares a byte with one of the other. Throws as byte_range. False is always right.
/// Exact where a view is empty, where the byte ranges are disjoint, for two views of equal strides (up to sign and
/// order), and for any two views that slices, flips, transposes and broadcasts made of one matrix whose rows do not
/// overlap, element types and row starts included. Conservative, that is true where the byte ranges meet, for other
/// pairs of which deciding would take more than some thousand steps: matrices of unrelated strides laid over each
/// other.
bool overlap(const MatrixView& left, const MatrixView& right);

}  // namespace tilewright::core
