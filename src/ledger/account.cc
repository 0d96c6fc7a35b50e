#include "ledger/account.h"

#include <iterator>
#include <utility>

namespace interlude {
namespace {

template <typename T>
void Move(std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

void Account::Append(Account other) {
  Move(other.spans, spans);
  Move(other.stamps, stamps);
  Move(other.samples, samples);
  Move(other.memory, memory);
  Move(other.probes, probes);
}

}  // namespace interlude
