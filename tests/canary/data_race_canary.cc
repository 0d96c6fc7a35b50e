// Commits a data race on purpose: two threads write one int without any order between them.
#include <thread>

namespace {
int racing = 0;
}

int main() {
  std::thread first([] { racing = 1; });
  std::thread second([] { racing = 2; });
  first.join();
  second.join();
  return racing == 0 ? 1 : 0;
}
