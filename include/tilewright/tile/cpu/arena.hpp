// Memory for tiles and panels on a CPU: a thread's own blocks, handed out and taken back, kept for the next program.
#pragma once

#include <pthread.h>
#include <sys/mman.h>

#include <cstdlib>
#include <new>
#include <vector>

#include <tilewright/tile/cpu/launch.hpp>

namespace tilewright::cpu {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    for (const Block& block : blocks_) std::free(block.memory);
  }

  /// The arena of the calling thread. It is there in destructors of thread-local and static objects, which may
  /// multiply: a key's destructors run after those, and again for what they left behind.
  static Arena& of_this_thread() {
    static thread_local Arena* arena = nullptr;
    if (arena == nullptr) {
      arena = new Arena;
      static const Key key;
      pthread_setspecific(key.value, &arena);
    }
    return *arena;
  }

  /// Room for so many floats, 64-byte aligned, not initialised: the smallest free block that holds them, or a new one.
  float* take(i64 floats) {
    constexpr i64 huge_page = 2 << 20;
    const bool huge = floats * i64{sizeof(float)} > huge_page;
    const i64 alignment = huge ? huge_page : 64;
    const i64 bytes = (floats * i64{sizeof(float)} + alignment - 1) / alignment * alignment;
    Block* best = nullptr;
    for (Block& block : blocks_) {
      if (!block.taken && block.bytes >= bytes && (best == nullptr || block.bytes < best->bytes)) best = &block;
    }
    if (best == nullptr) {
      blocks_.reserve(blocks_.size() + 1);
      // A tile beyond the L2 is read with a stride: in pages of 4 KiB every row is a page of its own. A panel of just a
      // huge page is none the better for it, and often filled in part.
      void* memory = std::aligned_alloc(static_cast<std::size_t>(alignment), static_cast<std::size_t>(bytes));
      if (memory == nullptr) throw std::bad_alloc();
      if (huge) madvise(memory, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
      best = &blocks_.emplace_back(Block{memory, bytes, false});
    }
    best->taken = true;
    return static_cast<float*>(best->memory);
  }

  /// Takes back what `take` gave.
  void give(const float* memory) {
    for (Block& block : blocks_) {
      if (block.memory == memory) block.taken = false;
    }
  }

 private:
  /// Frees a thread's arena when the thread ends.
  struct Key {
    pthread_key_t value{};
    Key() {
      stay_loaded();  // a thread that ends calls this code
      if (pthread_key_create(&value, &free_at) != 0) throw std::bad_alloc();
    }
    static void free_at(void* at) {
      Arena*& arena = *static_cast<Arena**>(at);
      delete arena;
      arena = nullptr;
    }
  };
  struct Block {
    void* memory;
    i64 bytes;
    bool taken;
  };
  std::vector<Block> blocks_;
};

/// A block of an arena for the length of a scope.
class Scratch {
 public:
  Scratch(Arena& arena, i64 floats) : arena_(arena), data_(arena.take(floats)) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { arena_.give(data_); }
  float* data() const { return data_; }

 private:
  Arena& arena_;
  float* data_;
};

}  // namespace tilewright::cpu
