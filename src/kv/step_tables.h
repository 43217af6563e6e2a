#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "headwise/device_memory.h"
#include "kv/sequence_table.h"

namespace headwise {

/// Block tables of a step as kernels read them, [groups, requests, columns] on the cache's device.
/// A request that has the sequence of the step before has its new entries copied alone.
class StepTables {
 public:
  StepTables(int requests, std::int32_t columns, int groups, const DeviceMemory& memory);

  /// Makes row `request` that of a sequence, in every group.
  void set(int request, SequenceId id, SequenceTable& sequences, void* stream) {
    const Sequence& sequence = sequences.row(id.row);
    const bool is_same =
        holders_[static_cast<std::size_t>(request)] == id.serial && sequence.step_row == request;
    if (!is_same || sequence.tables_changed) copy(request, id, is_same, sequences, stream);
  }

  /// [requests, columns]
  const std::int32_t* table(int group) const { return tables_.get() + row(group, 0); }

 private:
  void copy(int request, SequenceId id, bool is_same, SequenceTable& sequences, void* stream);
  std::int64_t row(int group, int request) const {
    return (std::int64_t{group} * static_cast<std::int64_t>(holders_.size()) + request) * columns_;
  }

  std::int32_t columns_;
  int groups_;
  const DeviceMemory* memory_;
  std::vector<std::uint64_t> holders_;  // by request: the serial of the sequence whose row it is
  std::shared_ptr<std::int32_t> tables_;
};

}  // namespace headwise
