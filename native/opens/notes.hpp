// What a process notes about the files of the project that it opens, as `_audit/sitecustomize.py` does for Python.
//
// It runs inside other people's programs, between any two of their calls, also in signal handlers: it takes no memory
// from the heap, makes system calls directly, leaves errno alone, and gives up silently.
#pragma once

#include <sys/types.h>

namespace opens {

// What opening a file is for: to make use of its content, to write another.
struct Purpose {
  bool uses;
  bool writes;
};

bool is_active();
Purpose purpose_of(int flags);
Purpose purpose_of(const char* mode);

// Before a file is opened that may be written: what it holds now may be what the run read.
void before_open(int directory, const char* path, Purpose purpose);
void after_open(int descriptor, Purpose purpose);

// A name that goes away; the real path that it stands for is kept until it is known whether it did.
struct Name {
  char path[4096];
  bool known = false;
};
void before_leaving(int directory, const char* path, Name& name);
void after_leaving(const Name& name);
void after_moving(int directory, const char* path, const Name& source);

void note_program(const char* path);

}  // namespace opens
