#include "cuda/pack.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include <tilewright/cuda.hpp>
#include "cuda/lz.hpp"

namespace tilewright::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic = "tilewright pack 1\n";

/// What follows the magic. Then come the entries, the groups, and the groups' packed bytes.
struct Header {
  Digest sources;
  u64 entries, groups, checksum;  // of the entries and groups as they lie in the file
};

Digest key_of(const std::string& unit, const std::string& architecture) {
  return digest_of(architecture + '\n' + unit);
}

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// Reads a whole object or vector; false at the end of the file.
template <class T>
bool read(std::istream& file, T* to, std::size_t count) {
  const auto bytes = static_cast<std::streamsize>(count * sizeof(T));
  return file.read(reinterpret_cast<char*>(to), bytes).gcount() == bytes;
}

std::mutex file_mutex;
std::optional<fs::path> file_set;

/// The pack that lies with a program or a library: in its folder, or in share/tilewright of one of the two folders
/// above, which an installation has it in: bin, lib, or a folder of lib. Empty for none.
fs::path pack_near(const fs::path& file) {
  std::error_code none;
  fs::path folder = file.parent_path();
  if (folder.empty()) return {};
  if (const fs::path beside = folder / "tilewright.pack"; fs::exists(beside, none)) return beside;
  for (int i = 0; i < 2 && folder.has_relative_path(); ++i) {
    folder = folder.parent_path();
    if (const fs::path installed = folder / "share" / "tilewright" / "tilewright.pack"; fs::exists(installed, none))
      return installed;
  }
  return {};
}

/// The file that this code is in: the executable, or a shared library or module that this library was linked into.
/// Empty if the system tells no whole path, which an executable's need not be.
fs::path own_file() {
  Dl_info here;
  if (dladdr(reinterpret_cast<const void*>(&own_file), &here) == 0 || here.dli_fname[0] != '/') return {};
  std::error_code none;
  return fs::canonical(here.dli_fname, none);
}

}  // namespace

std::string pack_bytes(std::vector<PackEntry> kernels) {
  std::map<std::string, std::string> contents;  // of each group
  for (const PackEntry& kernel : kernels) contents[kernel.group];
  std::vector<Pack::Entry> entries;
  for (const PackEntry& kernel : kernels) {
    std::string& content = contents[kernel.group];
    const auto group = static_cast<u64>(std::distance(contents.begin(), contents.find(kernel.group)));
    entries.push_back({key_of(kernel.unit, kernel.architecture), group, content.size(), kernel.cubin.image.size(),
                       static_cast<u64>(kernel.cubin.registers), static_cast<u64>(kernel.cubin.spilled_bytes)});
    content.append(kernel.cubin.image.data(), kernel.cubin.image.size());
  }
  std::ranges::sort(entries, {}, &Pack::Entry::key);

  std::vector<Pack::Group> groups;
  std::string bodies;
  const u64 start = magic.size() + sizeof(Header) + bytes_of(entries).size() + contents.size() * sizeof(Pack::Group);
  for (const auto& [name, content] : contents) {
    const std::string packed = compress(content);
    groups.push_back({start + bodies.size(), packed.size(), content.size(), hash(packed, 3)});
    bodies += packed;
  }
  const std::string tables = std::string(bytes_of(entries)).append(bytes_of(groups));
  const Header header{sources_digest(), entries.size(), groups.size(), hash(tables, 3)};
  std::string bytes(magic);
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  return bytes.append(tables).append(bodies);
}

std::unique_ptr<Pack> Pack::open(const fs::path& path, std::string& reason) {
  std::ifstream file(path, std::ios::binary);
  std::error_code none;
  const u64 size = fs::file_size(path, none);
  std::string start(magic.size(), '\0');
  Header header{};
  if (!file || none || !read(file, start.data(), start.size()) || start != magic || !read(file, &header, 1)) {
    reason = "is not a kernel pack of this version";
    return nullptr;
  }
  if (header.sources != sources_digest()) {
    reason = "is another build's";
    return nullptr;
  }
  auto pack = std::make_unique<Pack>();
  pack->file_ = path;
  reason = "is damaged";
  if (header.entries > size / sizeof(Entry) || header.groups > size / sizeof(Group)) return nullptr;
  pack->entries_.resize(header.entries);
  pack->groups_.resize(header.groups);
  if (!read(file, pack->entries_.data(), pack->entries_.size())) return nullptr;
  if (!read(file, pack->groups_.data(), pack->groups_.size())) return nullptr;
  if (hash(std::string(bytes_of(pack->entries_)).append(bytes_of(pack->groups_)), 3) != header.checksum) return nullptr;
  u64 end = static_cast<u64>(file.tellg());
  for (const Group& group : pack->groups_) end += group.packed;
  if (end != size) return nullptr;  // truncated, or longer than it says
  reason.clear();
  return pack;
}

std::optional<Cubin> Pack::find(const std::string& unit, const std::string& architecture) const {
  const Digest key = key_of(unit, architecture);
  const auto entry = std::ranges::lower_bound(entries_, key, {}, &Entry::key);
  if (entry == entries_.end() || entry->key != key || entry->group >= groups_.size()) return std::nullopt;
  const Group& group = groups_[entry->group];
  std::ifstream file(file_, std::ios::binary);
  std::string packed(group.packed, '\0');
  std::optional<std::string> content;
  if (file.seekg(static_cast<std::streamoff>(group.offset)) && read(file, packed.data(), packed.size()) &&
      hash(packed, 3) == group.checksum) {
    content = decompress(packed, group.bytes, entry->offset + entry->bytes);
  }
  if (!content || entry->offset > content->size() || entry->bytes > content->size() - entry->offset) {
    static std::once_flag once;
    std::call_once(once, [&] {
      fmt::print(stderr, "tilewright: warning: the kernel pack {} is damaged; kernels are compiled instead\n",
                 file_.string());
    });
    return std::nullopt;
  }
  const char* const at = content->data() + entry->offset;
  Cubin cubin;
  cubin.image.assign(at, at + entry->bytes);
  cubin.registers = static_cast<int>(entry->registers);
  cubin.spilled_bytes = static_cast<int>(entry->spilled);
  return cubin;
}

void use_kernel_pack(const std::string& file) {
  const std::lock_guard lock(file_mutex);
  file_set = file;
}

fs::path pack_file() {
  {
    const std::lock_guard lock(file_mutex);
    if (file_set) return *file_set;
  }
  if (const char* const variable = std::getenv("TILEWRIGHT_PACK")) return variable;
  std::error_code none;
  const fs::path with_executable = pack_near(fs::read_symlink("/proc/self/exe", none));
  return with_executable.empty() ? pack_near(own_file()) : with_executable;
}

const Pack* kernel_pack() {
  static const std::unique_ptr<Pack> pack = [] {
    const fs::path file = pack_file();
    std::unique_ptr<Pack> opened;
    if (file.empty()) return opened;
    std::string reason;
    opened = Pack::open(file, reason);
    if (!opened) {
      fmt::print(stderr, "tilewright: warning: {} {}; kernels are compiled instead\n", file.string(), reason);
    }
    return opened;
  }();
  return pack.get();
}

std::vector<std::string> architectures_for(int major, int minor) {
  std::vector<std::string> names = {fmt::format("sm_{}{}{}", major, minor, major == 9 && minor == 0 ? "a" : "")};
  if (major == 8 && minor != 0) names.emplace_back("sm_80");
  if (major >= 8) names.emplace_back("compute_80");
  return names;
}

}  // namespace tilewright::cuda
