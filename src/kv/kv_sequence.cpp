#include "kv/kv_sequence.h"

#include <limits>

#include "core/check.h"

namespace headwise {

KvSequence::~KvSequence() { pool_->give_back(pages_); }

std::int64_t KvSequence::capacity() const {
  return static_cast<std::int64_t>(pages_.size()) * pool_->shape().page_size;
}

void KvSequence::reserve(std::int64_t tokens) {
  check(tokens >= 0 && tokens <= std::numeric_limits<std::int32_t>::max() - length_,
        "a sequence of ", length_, " tokens cannot take ", tokens, " more");
  const std::int64_t lacking = length_ + tokens - capacity();
  if (lacking <= 0) return;
  const std::int64_t page_size = pool_->shape().page_size;
  pool_->take((lacking + page_size - 1) / page_size, pages_);
}

void KvSequence::advance(std::int64_t tokens) {
  check(tokens >= 0 && length_ + tokens <= capacity(), "no room was made for ", tokens,
        " tokens behind ", length_);
  length_ += static_cast<std::int32_t>(tokens);
}

BlockTables KvSequence::tables() const {
  return {.page_size = pool_->shape().page_size,
          .pool_pages = pool_->shape().pages,
          .columns = static_cast<std::int32_t>(pages_.size()),
          .pages = pages_.data(),
          .request_stride = static_cast<std::int64_t>(pages_.size())};
}

}  // namespace headwise
