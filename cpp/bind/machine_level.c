/* Exits with the x86-64 level of the machine that builds: CMake runs it to choose what to compile. */
#include "x86_level.h"

int main(void) { return x86_level(); }
