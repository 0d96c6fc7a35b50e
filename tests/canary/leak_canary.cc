// Leaks on purpose: drops the only pointer to a block.
int main(int argc, char**) {
  int* volatile block = new int[16];
  block[0] = argc;
  block = nullptr;
  return 0;
}
