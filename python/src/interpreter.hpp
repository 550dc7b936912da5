// Where threads without the GIL meet the interpreter: runs that wait, memory that is lent, and the end of the process.
//
//   {
//     const WithoutGil released;
//     outputs = executable.run(...);
//   }
//
// An interpreter may end while daemon threads still run programs. Whoever wants the GIL back from then on must not get
// it, and nothing may be computed any more when the statics of C++ libraries go.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
// In every part of the module: a conversion that one of them does not know would only fail when it is called.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "reprise/executable.hpp"

namespace reprise::python {

namespace nb = nanobind;

/// Memory of any object with DLPack or the buffer protocol; the handle keeps the owner alive.
using Memory = nb::ndarray<nb::ro>;

/// Registers what has to happen when the interpreter ends.
void watch_interpreter(nb::module_& module);

/// Lets go of the GIL and takes it again. Once the interpreter ends, a thread that wants it back sleeps for ever.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

/// A run in progress, which the end of the interpreter cancels and waits for. Made without the GIL.
class ActiveRun {
 public:
  explicit ActiveRun(CancelToken& cancel);
  ~ActiveRun();
  ActiveRun(const ActiveRun&) = delete;
  ActiveRun& operator=(const ActiveRun&) = delete;

 private:
  CancelToken* cancel_;
};

/// While a run calls Python it computes nothing: nobody waits for it.
class InCallback {
 public:
  InCallback();
  ~InCallback();
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;
};

/// Memory that an mlx array shows. It comes back on any thread, with or without the GIL, and is let go with it.
struct Loan {
  Memory memory;
  Loan* next = nullptr;
};
void give_back(Loan* loan) noexcept;
/// Lets go of what came back. Needs the GIL.
void release_loans();

}  // namespace reprise::python
