// How this process's heap treats large blocks. Set once, when a program starts.
#pragma once

namespace interlude {

/// Keeps freed blocks of up to 32 MiB for the next use, up to 64 MiB at the end of each arena,
/// instead of giving them back to the kernel. glibc comes to the same limits by itself, but only
/// after a block of 32 MiB was freed. Without them the memory that gRPC reads sockets into goes
/// back and forth: every message meets fresh pages, and a copy of it into place costs less than
/// they do (transport_bench with and without this call: about twice the time). Before other
/// threads.
void KeepFreedMemory();

}  // namespace interlude
