// Small exact changes of a picture: turning it upright, gray to color and back. Any thread.
#pragma once

#include "images/picture.h"

namespace interlude {

/// Turns a picture that EXIF says is stored in `orientation` (1 to 8; anything else counts as 1)
/// upright.
void TurnUpright(int orientation, Picture& picture);

/// Gray as three equal colors, or colors as gray (0.299 red + 0.587 green + 0.114 blue, rounded).
void SetChannels(uint32_t channels, Picture& picture);

}  // namespace interlude
