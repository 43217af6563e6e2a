#include "kv/step_tables.h"

namespace headwise {

StepTables::StepTables(int requests, std::int32_t columns, int groups, const DeviceMemory& memory)
    : columns_(columns),
      groups_(groups),
      memory_(&memory),
      holders_(static_cast<std::size_t>(requests)) {
  const std::shared_ptr<std::byte> bytes =
      memory.allocate(row(groups, 0) * std::int64_t{sizeof(std::int32_t)});
  tables_ = {bytes, reinterpret_cast<std::int32_t*>(bytes.get())};
}

void StepTables::copy(int request, SequenceId id, bool is_same, SequenceTable& sequences,
                      void* stream) {
  Sequence& sequence = sequences.row(id.row);
  std::uint64_t& holder = holders_[static_cast<std::size_t>(request)];
  holder = 0;  // nobody's, should a copy fail
  for (int group = 0; group < groups_; ++group) {
    std::int32_t& changed_from = sequences.changed_from(group, id.row);
    if (!is_same) changed_from = 0;
    if (changed_from < sequence.entries) {
      std::int32_t* to = tables_.get() + row(group, request) + changed_from;
      memory_->upload(
          reinterpret_cast<std::byte*>(to), sequences.table(group, id.row) + changed_from,
          (sequence.entries - changed_from) * std::int64_t{sizeof(std::int32_t)}, stream);
    }
    changed_from = sequence.entries;
  }
  holder = id.serial;
  sequence.tables_changed = false;
  sequence.step_row = request;
}

}  // namespace headwise
