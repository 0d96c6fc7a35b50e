#include "interlude/worker.h"

int main(int argc, char** argv) { return interlude::WorkerMain(argc, argv); }
