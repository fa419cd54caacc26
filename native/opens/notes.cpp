#include "notes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "sha256.hpp"

namespace opens {
namespace {

constexpr std::size_t kLongest = 4096;
constexpr long long kLargest = 1LL << 30;  // the previous content of larger files that are changed is not recorded
constexpr std::size_t kRemembered = 1 << 12;

char notes[kLongest], project[kLongest];  // the latter ends with a slash
std::size_t project_size = 0;
std::atomic<int> state{0};  // 0: not checked yet, 1: note files, 2: do not
std::atomic<std::uint64_t> remembered[kRemembered];

int open_directly(int directory, const char* path, int flags, int mode = 0) {
  return static_cast<int>(syscall(SYS_openat, directory, path, flags | O_CLOEXEC, mode));
}

void close_directly(int descriptor) { syscall(SYS_close, descriptor); }

struct Text {  // a string of limited size; if it does not fit, it is not used
  char held[3 * kLongest];
  std::size_t size = 0;
  bool full = false;

  void add(const char* data, std::size_t count) {
    if (full || count > sizeof held - size) {
      full = true;
      return;
    }
    std::memcpy(held + size, data, count);
    size += count;
  }
  void add(const char* text) { add(text, std::strlen(text)); }
  void end() { add("", 1); }
  void number(long long value) {
    char digits[24];
    int place = sizeof digits;
    unsigned long long left = value < 0 ? 0ULL - static_cast<unsigned long long>(value) : value;
    do digits[--place] = static_cast<char>('0' + left % 10);
    while (left /= 10);
    if (value < 0) digits[--place] = '-';
    add(digits + place, sizeof digits - place);
  }
  void stamp(const struct stat& found) {
    const auto nanoseconds = [](const timespec& time) { return time.tv_sec * 1'000'000'000LL + time.tv_nsec; };
    number(found.st_size), add(":");
    number(nanoseconds(found.st_mtim)), add(":");
    number(static_cast<long long>(found.st_ino)), add(":");
    number(nanoseconds(found.st_ctim));
  }
};

void write_note(const char* kind, const char* path, const Text& value) {
  Text line;
  line.add(kind), line.end();
  line.add(path), line.end();
  line.add(value.held, value.size), line.end();
  line.add("\n");
  if (line.full || value.full) return;
  const int place = open_directly(AT_FDCWD, notes, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (place < 0) return;
  syscall(SYS_write, place, line.held, line.size);  // one write, because programs that run in parallel share the file
  close_directly(place);
}

void write_note(const char* kind, const char* path) { write_note(kind, path, Text{}); }

bool is_first(const char* kind, const char* path, const Text& value) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&hash](const char* data, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<unsigned char>(data[i])) * 0x100000001b3;
  };
  mix(kind, std::strlen(kind) + 1), mix(path, std::strlen(path) + 1), mix(value.held, value.size);
  hash = hash ? hash : 1;
  return remembered[hash % kRemembered].exchange(hash, std::memory_order_relaxed) != hash;
}

// Finds the real path of an open file; returns false if it has none, or it is too long.
bool path_of(int descriptor, char* path) {
  char link[40] = "/proc/self/fd/";
  Text digits;
  digits.number(descriptor), digits.end();
  std::memcpy(link + std::strlen(link), digits.held, digits.size);
  const ssize_t size = readlink(link, path, kLongest - 1);
  if (size <= 0 || size >= static_cast<ssize_t>(kLongest) - 1) return false;
  path[size] = 0;
  return true;
}

bool is_inside(const char* path) { return std::strncmp(path, project, project_size) == 0; }

// Hidden files, files of a log and Python caches are not recorded.
bool is_hidden(const char* path) {
  for (const char* part = path + project_size;;) {
    const char* end = std::strchr(part, '/');
    const std::size_t size = end ? static_cast<std::size_t>(end - part) : std::strlen(part);
    if (size && *part == '.') return true;
    if (size >= 7 && std::memcmp(part + size - 7, ".whence", 7) == 0) return true;
    if (size == 11 && std::memcmp(part, "__pycache__", 11) == 0) return true;
    if (!end) return false;
    part = end + 1;
  }
}

bool is_of_interest(const char* path) { return is_inside(path) && !is_hidden(path); }

// Whether a process of the run noted a line that begins like this.
bool is_noted(const Text& wanted) {
  const int place = open_directly(AT_FDCWD, notes, O_RDONLY);
  if (place < 0) return false;
  struct stat found;
  bool result = false;
  if (!wanted.full && fstat(place, &found) == 0 && found.st_size > 0) {
    const std::size_t size = static_cast<std::size_t>(found.st_size);
    void* held = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, place, 0);
    if (held != MAP_FAILED) {
      result = memmem(held, size, wanted.held, wanted.size) != nullptr;
      munmap(held, size);
    }
  }
  close_directly(place);
  return result;
}

bool is_read(const char* path) {
  Text wanted;
  wanted.add("read"), wanted.end(), wanted.add(path), wanted.end();
  return is_noted(wanted);
}

