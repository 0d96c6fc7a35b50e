// The backends of RankGroup, as far as this program was built with them.
#pragma once

#include <memory>

#include "train/rank_group.h"

namespace interlude {

std::unique_ptr<RankGroup> CreateGlooGroup(RankPlace place);
std::unique_ptr<RankGroup> CreateNcclGroup(RankPlace place);

}  // namespace interlude
