#include "npdtype/arena.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <cstring>
#include <new>

namespace whence::tracked {

namespace {

constexpr uint64_t kMostShapes = (uint64_t{1} << 25) - 1;
constexpr size_t kMostWords = size_t{1} << 33;   // 64 GiB of addresses; pages get memory when they are written
constexpr size_t kFewestWords = size_t{1} << 24;
constexpr size_t kPage = 4096;

// Reserves addresses without memory. If the system does not provide as many, it tries fewer.
uint64_t* reserve(size_t most, size_t fewest, size_t* got) {
  for (size_t words = most; words >= fewest; words /= 2) {
    void* p = mmap(nullptr, words * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) continue;
    *got = words;
    return static_cast<uint64_t*>(p);
  }
  throw std::bad_alloc();
}

uint64_t hash(const Block* blocks, size_t n) {
  uint64_t words[4];
  uint64_t h = n * 0x9e3779b97f4a7c15ULL;
  for (size_t i = 0; i < n; ++i) {
    std::memcpy(words, blocks + i, sizeof words);
    for (uint64_t w : words) {
      h = (h ^ w) * 0xd6e8feb86659fd93ULL;
      h ^= h >> 32;
    }
  }
  return h;
}

}  // namespace

Arena& Arena::get() {
  static Arena arena;
  return arena;
}

Arena::Arena() {
  size_t shapes = 0;
  words_ = reserve(kMostWords, kFewestWords, &capacity_);
  shapes_ = reserve(kMostShapes, kMostShapes, &shapes);
  madvise(words_, capacity_ * 8, MADV_HUGEPAGE);  // a hint: random reads of small pages are much slower
  // If a process forks while another thread holds the lock, nobody in the child would release it.
  pthread_atfork([] { get().lock_.lock(); }, [] { get().lock_.unlock(); }, [] { get().lock_.unlock(); });
}

uint64_t Arena::number(uint64_t n) {
  uint64_t first = next_cell_.load();
  do {
    if (n > kMostCells || first + n > kMostCells) {
      throw Full("2^36 cells have been tracked, which is all that can be numbered; call whence.arrays.forget()");
    }
  } while (!next_cell_.compare_exchange_weak(first, first + n + 1));
  return first;
}

uint64_t Arena::take(size_t words) {
  const uint64_t at = used_.fetch_add(words, std::memory_order_relaxed);
  if (at + words > capacity_) {
    used_.fetch_sub(words, std::memory_order_relaxed);
    throw Full("the lineage of all tracked arrays needs more than " + std::to_string(capacity_ >> 27) +
               " GiB; capture smaller steps, and call whence.arrays.forget() between them");
  }
  return at;
}

Handle Arena::list(const Block* blocks, size_t n) {
  const uint64_t at = take(1 + 4 * n);
  std::memcpy(words_ + at + 1, blocks, n * sizeof(Block));
  write_header(at, Kind::list, n);
  nodes_.fetch_add(1, std::memory_order_relaxed);
  return node(at);
}

Handle Arena::unite(Handle a, Handle b) {
  const Handle both[2] = {a < b ? a : b, a < b ? b : a};
  return unite(both, 2);
}

Handle Arena::unite(const Handle* handles, size_t n) {
  return unite(reinterpret_cast<const char*>(handles), sizeof(Handle), n);
}

Handle Arena::unite(const char* handles, ptrdiff_t stride, size_t n) {
  const uint64_t at = take(1 + n);
  for (size_t i = 0; i < n; ++i) std::memcpy(words_ + at + 1 + i, handles + static_cast<ptrdiff_t>(i) * stride, 8);
  write_header(at, Kind::united, n);
  nodes_.fetch_add(1, std::memory_order_relaxed);
  return node(at);
}

int64_t Arena::cons(const Block* blocks, size_t n) {
  std::lock_guard guard(lock_);
  if (table_.empty()) table_.assign(1 << 12, 0);
  if (shape_count_ * 2 >= table_.size() && shape_count_ < kMostShapes) {
    std::vector<uint32_t> wider(table_.size() * 4, 0);
    for (uint64_t id = 0; id < shape_count_; ++id) {
      const uint64_t at = shapes_[id];
      uint64_t k = hash(this->blocks(at), size(at)) & (wider.size() - 1);
      while (wider[k]) k = (k + 1) & (wider.size() - 1);
      wider[k] = static_cast<uint32_t>(id + 1);
    }
    table_.swap(wider);
  }
  uint64_t k = hash(blocks, n) & (table_.size() - 1);
  for (; table_[k]; k = (k + 1) & (table_.size() - 1)) {
    const uint64_t at = shapes_[table_[k] - 1];
    if (size(at) == n && std::memcmp(this->blocks(at), blocks, n * sizeof(Block)) == 0) return table_[k] - 1;
  }
  if (shape_count_ >= kMostShapes) return -1;
  shapes_[shape_count_] = place(list(blocks, n));
  table_[k] = static_cast<uint32_t>(++shape_count_);
  return static_cast<int64_t>(shape_count_ - 1);
}

void Arena::forget() {
  std::lock_guard guard(lock_);
  const uint64_t used = used_.load();
  const uint64_t from = first_word_.load() * 8 / kPage * kPage;
  if (used * 8 > from) madvise(reinterpret_cast<char*>(words_) + from, used * 8 - from, MADV_DONTNEED);
  // Cell and node numbers continue, so that old handles are recognised. When half of either is used up, they start
  // again, and old handles are no longer recognised.
  if (used > capacity_ / 2) used_ = 1;
  if (next_cell_.load() > kMostCells / 2) next_cell_ = 1;
  first_word_ = used_.load();
  first_cell_ = next_cell_.load();
  shape_count_ = 0;
  table_.clear();
  nodes_ = 0;
  ++generation_;
}

Counts Arena::counts() const {
  return {used_.load() - first_word_.load(), shape_count_, nodes_.load(), next_cell_.load() - first_cell_.load()};
}

}  // namespace whence::tracked
