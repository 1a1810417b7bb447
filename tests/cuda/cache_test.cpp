// The cache of compiled kernels on disk: its identity, its entries, and what becomes of damaged ones. No GPU and no
// compiler are needed: the cubins are any bytes.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "cuda/cache.hpp"

namespace {

namespace fs = std::filesystem;
using namespace tilewright::cuda;

/// A folder that is gone afterwards.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "tilewright-cache-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code none;
    fs::permissions(path, fs::perms::owner_all, none);
    fs::remove_all(path, none);
  }
};

Cubin some_cubin() {
  Cubin cubin;
  for (int i = 0; i < 1000; ++i) cubin.image.push_back(static_cast<char>(i * 7));
  cubin.registers = 96;
  cubin.spilled_bytes = 4;
  return cubin;
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

const std::string identity = identity_of("unit", "sm_90a", "NVRTC 13.0");

TEST(CubinCache, GivesBackWhatItKept) {
  const Folder folder;
  EXPECT_FALSE(find_cubin(folder.path, identity));
  keep_cubin(folder.path, identity, some_cubin());
  const auto found = find_cubin(folder.path, identity);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->image, some_cubin().image);
  EXPECT_EQ(found->registers, 96);
  EXPECT_EQ(found->spilled_bytes, 4);
}

TEST(CubinCache, EveryPartOfTheIdentityCounts) {
  const Folder folder;
  keep_cubin(folder.path, identity, some_cubin());
  for (const std::string& other :
       {identity_of("another unit", "sm_90a", "NVRTC 13.0"), identity_of("unit", "sm_80", "NVRTC 13.0"),
        identity_of("unit", "sm_90a", "NVRTC 13.1")}) {
    EXPECT_FALSE(find_cubin(folder.path, other)) << other;
  }
  EXPECT_NE(identity.find("headers "), std::string::npos);  // the sources that the unit includes
}

TEST(CubinCache, AnEntryOfAnotherIdentityUnderThisNameIsAMiss) {
  const Folder folder;
  const std::string other = identity_of("another unit", "sm_90a", "NVRTC 13.0");
  keep_cubin(folder.path, other, some_cubin());
  fs::rename(entry_of(folder.path, other), entry_of(folder.path, identity));
  EXPECT_FALSE(find_cubin(folder.path, identity));
}

TEST(CubinCache, AnyDamageIsAMiss) {
  const Folder folder;
  keep_cubin(folder.path, identity, some_cubin());
  const fs::path path = entry_of(folder.path, identity);
  const std::string whole = bytes_of(path);
  for (std::size_t length = 0; length < whole.size(); length += length < 200 ? 1 : 37) {
    write(path, whole.substr(0, length));
    EXPECT_FALSE(find_cubin(folder.path, identity)) << "truncated to " << length;
  }
  for (std::size_t at = 0; at < whole.size(); at += at < 200 ? 1 : 37) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    write(path, damaged);
    EXPECT_FALSE(find_cubin(folder.path, identity)) << "byte " << at;
  }
  write(path, whole + "x");
  EXPECT_FALSE(find_cubin(folder.path, identity)) << "a byte too many";
  keep_cubin(folder.path, identity, some_cubin());
  EXPECT_TRUE(find_cubin(folder.path, identity)) << "replaced by a sound one";
}

TEST(CubinCache, FoldersAreMadeForTheUserAlone) {
  const Folder folder;
  const fs::path deep = folder.path / "a" / "b";
  keep_cubin(deep, identity, some_cubin());
  EXPECT_TRUE(find_cubin(deep, identity));
  struct stat status {};
  ASSERT_EQ(stat(deep.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0700u);
  ASSERT_EQ(stat(entry_of(deep, identity).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
}

TEST(CubinCache, APlaceThatCannotBeWrittenIsAWarningAndNoFailure) {
  const Folder folder;
  write(folder.path / "file", "");
  keep_cubin(folder.path / "file" / "below", identity, some_cubin());  // root may write everywhere but below a file
  EXPECT_FALSE(find_cubin(folder.path / "file" / "below", identity));
  keep_cubin({}, identity, some_cubin());  // no cache at all
  EXPECT_FALSE(find_cubin({}, identity));
}

TEST(CubinCache, WritersAndReadersAtOnceSeeWholeEntriesOrNone) {
  const Folder folder;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int n = 0; n < 50; ++n) {
        keep_cubin(folder.path, identity, some_cubin());
        const auto found = find_cubin(folder.path, identity);
        EXPECT_TRUE(found && found->image == some_cubin().image);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()), 1)
      << "no temporary file is left";
}

TEST(CubinCache, TheFolderComesFromTheEnvironment) {
  const auto with = [](const char* own, const char* shared, const char* home) {
    const auto set = [](const char* name, const char* value) {
      value != nullptr ? setenv(name, value, 1) : unsetenv(name);
    };
    set("TILEWRIGHT_CACHE", own);
    set("XDG_CACHE_HOME", shared);
    set("HOME", home);
    return cache_folder().string();
  };
  const char* const before[] = {std::getenv("TILEWRIGHT_CACHE"), std::getenv("XDG_CACHE_HOME"), std::getenv("HOME")};
  std::vector<std::string> kept;
  for (const char* const value : before) kept.emplace_back(value != nullptr ? value : "");
  EXPECT_EQ(with("/own", "/shared", "/home/me"), "/own");
  EXPECT_EQ(with(nullptr, "/shared", "/home/me"), "/shared/tilewright");
  EXPECT_EQ(with(nullptr, "not absolute", "/home/me"), "/home/me/.cache/tilewright");
  EXPECT_EQ(with(nullptr, nullptr, "/home/me"), "/home/me/.cache/tilewright");
  EXPECT_EQ(with("", "/shared", "/home/me"), "");
  EXPECT_EQ(with(nullptr, nullptr, nullptr), "");
  with(before[0] != nullptr ? kept[0].c_str() : nullptr, before[1] != nullptr ? kept[1].c_str() : nullptr,
       before[2] != nullptr ? kept[2].c_str() : nullptr);
}

}  // namespace
