#include "kv/sequence_table.h"

#include <atomic>

#include "core/check.h"

namespace headwise {
namespace {

/// Of all sequences of all caches, so that an id is never taken for another one's.
std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> serial{0};
  return ++serial;
}

}  // namespace

SequenceTable::SequenceTable(int sequences, std::int32_t columns, int groups)
    : rows_(static_cast<std::size_t>(sequences)),
      groups_(groups),
      columns_(columns),
      first_kept_(rows_.size() * static_cast<std::size_t>(groups)),
      changed_from_(first_kept_.size()) {
  unused_.reserve(rows_.size());
  for (std::int32_t row = sequences; row-- > 0;) unused_.push_back(row);
  // calloc's pages are the system's zeros until they are written to.
  tables_.reset(static_cast<std::int32_t*>(
      std::calloc(first_kept_.size() * static_cast<std::size_t>(columns), sizeof(std::int32_t))));
  if (!tables_)
    throw Error(ErrorCode::not_possible, concat("no memory for the block tables of ", sequences,
                                                " sequences of ", columns, " pages"));
}

void SequenceTable::refuse(SequenceId id) {
  throw Error(ErrorCode::invalid_input,
              concat("sequence ", id.serial, " has ended, or is another cache's"));
}

SequenceId SequenceTable::add() {
  if (unused_.empty())
    throw Error(ErrorCode::not_possible,
                concat("out of sequences: there are ", rows_.size(), ", as many as may be"));
  const std::int32_t row = unused_.back();
  unused_.pop_back();
  ++count_;
  Sequence& sequence = rows_[static_cast<std::size_t>(row)];
  sequence.serial = next_serial();
  for (int group = 0; group < groups_; ++group) {
    first_kept(group, row) = 0;
    changed_from(group, row) = 0;
  }
  return {row, sequence.serial};
}

void SequenceTable::remove(SequenceId id) {
  rows_[static_cast<std::size_t>(id.row)] = {};
  unused_.push_back(id.row);
  --count_;
}

}  // namespace headwise
