#include "interpreter.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace reprise::python {
namespace {

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  bool closing = false;
  std::thread::id closer;          // the thread that ends the interpreter: it alone may go on
  std::vector<CancelToken*> runs;  // in progress
  int computing = 0;               // those that are not in a callback
  int returning = 0;               // threads that wait for the GIL after a run
  Loan* loans = nullptr;           // that came back
  bool scheduled = false;          // the interpreter will call release_pending
};

// Never destroyed: workers outlive every static.
State* current = new State;
State& state() { return *current; }

// Taking the GIL of an interpreter that ends would end this thread amid C++ frames, and computing would use MLX while
// its statics go.
void stop_if_closing(std::unique_lock<std::mutex>& lock) {
  State& s = state();
  if (s.closing && std::this_thread::get_id() != s.closer) s.changed.wait(lock, [] { return false; });
}

int release_pending(void*) {
  {
    const std::lock_guard lock(state().mutex);
    state().scheduled = false;
  }
  release_loans();
  return 0;
}

void close(const nb::callable& count_threads) {
  State& s = state();
  // Threads that are still there keep what they hold: nanobind would report it as lost.
  if (nb::cast<int>(count_threads()) > 1) nb::set_leak_warnings(false);
  const nb::gil_scoped_release released;
  std::unique_lock lock(s.mutex);
  s.closing = true;
  s.closer = std::this_thread::get_id();
  for (CancelToken* run : s.runs) run->cancel();
  s.changed.wait(lock, [&] { return s.computing == 0 && s.returning == 0; });
}

// A fork has only the thread that made it, and the lock as it was.
void forget() { current = new State; }

}  // namespace

void watch_interpreter(nb::module_& module) {
  module.def("_close", close, "Cancels all runs and waits for them.");
  module.def("_forget", forget, "What a forked process does first.");
  nb::module_::import_("atexit").attr("register")(module.attr("_close"),
                                                  nb::module_::import_("threading").attr("active_count"));
  nb::module_::import_("os").attr("register_at_fork")(nb::arg("after_in_child") = module.attr("_forget"));
}

WithoutGil::WithoutGil() : state_(PyEval_SaveThread()) {}

WithoutGil::~WithoutGil() {
  State& s = state();
  {
    std::unique_lock lock(s.mutex);
    stop_if_closing(lock);
    // Whoever waits from here on gets the GIL: the end of the interpreter waits for it.
    ++s.returning;
  }
  PyEval_RestoreThread(state_);
  const std::lock_guard lock(s.mutex);
  --s.returning;
  s.changed.notify_all();
}

ActiveRun::ActiveRun(CancelToken& cancel) : cancel_(&cancel) {
  State& s = state();
  std::unique_lock lock(s.mutex);
  stop_if_closing(lock);
  s.runs.push_back(cancel_);
  ++s.computing;
}

ActiveRun::~ActiveRun() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const auto found = std::find(s.runs.begin(), s.runs.end(), cancel_);
  if (found == s.runs.end()) return;  // forked in a callback
  s.runs.erase(found);
  --s.computing;
  s.changed.notify_all();
}

InCallback::InCallback() {
  State& s = state();
  std::unique_lock lock(s.mutex);
  --s.computing;
  s.changed.notify_all();
  stop_if_closing(lock);
}

InCallback::~InCallback() {
  std::unique_lock lock(state().mutex);
  stop_if_closing(lock);
  if (!state().runs.empty()) ++state().computing;
}

void give_back(Loan* loan) noexcept {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  loan->next = s.loans;
  s.loans = loan;
  // Under the lock, so that it is not called once the interpreter has ended; then the process' end frees the rest. A
  // full queue is no loss: the next run looks too.
  if (!s.closing && !s.scheduled) s.scheduled = Py_AddPendingCall(release_pending, nullptr) == 0;
}

void release_loans() {
  Loan* loan = nullptr;
  {
    const std::lock_guard lock(state().mutex);
    loan = std::exchange(state().loans, nullptr);
  }
  while (loan) delete std::exchange(loan, loan->next);
}

}  // namespace reprise::python
