#include "engine/generation.h"

namespace headwise {

const char* name_of(Finish finish) {
  switch (finish) {
    case Finish::end_token:
      return "end_token";
    case Finish::stop_text:
      return "stop_text";
    case Finish::max_new:
      return "max_new";
    case Finish::context:
      return "context";
    case Finish::stopped:
      return "stopped";
  }
  return "";
}

}  // namespace headwise
