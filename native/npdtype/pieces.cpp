#include "npdtype/pieces.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace whence::tracked {

namespace {

constexpr int kFlags = FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID;
constexpr npy_intp kPiece = npy_intp{1} << 15;  // cells in a piece: half a megabyte

using Part = std::function<void(npy_intp, npy_intp)>;

// A loop in pieces; each thread takes the next one when it is free.
struct Work {
  const Part& part;
  const npy_intp n;
  std::atomic<npy_intp> next{0};
  std::exception_ptr thrown;  // of the helper

  void run() {
    for (npy_intp from; (from = next.fetch_add(kPiece)) < n;) part(from, std::min(from + kPiece, n));
  }
};

// One thread that waits for work. It keeps its cache of unions from one loop to the next. It is never destroyed: at the
// end of the process it is waiting, and its lock must stay valid.
class Helper {
 public:
  Helper() {
    std::thread([this] { serve(); }).detach();
  }

  // Returns false if it is helping another thread's loop. Otherwise all is done, by this thread alone if the helper has
  // not started yet (another program may use its core).
  bool help(npy_intp n, const Part& part) {
    std::unique_lock<std::mutex> mine(in_use_, std::try_to_lock);
    if (!mine.owns_lock()) return false;
    Work work = {part, n};
    {
      const std::lock_guard<std::mutex> held(lock_);
      work_ = &work;
      flags_ = 0;
    }
    changed_.notify_all();
    std::exception_ptr own;
    try {
      work.run();
    } catch (...) {
      own = std::current_exception();
      work.next = n;
    }
    std::unique_lock<std::mutex> held(lock_);
    work_ = nullptr;
    changed_.wait(held, [this] { return !busy_; });
    std::feraiseexcept(flags_);
    if (own) std::rethrow_exception(own);
    if (work.thrown) std::rethrow_exception(work.thrown);
    return true;
  }

 private:
  void serve() {
    std::unique_lock<std::mutex> held(lock_);
    for (;;) {
      changed_.wait(held, [this] { return work_ != nullptr; });
      Work& work = *std::exchange(work_, nullptr);
      busy_ = true;
      held.unlock();
      std::feclearexcept(FE_ALL_EXCEPT);
      std::exception_ptr thrown;
      try {
        work.run();
      } catch (...) {
        thrown = std::current_exception();
        work.next = work.n;
      }
      const int flags = std::fetestexcept(kFlags);
      held.lock();
      work.thrown = thrown;
      flags_ = flags;
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex in_use_, lock_;
  std::condition_variable changed_;
  Work* work_ = nullptr;
  bool busy_ = false;
  int flags_ = 0;
};

std::mutex making;
Helper* helper = nullptr;

bool several_cores() {
  cpu_set_t set;
  static const bool several = sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 1;
  return several;
}

// After a fork the child has no helper thread, and a lock that was held stays held, so both are abandoned.
void in_child() {
  helper = nullptr;
  new (&making) std::mutex;
}

Helper* the_helper() {
  const std::lock_guard<std::mutex> held(making);
  if (helper == nullptr) {
    static const int registered = pthread_atfork(nullptr, nullptr, in_child);
    (void)registered;
    try {
      helper = new Helper;
    } catch (const std::exception&) {
      return nullptr;  // no more threads: the calling thread does all
    }
  }
  return helper;
}

}  // namespace

void in_pieces(npy_intp n, const Part& part) {
  if (n >= kLarge && several_cores()) {
    Helper* found = the_helper();
    if (found != nullptr && found->help(n, part)) return;
  }
  part(0, n);
}

}  // namespace whence::tracked
