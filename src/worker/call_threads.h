// Runs the parts of an exchange side by side and watches over them. Knows nothing of what they do.
#pragma once

#include <functional>
#include <vector>

#include "base/status.h"

namespace interlude {

/// Runs each of `parts` on a thread of its own and waits for all. When one fails, or keep_going
/// says no (it is asked several times a second), `give_up` is called once: it must make the others
/// return soon. The first failure in time, or Cancelled.
Status RunTogether(const std::vector<std::function<Status()>>& parts,
                   const std::function<bool()>& keep_going, const std::function<void()>& give_up);

}  // namespace interlude
