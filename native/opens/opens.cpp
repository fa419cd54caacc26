// Wrappers of the C library functions that open, rename, remove and run files, so that `whence run` sees what programs
// read.
//
// They are defined under other names, with the real names as assembler names, because headers declare the real ones
// differently in different C libraries. Each calls the original, and notes the file.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <spawn.h>

#include <cstdarg>

#include "notes.hpp"

#define EXPORTED(result, name, real, ...) \
  extern "C" __attribute__((visibility("default"))) result name(__VA_ARGS__) __asm__(real);

namespace {

template <class Function>
Function* original(Function*& held, const char* name) {
  if (!held) held = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  return held;
}

struct Kept {  // preserves the program's errno
  int value = errno;
  ~Kept() { errno = value; }
};

template <class Call>
int opened(int directory, const char* path, opens::Purpose purpose, Call call) {
  if (!path || !opens::is_active()) return call();
  {
    Kept kept;
    opens::before_open(directory, path, purpose);
  }
  const int found = call();
  if (found >= 0) {
    Kept kept;
    opens::after_open(found, purpose);
  }
  return found;
}

template <class Call>
FILE* streamed(const char* path, const char* mode, Call call) {
  if (!path || !mode || !opens::is_active()) return call();
  const opens::Purpose purpose = opens::purpose_of(mode);
  {
    Kept kept;
    opens::before_open(AT_FDCWD, path, purpose);
  }
  FILE* const found = call();
  if (found) {
    Kept kept;
    opens::after_open(fileno(found), purpose);
  }
  return found;
}

template <class Call>
int removed(int directory, const char* path, Call call) {
  if (!path || !opens::is_active()) return call();
  opens::Name name;
  {
    Kept kept;
    opens::before_leaving(directory, path, name);
  }
  const int found = call();
  if (found == 0) {
    Kept kept;
    opens::after_leaving(name);
  }
  return found;
}

template <class Call>
int moved(int from, const char* source, int to, const char* target, bool leaves, Call call) {
  if (!source || !target || !opens::is_active()) return call();
  opens::Name name, replaced;
  {
    Kept kept;
    opens::before_leaving(from, source, name);
    opens::before_leaving(to, target, replaced);
  }
  const int found = call();
  if (found == 0) {
    Kept kept;
    if (leaves) opens::after_leaving(name);
    opens::after_moving(to, target, name);
  }
  return found;
}

void started(const char* path) {
  if (!path || !opens::is_active()) return;
  Kept kept;
  opens::note_program(path);
}

mode_t mode_of(int flags, va_list& rest) {
  return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? static_cast<mode_t>(va_arg(rest, unsigned)) : 0;
}

}  // namespace

#define OPEN(name, real)                                                                                     \
  EXPORTED(int, name, real, const char*, int, ...)                                                           \
  int name(const char* path, int flags, ...) {                                                               \
    static int (*next)(const char*, int, ...);                                                               \
    va_list rest;                                                                                            \
    va_start(rest, flags);                                                                                   \
    const mode_t mode = mode_of(flags, rest);                                                                \
    va_end(rest);                                                                                            \
    return opened(AT_FDCWD, path, opens::purpose_of(flags), [&] { return original(next, real)(path, flags, mode); }); \
  }
OPEN(our_open, "open")
OPEN(our_open64, "open64")

#define OPENAT(name, real)                                                                                            \
  EXPORTED(int, name, real, int, const char*, int, ...)                                                               \
  int name(int directory, const char* path, int flags, ...) {                                                         \
    static int (*next)(int, const char*, int, ...);                                                                   \
    va_list rest;                                                                                                     \
    va_start(rest, flags);                                                                                            \
    const mode_t mode = mode_of(flags, rest);                                                                         \
    va_end(rest);                                                                                                     \
    return opened(directory, path, opens::purpose_of(flags),                                                          \
                  [&] { return original(next, real)(directory, path, flags, mode); });                                \
  }
OPENAT(our_openat, "openat")
OPENAT(our_openat64, "openat64")

// Functions that programs call if they were compiled with argument checks.
#define OPEN_2(name, real)                                                                                      \
  EXPORTED(int, name, real, const char*, int)                                                                   \
  int name(const char* path, int flags) {                                                                       \
    static int (*next)(const char*, int);                                                                       \
    return opened(AT_FDCWD, path, opens::purpose_of(flags), [&] { return original(next, real)(path, flags); }); \
  }
OPEN_2(our_open_2, "__open_2")
OPEN_2(our_open64_2, "__open64_2")

#define OPENAT_2(name, real)                                                         \
  EXPORTED(int, name, real, int, const char*, int)                                   \
  int name(int directory, const char* path, int flags) {                             \
    static int (*next)(int, const char*, int);                                       \
    return opened(directory, path, opens::purpose_of(flags),                         \
                  [&] { return original(next, real)(directory, path, flags); });     \
  }
OPENAT_2(our_openat_2, "__openat_2")
OPENAT_2(our_openat64_2, "__openat64_2")

#define CREAT(name, real)                                                                                   \
  EXPORTED(int, name, real, const char*, mode_t)                                                            \
  int name(const char* path, mode_t mode) {                                                                 \
    static int (*next)(const char*, mode_t);                                                                \
    return opened(AT_FDCWD, path, {false, true}, [&] { return original(next, real)(path, mode); });         \
  }