void note_content(const char* path, const struct stat& before) {
  Text value, wanted;
  value.stamp(before), value.add(":");
  wanted.add("was"), wanted.end(), wanted.add(path), wanted.end(), wanted.add(value.held, value.size);
  if (before.st_size > kLargest || is_noted(wanted)) return;
  const int place = open_directly(AT_FDCWD, path, O_RDONLY | O_NOCTTY | O_NOFOLLOW);
  if (place < 0) return;
  Sha256 digest;
  unsigned char chunk[1 << 15];
  ssize_t got;
  while ((got = read(place, chunk, sizeof chunk)) > 0) digest.update(chunk, static_cast<std::size_t>(got));
  close_directly(place);
  if (got < 0) return;
  char text[65];
  digest.finish(text);
  value.add(text);
  write_note("was", path, value);
}

// A file is about to change or disappear: its content is noted if the run used it, or uses it now.
void before_change(const char* path, const struct stat& found, bool uses) {
  if (!S_ISREG(found.st_mode) || is_hidden(path)) return;
  if (uses) {
    Text value;
    value.stamp(found);
    if (!is_first("change", path, value)) return;
    write_note("read", path, value);
    note_content(path, found);
  } else if (is_read(path)) {
    note_content(path, found);
  }
}

void look() {
  const char* noted = getenv("WHENCE_RUN_NOTES");
  const char* within = getenv("WHENCE_RUN_PROJECT");
  const std::size_t size = within ? std::strlen(within) : 0;
  if (!noted || !size || size + 2 > kLongest || std::strlen(noted) + 1 > kLongest) {
    state = 2;
    return;
  }
  std::strcpy(notes, noted);
  std::memcpy(project, within, size + 1);
  project_size = size;
  if (project[size - 1] != '/') project[project_size++] = '/', project[project_size] = 0;
  state = 1;
}

__attribute__((constructor)) void begin() {
  if (!is_active()) return;
  char path[kLongest];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
  path[size > 0 ? size : 0] = 0;
  Text process;
  process.number(getpid());
  write_note("native", path, process);
  struct stat found;
  if (size > 0 && is_of_interest(path) && stat(path, &found) == 0 && S_ISREG(found.st_mode)) {
    Text value;  // the result depends on a program of the project, too
    value.stamp(found);
    write_note("read", path, value);
  }
}

}  // namespace

bool is_active() {
  if (state == 0) look();
  return state == 1 && !getenv("WHENCE_RUN_PAUSED");
}

// Like `purpose` in `_audit/sitecustomize.py`: a file that is truncated on opening is not used.
Purpose purpose_of(int flags) {
  if (flags & (O_PATH | O_DIRECTORY)) return {false, false};
  const bool is_empty = flags & O_TRUNC || (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
  return {!is_empty, (flags & O_ACCMODE) != O_RDONLY};
}

Purpose purpose_of(const char* mode) {
  bool is_empty = false, writes = false;
  for (; *mode && *mode != ','; ++mode) {  // the name of an encoding follows a comma
    is_empty |= *mode == 'w' || *mode == 'x';
    writes |= std::strchr("wax+", *mode) != nullptr;
  }
  return {!is_empty, writes};
}

void before_open(int directory, const char* path, Purpose purpose) {
  if (!purpose.writes) return;
  const int place = open_directly(directory, path, O_PATH);
  if (place < 0) return;  // the file does not exist yet
  char real[kLongest];
  struct stat found;
  if (path_of(place, real) && is_inside(real) && fstat(place, &found) == 0) before_change(real, found, purpose.uses);
  close_directly(place);
}

void after_open(int descriptor, Purpose purpose) {
  char real[kLongest];
  struct stat found;
  if (!(purpose.uses || purpose.writes) || !path_of(descriptor, real) || !is_of_interest(real)) return;
  if (fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) return;
  if (purpose.writes) {
    if (is_first("write", real, Text{})) write_note("write", real);
    return;
  }
  Text value;
  value.stamp(found);
  if (is_first("read", real, value)) write_note("read", real, value);
}

void before_leaving(int directory, const char* path, Name& name) {
  const int place = open_directly(directory, path, O_PATH | O_NOFOLLOW);
  if (place < 0) return;
  struct stat found;
  name.known = path_of(place, name.path) && is_inside(name.path);
  if (name.known && fstat(place, &found) == 0) before_change(name.path, found, false);
  close_directly(place);
}

void after_leaving(const Name& name) {
  if (name.known && !is_hidden(name.path)) write_note("gone", name.path);
}

void after_moving(int directory, const char* path, const Name& source) {
  Name target;
  const int place = open_directly(directory, path, O_PATH | O_NOFOLLOW);
  if (place < 0) return;
  if (path_of(place, target.path) && is_of_interest(target.path)) {
    Text from;
    if (source.known) from.add(source.path);
    write_note("move", target.path, from);
  }
  close_directly(place);
}

void note_program(const char* path) { write_note("program", path); }

}  // namespace opens
