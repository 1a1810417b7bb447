// The file of the kernel pack: what was put in is found, and anything else is a miss. The kernels are any bytes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cuda/pack.hpp"

namespace {

namespace fs = std::filesystem;
using namespace tilewright::cuda;

struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "tilewright-pack-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
};

Cubin some_cubin(int number) {
  Cubin cubin;
  for (int i = 0; i < 3000 + number; ++i) cubin.image.push_back(static_cast<char>(i % 100 == 0 ? number : i * i));
  cubin.registers = 32 + number;
  cubin.spilled_bytes = number;
  return cubin;
}

std::vector<PackEntry> some_entries() {
  std::vector<PackEntry> entries;
  for (int i = 0; i < 20; ++i) {
    entries.push_back(
        {i % 3 == 0 ? "one" : "two", "unit " + std::to_string(i / 2), i % 2 == 0 ? "sm_80" : "sm_90a", some_cubin(i)});
  }
  return entries;
}

void write(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

TEST(KernelPack, HoldsWhatWasPutIn) {
  const Folder folder;
  write(folder.path / "pack", pack_bytes(some_entries()));
  std::string reason;
  const auto pack = Pack::open(folder.path / "pack", reason);
  ASSERT_TRUE(pack) << reason;
  EXPECT_EQ(pack->size(), 20u);
  for (const PackEntry& entry : some_entries()) {
    const auto found = pack->find(entry.unit, entry.architecture);
    ASSERT_TRUE(found) << entry.unit;
    EXPECT_EQ(found->image, entry.cubin.image);
    EXPECT_EQ(found->registers, entry.cubin.registers);
    EXPECT_EQ(found->spilled_bytes, entry.cubin.spilled_bytes);
  }
  EXPECT_FALSE(pack->find("unit 1", "sm_75"));
  EXPECT_FALSE(pack->find("another unit", "sm_80"));
}

TEST(KernelPack, TheSameKernelsGiveTheSameBytes) { EXPECT_EQ(pack_bytes(some_entries()), pack_bytes(some_entries())); }

TEST(KernelPack, AFileThatIsNotThereOrOfAnotherKindIsNone) {
  const Folder folder;
  std::string reason;
  EXPECT_FALSE(Pack::open(folder.path / "pack", reason));
  EXPECT_FALSE(Pack::open(folder.path, reason));
  write(folder.path / "pack", "tilewright cubin 2\n and more bytes than the head of a pack has, to be sure of it");
  EXPECT_FALSE(Pack::open(folder.path / "pack", reason));
  EXPECT_EQ(reason, "is not a kernel pack of this version");
}

/// Whether a pack in these bytes gives every kernel as it was, or else a miss; how many it gives.
int sound_kernels(const fs::path& file, const std::string& bytes) {
  write(file, bytes);
  std::string reason;
  const auto pack = Pack::open(file, reason);
  EXPECT_EQ(pack == nullptr, !reason.empty());
  if (!pack) return 0;
  int found = 0;
  for (const PackEntry& entry : some_entries()) {
    const auto cubin = pack->find(entry.unit, entry.architecture);
    if (!cubin) continue;
    ++found;
    EXPECT_EQ(cubin->image, entry.cubin.image);
  }
  return found;
}

TEST(KernelPack, AnyDamageIsAMiss) {
  const Folder folder;
  const fs::path file = folder.path / "pack";
  const std::string whole = pack_bytes(some_entries());
  ASSERT_EQ(sound_kernels(file, whole), 20);
  for (std::size_t length = 0; length < whole.size(); length += length < 200 ? 7 : 97) {
    EXPECT_EQ(sound_kernels(file, whole.substr(0, length)), 0) << "truncated to " << length;
  }
  EXPECT_EQ(sound_kernels(file, whole + "x"), 0) << "a byte too many";
  for (std::size_t at = 0; at < whole.size(); at += at < 200 ? 3 : 41) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    EXPECT_LT(sound_kernels(file, damaged), 20) << "byte " << at;
  }
}

TEST(KernelPack, OneOfOtherSourcesIsAnotherBuilds) {
  const Folder folder;
  std::string bytes = pack_bytes(some_entries()), reason;
  bytes[bytes.find('\n') + 1] ^= 1;  // the digest of the sources comes first
  write(folder.path / "pack", bytes);
  EXPECT_FALSE(Pack::open(folder.path / "pack", reason));
  EXPECT_EQ(reason, "is another build's");
}

TEST(KernelPack, IsLookedForWhereTheDocumentSays) {
  const char* const before = std::getenv("TILEWRIGHT_PACK");
  const std::string kept = before != nullptr ? before : "";
  setenv("TILEWRIGHT_PACK", "/a/file", 1);
  EXPECT_EQ(pack_file(), "/a/file");
  setenv("TILEWRIGHT_PACK", "", 1);
  EXPECT_EQ(pack_file(), "");
  before != nullptr ? setenv("TILEWRIGHT_PACK", kept.c_str(), 1) : unsetenv("TILEWRIGHT_PACK");
}

TEST(KernelPack, DevicesRunTheirOwnCodeTheirGenerationsOrAssembly) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(architectures_for(9, 0), (Names{"sm_90a", "compute_80"}));
  EXPECT_EQ(architectures_for(8, 0), (Names{"sm_80", "compute_80"}));
  EXPECT_EQ(architectures_for(8, 6), (Names{"sm_86", "sm_80", "compute_80"}));
  EXPECT_EQ(architectures_for(12, 0), (Names{"sm_120", "compute_80"}));
  EXPECT_EQ(architectures_for(7, 5), (Names{"sm_75"}));
}

}  // namespace
