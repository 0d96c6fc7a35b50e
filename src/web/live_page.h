// The live page: the report of a run while it goes on, for a browser, and its metrics, from the
// coordinator's process but off the way of its rounds: threads of its own that read run.db. What is
// served and how it is protected: docs/live.md.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"

namespace interlude {

struct LivePageOptions {
  /// HOST:PORT; port 0 lets the system choose.
  std::string address;
  /// What a reader must show where other machines reach the address; not asked for on loopback.
  std::string token;
  /// Without a token on such an address all the same: everybody who reaches it may read.
  bool insecure = false;
};

/// Any thread; Show and Hide one at a time.
class LivePage {
 public:
  /// Binds and answers. InvalidArgument for an address that others reach without a token, and for
  /// what is no address; Unavailable when it cannot be had. `clock` outlives it.
  static StatusOr<std::unique_ptr<LivePage>> Start(const LivePageOptions& options,
                                                   const Clock& clock);
  /// Cuts all connections off. Waits for nobody but an analysis that runs.
  virtual ~LivePage() = default;

  /// "127.0.0.1:43517".
  virtual const std::string& address() const = 0;

  /// Serves the run in this directory, which has a run.db already.
  virtual void Show(const std::string& directory) = 0;
  /// Serves none. On return the run's files are closed; it waits for at most one analysis.
  virtual void Hide() = 0;
};

}  // namespace interlude
