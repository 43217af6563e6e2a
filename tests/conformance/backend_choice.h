#pragma once

#include <string>
#include <vector>

#include "headwise/backend.h"

namespace headwise::conformance {

/// The backends that tests judge: all, or those that HEADWISE_BACKENDS names, separated by commas;
/// `cpu` and `cuda` stand for all of a kind. Throws Error(unknown_name) that lists the names.
std::vector<const Backend*> chosen_backends();

/// Whether HEADWISE_BACKENDS leaves `backend` in.
bool is_chosen(const Backend& backend);

/// Why none of the chosen backends can run here at all: they are for GPUs and there is none, or
/// this build lacks them. Empty: some can.
std::string why_nothing_can_run();

/// Where tests put the tensors of a backend: the CPU, or cuda:0.
Device device_for(const Backend& backend);

}  // namespace headwise::conformance
