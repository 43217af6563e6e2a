#pragma once

#include <stdexcept>
#include <string>

namespace headwise {

/// What went wrong, as far as a caller can act on it.
enum class ErrorCode {
  invalid_input,  ///< a field, tensor or file is out of range or inconsistent
  unknown_name,   ///< a backend, option or type that nobody knows
  not_possible,   ///< well formed, but not on this machine or not by this backend
};

/// The one exception type of the library. Its text is one line and holds the offending field and
/// value. A call that throws has written nothing.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace headwise
