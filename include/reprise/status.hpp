// Errors as values.
//
//   Result<Program> program = read_program("model.rp");
//   if (!program) return program.error();
//   run(*program);
//
// The library never prints, aborts or exits. Whatever a caller, a file or a program can cause comes back as an Error;
// who prefers exceptions calls value(), which throws ErrorException.
#pragma once

#include <cassert>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace reprise {

/// What kind of thing went wrong. Stable: code may branch on it.
enum class ErrorCode {
  invalid_argument,  ///< the caller passed something the function cannot take
  not_found,         ///< a file or a name does not exist
  io,                ///< reading or writing failed
  bad_file,          ///< a file's content is not what its format says
  parse,             ///< text that is not a program
  verify,            ///< a program that breaks the contract
  infer,             ///< shapes or dtypes that do not fit
  unsupported,       ///< valid, but not offered here (a device, a tensor type, a model family)
  limit,             ///< a stated bound was exceeded (context length, steps, size)
  cancelled,         ///< the caller stopped the run
  runtime,           ///< a run failed
  internal,          ///< our own mistake; please report it
};

std::string_view to_string(ErrorCode code);

/// One error: a code and one line of text that says what, where, seen and wanted.
class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }

  /// The same error with `context` and ": " in front of its text.
  Error with_context(std::string_view context) const {
    std::string text(context);
    text += ": ";
    return Error(code_, text + message_);
  }

 private:
  ErrorCode code_;
  std::string message_;
};

/// Thrown by Result::value() and Status::value() on an error, never by the library itself.
class ErrorException : public std::exception {
 public:
  explicit ErrorException(Error error) : error_(std::move(error)) {}
  const char* what() const noexcept override { return error_.message().c_str(); }
  const Error& error() const { return error_; }

 private:
  Error error_;
};

/// A value, or the error that prevented it.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& operator*() & { return *get_value(); }
  const T& operator*() const& { return *get_value(); }
  T&& operator*() && { return std::move(*get_value()); }
  T* operator->() { return get_value(); }
  const T* operator->() const { return get_value(); }

  const Error& error() const {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }

  T& value() & {
    if (!ok()) throw ErrorException(error());
    return **this;
  }
  const T& value() const& {
    if (!ok()) throw ErrorException(error());
    return **this;
  }
  T value() && {
    if (!ok()) throw ErrorException(error());
    return std::move(*get_value());
  }

 private:
  T* get_value() {
    assert(ok());
    return std::get_if<0>(&state_);
  }
  const T* get_value() const {
    assert(ok());
    return std::get_if<0>(&state_);
  }

  std::variant<T, Error> state_;
};

/// Success, or an error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    assert(!ok());
    return *error_;
  }
  void value() const {
    if (!ok()) throw ErrorException(error());
  }

 private:
  std::optional<Error> error_;
};

}  // namespace reprise

// Returns the error of `expression` from the enclosing function; otherwise binds its value to `declaration`.
#define REPRISE_ASSIGN(declaration, expression) \
  REPRISE_ASSIGN_IMPL(declaration, expression, REPRISE_CONCAT(reprise_result_, __LINE__))
#define REPRISE_ASSIGN_IMPL(declaration, expression, name) \
  auto name = (expression);                                \
  if (!name.ok()) return name.error();                     \
  declaration = *std::move(name)
#define REPRISE_CONCAT(a, b) REPRISE_CONCAT_IMPL(a, b)
#define REPRISE_CONCAT_IMPL(a, b) a##b

// Returns the error of a Status from the enclosing function.
#define REPRISE_RETURN_IF_ERROR(expression)                                                      \
  do {                                                                                           \
    if (auto reprise_status = (expression); !reprise_status.ok()) return reprise_status.error(); \
  } while (false)
