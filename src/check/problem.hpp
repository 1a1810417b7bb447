// The exact checker on one multiplication: the operator's own program, on the shape, strides and plan of given views.
#pragma once

#include <tilewright/check.hpp>
#include <tilewright/plan.hpp>

namespace tilewright::exact {

/// Products that a check of one problem may take: each costs some tens of nanoseconds.
inline constexpr i64 most_products = i64{1} << 31;

/// Checks a * b -> c under a plan whose tile is compiled in. The elements of the views are not read; the views must
/// meet gemm's contract. Throws Error problem where m * n * k passes most_products.
Report check_problem(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, const Plan& plan,
                     u64 seed = 1);

}  // namespace tilewright::exact
