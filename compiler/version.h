/* The version that `lathe --version` and emitted files state. */
#ifndef VERSION_H
#define VERSION_H
#define LATHE_VERSION "0.1.0"
#endif
