// Small pieces for tests of compile and run.
#pragma once

#include <gtest/gtest.h>
#include <mlx/mlx.h>

#include <string_view>
#include <thread>
#include <vector>

#include "reprise/builder.hpp"
#include "reprise/executable.hpp"
#include "reprise/text.hpp"

namespace reprise {

using mlx::core::array;
using Arrays = std::vector<array>;

/// Evaluated arrays.
array floats(const std::vector<float>& values);
array floats(const Shape& shape, const std::vector<float>& values);
array filled(const Shape& shape, float value);
array scalar(float value);
array integer(std::int32_t value);

/// Elements in row-major order, as double.
std::vector<double> values(const array& x);

/// From the text form, without the line `reprise 1`. Fails the test by throwing.
Executable compiled(std::string_view text, const CompileOptions& options = {},
                    const std::vector<Capture>& captures = {});
Executable compiled(Builder& builder, const Builder::Values& outputs, const CompileOptions& options = {});

/// A loop over an integer that never ends.
extern const std::string_view kEndless;

/// Runs, and throws the error if there is one.
Arrays run(const Executable& executable, Arrays inputs, const RunOptions& options = {});

/// The message of the error that the run ends with; "" if it succeeds.
std::string run_error(const Executable& executable, Arrays inputs, const RunOptions& options = {});

/// Resident size means little here: a sanitizer keeps what was freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Where the elements lie.
const void* address(const array& x);

template <typename F>
void on_thread(F&& f) {
  std::thread(std::forward<F>(f)).join();
}

}  // namespace reprise
