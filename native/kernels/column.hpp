// A column of integers of a part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace whence {

// A column of integers that needs no memory while it is constant or affine in the row number.
class Column {
 public:
  Column() = default;
  Column(int64_t first, int64_t step) : first_(first), step_(step) {}
  explicit Column(std::vector<int64_t> values);
  // The same for values that `owner` keeps, which must not change.
  Column(std::span<const int64_t> values, std::shared_ptr<const void> owner);
  int64_t operator[](size_t i) const {
    // Wraps around if numbers from a file are too large; validation detects that.
    return data_ == nullptr ? static_cast<int64_t>(static_cast<uint64_t>(first_) + static_cast<uint64_t>(step_) * i)
                            : data_[i];
  }
  bool dense() const { return data_ != nullptr; }
  void push_back(int64_t value);
  int64_t first() const { return first_; }
  int64_t step() const { return step_; }
  std::span<const int64_t> values() const { return {data_, dense() ? size_ : 0}; }

 private:
  int64_t first_ = 0;
  int64_t step_ = 0;
  const int64_t* data_ = nullptr;  // in `own_`, or kept by `owner_`
  size_t size_ = 0;                // the number of values, unless the column was made from a first value and a step
  std::shared_ptr<std::vector<int64_t>> own_;
  std::shared_ptr<const void> owner_;
};

}  // namespace whence
