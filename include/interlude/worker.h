// A worker as a program of your own: interlude-worker with your models in it. docs/own-model.md
// shows one.
#pragma once

namespace interlude {

/// Does all that the program interlude-worker does, with the same options; returns the exit status.
/// Call it first thing in main, after RegisterModel (interlude/model.h): it may start the program
/// anew, and it reads the command line.
int WorkerMain(int argc, char** argv);

}  // namespace interlude
