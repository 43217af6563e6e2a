#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "headwise/kv_step.h"
#include "headwise/prefix_key.h"
#include "kv/prefix_cache.h"

namespace headwise {

/// What a cache knows of a sequence, beside its block tables: a cache line of the processor's.
struct alignas(64) Sequence {
  std::uint64_t serial = 0;    ///< 0: the row is unused
  std::int32_t length = 0;     ///< tokens
  std::int32_t entries = 0;    ///< of its block tables
  std::int32_t step_row = -1;  ///< the row of the step tables that it had last
  bool in_step = false;
  bool owns_last_page = false;  ///< nobody else holds its last pages; false: perhaps
  bool tables_changed = false;  ///< since the step tables had them
  PrefixCursor cursor;
  std::shared_ptr<const PrefixKey> key;  ///< null: no extras
};

/// The sequences of a cache and their block tables, each in a row of its own that never moves.
/// Memory of rows is taken by the system as it is written to. Allocates nothing after it was made.
class SequenceTable {
 public:
  /// Throws Error(not_possible) where there is no memory for the tables.
  SequenceTable(int sequences, std::int32_t columns, int groups);

  std::int32_t columns() const { return columns_; }
  int count() const { return count_; }

  /// Throws Error(invalid_input) where the sequence has ended, or is of another cache.
  Sequence& at(SequenceId id) { return const_cast<Sequence&>(std::as_const(*this).at(id)); }
  const Sequence& at(SequenceId id) const {
    const bool in_range = static_cast<std::size_t>(id.row) < rows_.size();
    if (!in_range || id.serial == 0 || rows_[static_cast<std::size_t>(id.row)].serial != id.serial)
      refuse(id);
    return rows_[static_cast<std::size_t>(id.row)];
  }
  Sequence& row(std::int32_t row) { return rows_[static_cast<std::size_t>(row)]; }

  /// A new sequence without tokens. Throws Error(not_possible) where all rows are taken.
  SequenceId add();
  void remove(SequenceId id);

  /// [columns], the first `entries` of which count.
  std::int32_t* table(int group, std::int32_t row) {
    return tables_.get() + place(group, row) * columns_;
  }
  const std::int32_t* table(int group, std::int32_t row) const {
    return tables_.get() + place(group, row) * columns_;
  }
  /// The first entry that is no -1, at most `entries`.
  std::int32_t& first_kept(int group, std::int32_t row) {
    return first_kept_[static_cast<std::size_t>(place(group, row))];
  }
  /// The first entry that the step tables may not have yet.
  std::int32_t& changed_from(int group, std::int32_t row) {
    return changed_from_[static_cast<std::size_t>(place(group, row))];
  }
  void note_change(int group, std::int32_t row, std::int32_t entry) {
    std::int32_t& from = changed_from(group, row);
    if (entry < from) from = entry;
    rows_[static_cast<std::size_t>(row)].tables_changed = true;
  }

 private:
  struct Free {
    void operator()(std::int32_t* memory) const { std::free(memory); }
  };

  [[noreturn]] static void refuse(SequenceId id);
  std::int64_t place(int group, std::int32_t row) const {
    return std::int64_t{group} * static_cast<std::int64_t>(rows_.size()) + row;
  }

  std::vector<Sequence> rows_;
  std::vector<std::int32_t> unused_;
  int count_ = 0;
  int groups_;
  std::int32_t columns_;
  std::unique_ptr<std::int32_t[], Free> tables_;  // [groups, rows, columns]
  std::vector<std::int32_t> first_kept_;          // [groups, rows]
  std::vector<std::int32_t> changed_from_;        // [groups, rows]
};

}  // namespace headwise
