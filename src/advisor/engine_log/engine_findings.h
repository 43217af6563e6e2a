#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "advisor/engine_log/attention_kernels.h"
#include "advisor/engine_log/engine_log.h"
#include "advisor/model/model_description.h"

namespace headwise {

/// One thing that an engine chose, and whether it suits.
struct Finding {
  std::string subject;  ///< "kernel", "KV type", …
  Verdict verdict = Verdict::cannot_tell;
  std::string statement;  ///< what was chosen, for what
  std::string reason = {};
  std::string source = {};          ///< of the reason; empty: arithmetic, or the log itself
  std::vector<std::int64_t> lines;  ///< of the log
};

struct EngineCheck {
  std::vector<Finding> findings;
  std::vector<std::string> not_found;  ///< what would be needed, and neither log nor user said
  Verdict verdict = Verdict::cannot_tell;
};

/// What the user knows that the log does not say. The model must outlive the check.
struct KnownBesides {
  std::string gpu;                          ///< a GPU's name; empty: as logged
  const ModelDescription* model = nullptr;  ///< null: not known
};

/// Judges what `log` says by the rules of attention_kernels.h. Nothing is assumed: what depends on
/// something unknown cannot be told. The verdict is the worst of the findings'; "fits" only if the
/// kernel itself was found to fit. Throws Error if the user's GPU is not known.
EngineCheck check_engine(const EngineLog& log, const KnownBesides& known = {});

}  // namespace headwise
