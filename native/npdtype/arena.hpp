// Storage of the sets that do not fit into a handle. There is one arena for all threads.
//
// Nodes are written once, before any other thread has their handle, and never move, so reading needs no lock. Space is
// allocated with one atomic addition. Only the table of hash-consed shapes has a lock, and it is used only if a union
// is not cached (unions.hpp). So loops may run without the GIL.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "npdtype/handle.hpp"

namespace whence::tracked {

// The arena or the numbering is used up.
struct Full : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A handle from before forget().
struct Forgotten : std::runtime_error {
  Forgotten() : std::runtime_error("this tracked array was made before whence.arrays.forget(); track its inputs again") {}
};

// The memory does not contain a handle: other numbers were written there, or strides split cells.
struct NoHandle : std::runtime_error {
  NoHandle()
      : std::runtime_error("the memory of this tracked array does not hold tracked cells: it was cut apart, or made of "
                           "bytes, by strides or by a buffer; index and slice the tracked array instead") {}
};

enum class Kind : uint64_t { list = 1, united = 2 };

struct Counts {
  uint64_t words, shapes, nodes, cells;
};

class Arena {
 public:
  static Arena& get();

  // Numbers n cells and returns the first number. One number is left unused, so that no interval spans two arrays.
  uint64_t number(uint64_t n);

  Handle list(const Block* blocks, size_t n);
  Handle unite(Handle a, Handle b);
  Handle unite(const Handle* handles, size_t n);
  // The same for handles that are `stride` bytes apart.
  Handle unite(const char* handles, ptrdiff_t stride, size_t n);

  // Returns the id of a shape (blocks relative to their origin), or -1 if there are too many.
  int64_t cons(const Block* blocks, size_t n);

  Kind kind(uint64_t place) const { return static_cast<Kind>(words_[place] & 0xff); }
  size_t size(uint64_t place) const { return words_[place] >> 8; }
  const Block* blocks(uint64_t place) const { return reinterpret_cast<const Block*>(words_ + place + 1); }
  const Handle* handles(uint64_t place) const { return words_ + place + 1; }
  uint64_t shape_place(uint64_t id) const { return shapes_[id]; }

  // Throws Forgotten if the origin or node is older than the last forget().
  void check_origin(uint64_t cell) const {
    if (cell < first_cell_.load(std::memory_order_relaxed)) throw Forgotten();
    if (cell >= next_cell_.load(std::memory_order_relaxed)) throw NoHandle();
  }
  void check_place(uint64_t place) const {
    if (place < first_word_.load(std::memory_order_relaxed)) throw Forgotten();
    const uint64_t used = used_.load(std::memory_order_relaxed);
    if (place >= used || (kind(place) != Kind::list && kind(place) != Kind::united) || size(place) > used - place) {
      throw NoHandle();
    }
  }

  // Drops every set and returns the memory to the system; no other thread may be computing with tracked arrays.
  void forget();
  uint64_t generation() const { return generation_.load(std::memory_order_relaxed); }
  Counts counts() const;

 private:
  Arena();
  uint64_t take(size_t words);
  void write_header(uint64_t place, Kind kind, size_t n) { words_[place] = static_cast<uint64_t>(kind) | (n << 8); }

  uint64_t* words_ = nullptr;
  size_t capacity_ = 0;
  std::atomic<uint64_t> used_{1}, first_word_{1}, nodes_{0};
  std::atomic<uint64_t> next_cell_{1}, first_cell_{1};
  std::atomic<uint64_t> generation_{1};

  std::mutex lock_;  // guards the members below
  uint64_t* shapes_ = nullptr;  // id -> position
  uint64_t shape_count_ = 0;
  std::vector<uint32_t> table_;  // open addressing: id + 1
};

}  // namespace whence::tracked
