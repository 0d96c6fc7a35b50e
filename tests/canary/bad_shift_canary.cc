// Commits a bad shift on purpose: by more than the width of the type.
int main(int argc, char**) {
  return (1 << (39 + argc)) == 7 ? 1 : 0;  // argc is 1
}
