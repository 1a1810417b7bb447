// Writes a kernel pack for the fake driver: an image for every kernel that the real pack holds. The fake driver takes
// any bytes for a kernel, so each image is one and the same text.
//
// Usage: fake_pack FILE TEXT
#include <cstdio>
#include <fstream>
#include <string_view>

#include "cuda/pack.hpp"
#include "pack/kernels.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: fake_pack FILE TEXT\n", stderr);
    return 2;
  }
  const std::string_view text = argv[2];
  std::vector<tilewright::cuda::PackEntry> entries;
  for (const auto& kernel : tilewright::pack::default_kernels()) {
    tilewright::cuda::Cubin cubin;
    cubin.image.assign(text.begin(), text.end());
    cubin.image.push_back('\0');
    entries.push_back({"g", kernel.unit, kernel.architecture, cubin});
  }
  std::ofstream file(argv[1], std::ios::binary);
  return file << tilewright::cuda::pack_bytes(std::move(entries)) && file.flush() ? 0 : 1;
}
