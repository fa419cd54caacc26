// Notes the files of the project that a process opens, as `_audit/sitecustomize.py` does for Python.
//
// It runs inside other programs, between any two of their calls, also in signal handlers: it does not use the heap,
// makes system calls directly, preserves errno, and fails silently.
#pragma once

#include <sys/types.h>

namespace opens {

// The purpose of opening a file: to use its content, to write to it.
struct Purpose {
  bool uses;
  bool writes;
};

bool is_active();
Purpose purpose_of(int flags);
Purpose purpose_of(const char* mode);

// Called before a file is opened that may be written: its present content may be what the run read.
void before_open(int directory, const char* path, Purpose purpose);
void after_open(int descriptor, Purpose purpose);

// A name that is about to disappear, with its real path, until it is known whether it did.
struct Name {
  char path[4096];
  bool known = false;
};
void before_leaving(int directory, const char* path, Name& name);
void after_leaving(const Name& name);
void after_moving(int directory, const char* path, const Name& source);

void note_program(const char* path);

}  // namespace opens
