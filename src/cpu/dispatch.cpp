// Which instruction sets this machine has, and the table of functions for each.
//
// An instruction set counts only if the processor has all of the extensions that its object file is compiled with and
// the operating system saves the registers it uses: CPUID alone says nothing about the second (a hypervisor or a kernel
// option may have turned it off), hence XGETBV.
#include <tilewright/error.hpp>

#include "cpu/vector.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tilewright::cpu {
namespace {

struct Found {
  Mma sets[4];
  std::size_t count = 0;
};

#if defined(__x86_64__)

/// Whether all of the bits are set.
constexpr bool has(unsigned int word, unsigned int bits) { return (word & bits) == bits; }

Found find_instruction_sets() {
  Found found;
  unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
  unsigned int saved = 0;  // XCR0: register states the operating system saves
  bool avx2 = false, avx512 = false, avx512_bf16 = false;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && has(ecx, bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C)) {
    unsigned int upper = 0;
    __asm__("xgetbv" : "=a"(saved), "=d"(upper) : "c"(0));
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) {
      constexpr unsigned int ymm = 0x6, zmm = 0xe6;  // SSE and AVX; these, mask registers and both parts of ZMM
      avx2 = has(saved, ymm) && has(ebx, bit_AVX2);
      avx512 = avx2 && has(saved, zmm) && has(ebx, bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ);
      constexpr unsigned int bf16_dot = 1u << 5;  // AVX512_BF16, in EAX of leaf 7, subleaf 1
      avx512_bf16 = avx512 && eax >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && has(eax, bf16_dot);
    }
  }
  if (avx512_bf16) found.sets[found.count++] = Mma::avx512_bf16;
  if (avx512) found.sets[found.count++] = Mma::avx512;
  if (avx2) found.sets[found.count++] = Mma::avx2;
  found.sets[found.count++] = Mma::portable;
  return found;
}

const Kernels& table_of(Mma mma) {
  switch (mma) {
    case Mma::portable:
      return portable_kernels;
    case Mma::avx2:
      return avx2_kernels;
    case Mma::avx512:
      return avx512_kernels;
    case Mma::avx512_bf16:
      return avx512_bf16_kernels;
    case Mma::mma_sync:
    case Mma::wgmma:
    case Mma::fma:
      break;  // a GPU's: never at hand here
  }
  __builtin_unreachable();
}

#else

Found find_instruction_sets() { return {{Mma::portable}, 1}; }
const Kernels& table_of(Mma) { return portable_kernels; }

#endif

}  // namespace

std::span<const Mma> instruction_sets() {
  static const Found found = find_instruction_sets();
  return {found.sets, found.count};
}

const Kernels& kernels(Mma mma) {
  const std::span<const Mma> sets = instruction_sets();
  for (const Mma set : sets) {
    if (set == mma) return table_of(mma);
  }
  std::string at_hand;
  for (const Mma set : sets) {
    at_hand += (at_hand.empty() ? "" : ", ") + to_string(set);
  }
  throw Error(ErrorCode::plan_unavailable, "this machine lacks the instruction set of mma=" + to_string(mma) +
                                               "; it has " + at_hand + ": use one of these or leave mma out");
}

}  // namespace tilewright::cpu