CREAT(our_creat, "creat")
CREAT(our_creat64, "creat64")

#define FOPEN(name, real)                                                                       \
  EXPORTED(FILE*, name, real, const char*, const char*)                                         \
  FILE* name(const char* path, const char* mode) {                                              \
    static FILE* (*next)(const char*, const char*);                                             \
    return streamed(path, mode, [&] { return original(next, real)(path, mode); });              \
  }
FOPEN(our_fopen, "fopen")
FOPEN(our_fopen64, "fopen64")

#define FREOPEN(name, real)                                                                     \
  EXPORTED(FILE*, name, real, const char*, const char*, FILE*)                                  \
  FILE* name(const char* path, const char* mode, FILE* stream) {                                \
    static FILE* (*next)(const char*, const char*, FILE*);                                      \
    return streamed(path, mode, [&] { return original(next, real)(path, mode, stream); });      \
  }
FREOPEN(our_freopen, "freopen")
FREOPEN(our_freopen64, "freopen64")

#define TRUNCATE(name, real)                                                                                        \
  EXPORTED(int, name, real, const char*, off_t)                                                                     \
  int name(const char* path, off_t size) {                                                                          \
    static int (*next)(const char*, off_t);                                                                         \
    if (path && opens::is_active()) {                                                                               \
      Kept kept;                                                                                                    \
      opens::before_open(AT_FDCWD, path, {true, true});                                                             \
    }                                                                                                               \
    return original(next, real)(path, size);                                                                        \
  }
TRUNCATE(our_truncate, "truncate")
TRUNCATE(our_truncate64, "truncate64")

EXPORTED(int, our_unlink, "unlink", const char*)
int our_unlink(const char* path) {
  static int (*next)(const char*);
  return removed(AT_FDCWD, path, [&] { return original(next, "unlink")(path); });
}

EXPORTED(int, our_remove, "remove", const char*)
int our_remove(const char* path) {
  static int (*next)(const char*);
  return removed(AT_FDCWD, path, [&] { return original(next, "remove")(path); });
}

EXPORTED(int, our_unlinkat, "unlinkat", int, const char*, int)
int our_unlinkat(int directory, const char* path, int flags) {
  static int (*next)(int, const char*, int);
  return removed(directory, path, [&] { return original(next, "unlinkat")(directory, path, flags); });
}

EXPORTED(int, our_rename, "rename", const char*, const char*)
int our_rename(const char* source, const char* target) {
  static int (*next)(const char*, const char*);
  return moved(AT_FDCWD, source, AT_FDCWD, target, true, [&] { return original(next, "rename")(source, target); });
}

EXPORTED(int, our_renameat, "renameat", int, const char*, int, const char*)
int our_renameat(int from, const char* source, int to, const char* target) {
  static int (*next)(int, const char*, int, const char*);
  return moved(from, source, to, target, true, [&] { return original(next, "renameat")(from, source, to, target); });
}

EXPORTED(int, our_renameat2, "renameat2", int, const char*, int, const char*, unsigned)
int our_renameat2(int from, const char* source, int to, const char* target, unsigned flags) {
  static int (*next)(int, const char*, int, const char*, unsigned);
  return moved(from, source, to, target, true,
               [&] { return original(next, "renameat2")(from, source, to, target, flags); });
}

EXPORTED(int, our_link, "link", const char*, const char*)
int our_link(const char* source, const char* target) {
  static int (*next)(const char*, const char*);
  return moved(AT_FDCWD, source, AT_FDCWD, target, false, [&] { return original(next, "link")(source, target); });
}

EXPORTED(int, our_linkat, "linkat", int, const char*, int, const char*, int)
int our_linkat(int from, const char* source, int to, const char* target, int flags) {
  static int (*next)(int, const char*, int, const char*, int);
  return moved(from, source, to, target, false,
               [&] { return original(next, "linkat")(from, source, to, target, flags); });
}

// Programs that are started: it is checked afterwards whether this library can be loaded into them.

EXPORTED(int, our_execve, "execve", const char*, char* const*, char* const*)
int our_execve(const char* path, char* const* arguments, char* const* environment) {
  static int (*next)(const char*, char* const*, char* const*);
  started(path);
  return original(next, "execve")(path, arguments, environment);
}

EXPORTED(int, our_execv, "execv", const char*, char* const*)
int our_execv(const char* path, char* const* arguments) {
  static int (*next)(const char*, char* const*);
  started(path);
  return original(next, "execv")(path, arguments);
}

EXPORTED(int, our_execvp, "execvp", const char*, char* const*)
int our_execvp(const char* path, char* const* arguments) {
  static int (*next)(const char*, char* const*);
  started(path);
  return original(next, "execvp")(path, arguments);
}

#define SPAWN(name, real)                                                                                             \
  EXPORTED(int, name, real, pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,         \
           char* const*, char* const*)                                                                                \
  int name(pid_t* process, const char* path, const posix_spawn_file_actions_t* actions,                               \
           const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {                   \
    static int (*next)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*, \
                       char* const*);                                                                                 \
    started(path);                                                                                                    \
    return original(next, real)(process, path, actions, attributes, arguments, environment);                          \
  }
SPAWN(our_spawn, "posix_spawn")
SPAWN(our_spawnp, "posix_spawnp")
