#include "kernels/column.hpp"

#include <utility>

namespace whence {

Column::Column(std::vector<int64_t> values) : Column(std::span<const int64_t>(values), nullptr) {
  if (!dense()) return;
  own_ = std::make_shared<std::vector<int64_t>>(std::move(values));
  own_->shrink_to_fit();
  data_ = own_->data();
}

Column::Column(std::span<const int64_t> values, std::shared_ptr<const void> owner) : size_(values.size()) {
  if (values.empty()) return;
  const auto step = [&](size_t i) {  // not signed: numbers from a file may have any value
    return static_cast<int64_t>(static_cast<uint64_t>(values[i]) - static_cast<uint64_t>(values[i - 1]));
  };
  first_ = values[0];
  step_ = values.size() > 1 ? step(1) : 0;
  for (size_t i = 1; i < values.size(); ++i) {
    if (step(i) != step_) {
      data_ = values.data();
      owner_ = std::move(owner);
      return;
    }
  }
}

void Column::push_back(int64_t value) {
  if (!dense()) {
    if (size_ == 0) first_ = value;
    if (size_ == 1) step_ = value - first_;
    if (size_ <= 1 || value == (*this)[size_]) {
      ++size_;
      return;
    }
  }
  if (own_ == nullptr || own_.use_count() > 1) {  // another column may have the same values
    auto grown = std::make_shared<std::vector<int64_t>>();
    grown->reserve(size_ + 1);
    for (size_t i = 0; i < size_; ++i) grown->push_back((*this)[i]);
    own_ = std::move(grown);
    owner_ = nullptr;
  }
  own_->push_back(value);
  data_ = own_->data();
  ++size_;
}

}  // namespace whence
