// What one core can do at most: the rate of multiply-adds on registers alone, which no product can pass.
//
// Probed beside each shape, because a core's frequency and its neighbours change while a suite runs.
#pragma once

#include <string>
#include <vector>

namespace tilewright::measure {

/// What multiplies and adds: FP32 vectors of an instruction set, or pairs of bf16 added to FP32.
enum class Unit : unsigned char { portable, avx2_fma, avx512_fma, avx512_bf16_dot };

/// "avx512 fma" and so on.
std::string name_of(Unit unit);

/// The units that this machine has, slowest first.
std::vector<Unit> units_at_hand();

/// Runs the unit's loop once: some ten microseconds.
void run_loop(Unit unit);

/// GFLOP/s of one core, a multiply-add counted as two: the best of some short loops, together about `microseconds`
/// long. The unit must be at hand.
double peak_gflops(Unit unit, double microseconds = 1500);

}  // namespace tilewright::measure
