#pragma once

#include <string>
#include <string_view>

#include "advisor/time/deployment.h"

namespace headwise {

/// The widths above 1: "TP8/EP8", "ADP8/EP8", "TP2/KVP4/EP8/PP2"; "TP1" of one device. TPFF is
/// named where the feed-forward's width is not that of an attention group, tp * kvp.
std::string plan_name(const Deployment& plan);

/// `types` with the widths of a name, in any letters and with any of "/,-_ " between its parts:
/// "tp8ep8". What it leaves out is 1, TPFF that of an attention group. Throws Error that quotes
/// what cannot be read.
Deployment parse_plan(std::string_view name, Deployment types);

}  // namespace headwise
