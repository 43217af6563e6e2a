#pragma once

#include "attention/key_runs.h"
#include "cpu/tiled/tile.h"
#include "headwise/kv_binding.h"

namespace headwise::tiled {

/// Finds the keys of one KV head of a request, a tile at a time: the only place that looks into
/// block tables. Entries of pages without a key in `seen` are not read.
class KeyReader {
 public:
  /// `zeros`: at least a row of K and of V. All arguments must outlive the reader.
  KeyReader(const AttentionShape& shape, const StepBatch& step, const KvView& kv,
            const Request& request, int kv_head, const PositionRange& seen, const std::byte* zeros);

  /// Slots slot ... slot + 63; what lies past the request's keys is dead.
  void read(std::int64_t slot, KeyTile& tile) const;

 private:
  /// Where a view's rows of this head begin, and their distances in bytes.
  struct Rows {
    const std::byte* base = nullptr;
    std::int64_t page = 0;
    std::int64_t token = 0;

    Rows() = default;
    Rows(const TensorView& view, KvLayout layout, int kv_head);
    const std::byte* at(const KeyRun& run) const {
      return base + run.page * page + run.token * token;
    }
  };

  KeyRun piece(std::int64_t slot, std::int64_t end) const;
  KeyRun seen_part(const KeyRun& all) const;
  void fetch_scales(std::int64_t slot) const;
  void fill_live(const KeyRun& run, std::int64_t first_slot, KeyTile& tile) const;
  void fill_dead(int begin, int end, KeyTile& tile) const;

  const StepBatch& step_;
  const Request& request_;
  PositionRange seen_;
  std::int64_t table_row_ = 0;
  Rows k_, v_, k_scale_, v_scale_;
  bool scaled_ = false;
  const std::byte* zeros_;
};

}  // namespace headwise::tiled
