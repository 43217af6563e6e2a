#pragma once

#include <functional>
#include <string_view>

namespace headwise {

/// Calls `take` with each field of a Python object as it prints itself, once past its first
/// bracket: "model='a', tp_size=8, inner=Inner(x=1))", "'model': 'a', …}", "model='a' tp_size=8 …".
/// Fields of what lies inside are not its own; strings, whatever they hold, are passed over whole.
/// Values come without quotes. Text that is cut off, or no such print at all, ends it early.
void for_each_repr_field(
    std::string_view text,
    const std::function<void(std::string_view name, std::string_view value)>& take);

}  // namespace headwise
