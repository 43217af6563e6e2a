#pragma once

#include <memory>
#include <vector>

#include "headwise/append_kv.h"
#include "headwise/backend.h"
#include "headwise/step_batch.h"
#include "tests/kv/token_numbers.h"

namespace headwise {

/// K and V of some texts in one layer, a text's pages one behind the other, made without a cache.
class PlainLayer {
 public:
  PlainLayer(const AttentionShape& shape, const NumberPlace& place, int page_size,
             const std::vector<const TokenText*>& texts, const RunArgs& scales);

  KvView view() const { return view_; }
  const BlockTables& tables() const { return tables_; }

 private:
  std::int32_t pages_of(std::int32_t tokens) const {
    return (tokens + tables_.page_size - 1) / tables_.page_size;
  }
  void add_row(std::int32_t pages);
  MutableTensorView part(DType type, int dim);
  void make_views();
  void write(NumberPlace place, const std::vector<const TokenText*>& texts, const RunArgs& scales);

  AttentionShape shape_;
  std::vector<std::int32_t> lens_, table_;
  std::vector<std::shared_ptr<std::byte>> memory_;
  BlockTables tables_;
  MutableKvView view_;
};

}  // namespace headwise
