#pragma once

namespace headwise {

/// CPU threads that this process may run on: the affinity mask, cut by a cgroup's quota.
int available_threads();

}  // namespace headwise
