// An array of int64 that grows without being copied, if the system can move its pages, and is never zero-filled.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <utility>

namespace whence {

// The answer would not fit into memory: a set may be small in one form and huge in another. Python gets
// whence.errors.TooLarge.
struct TooLarge : std::length_error {
  using std::length_error::length_error;
};

// A box that is not inside its array. Python gets whence.errors.OutOfRange.
struct OutsideShape : std::out_of_range {
  using std::out_of_range::out_of_range;
};

// The most int64 values of an answer (2 GiB).
inline constexpr std::size_t kMaxValues = std::size_t{1} << 28;

class Values {
 public:
  Values() = default;
  explicit Values(std::size_t size) { resize(size); }
  Values(Values&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Values& operator=(Values&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Values() { std::free(data_); }

  int64_t* data() { return data_; }
  const int64_t* data() const { return data_; }
  std::size_t size() const { return size_; }

  // Makes room for at least `size` values, and for twice as many as now, up to kMaxValues.
  void grow(std::size_t size) {
    if (size > kMaxValues) throw TooLarge("the answer has too many separate boxes to hold in memory; ask for fewer cells at a time");
    resize(std::max(size, std::min(2 * size_, kMaxValues)));
  }

  void shrink(std::size_t size) {
    // Freeing a few unused values is not worth a call.
    if (size_ > size + size / 4 + 64) resize(size);
    size_ = size;
  }

  // Passes the memory to the caller, who frees it with std::free.
  int64_t* release() {
    size_ = 0;
    return std::exchange(data_, nullptr);
  }

 private:
  void resize(std::size_t size) {
    void* moved = std::realloc(data_, std::max<std::size_t>(size, 1) * sizeof(int64_t));
    if (!moved) throw std::bad_alloc();
    data_ = static_cast<int64_t*>(moved);
    size_ = size;
  }

  int64_t* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace whence
