// Discrete Fourier transforms.
#pragma once

#include <array>

#include "ops/op_def.hpp"

namespace reprise::ops {

struct FftAttrs {
  std::int64_t axis = -1;
  std::int64_t length = 0;
  bool operator==(const FftAttrs&) const = default;
};
inline constexpr Field kFftFields[] = {
    integer<&FftAttrs::axis>("axis", "the axis to transform; a negative one counts from the end"),
    integer<&FftAttrs::length>("length", "elements transformed: x is cut or filled with zeros", kPositive)};
inline constexpr Schema kFftSchema = schema<FftAttrs>(kFftFields);

struct Fft2Attrs {
  std::int64_t axis0 = -2;
  std::int64_t axis1 = -1;
  std::int64_t length0 = 0;
  std::int64_t length1 = 0;
  bool operator==(const Fft2Attrs&) const = default;
};
inline constexpr Field kFft2Fields[] = {
    integer<&Fft2Attrs::axis0>("axis0", "an axis to transform; a negative one counts from the end"),
    integer<&Fft2Attrs::axis1>("axis1", "the other axis"),
    integer<&Fft2Attrs::length0>("length0", "elements transformed along axis0", kPositive),
    integer<&Fft2Attrs::length1>("length1", "elements transformed along axis1", kPositive)};
inline constexpr Schema kFft2Schema = schema<Fft2Attrs>(kFft2Fields);

Result<Types> infer_fft(const InferContext& context, const FftAttrs& attrs);
Result<Types> infer_fft2(const InferContext& context, const Fft2Attrs& attrs);

namespace fft {
inline constexpr Tolerance kTolerance{
    256, 1e-5, "rounding is relative to the largest output of a transform, not to each, and grows with its logarithm"};
inline constexpr std::string_view kRule =
    "Each transformed axis gets its length: x is cut or filled with zeros at its end. The forward transform is not "
    "scaled, the inverse divides by the number of elements transformed. float64 is computed in float32.";

consteval OpDef row(std::string_view name, std::string_view summary, const Schema* attrs, InferFn infer) {
  return {.name = name,
          .family = "fft",
          .summary = summary,
          .result = "Shape of x with the transformed axes of the given lengths; complex64.",
          .rule = kRule,
          .errors = "Fewer axes in x than are transformed; an axis out of range or named twice.",
          .operands = kX,
          .attrs = attrs,
          .infer = infer,
          .tolerance = kTolerance};
}
}  // namespace fft

inline constexpr std::array kFftOps{
    fft::row("fft", "Discrete Fourier transform along an axis.", &kFftSchema, infer_as<FftAttrs, infer_fft>),
    fft::row("ifft", "Inverse discrete Fourier transform along an axis.", &kFftSchema, infer_as<FftAttrs, infer_fft>),
    fft::row("fft2", "Discrete Fourier transform along two axes.", &kFft2Schema, infer_as<Fft2Attrs, infer_fft2>),
    fft::row("ifft2", "Inverse discrete Fourier transform along two axes.", &kFft2Schema,
             infer_as<Fft2Attrs, infer_fft2>),
};

}  // namespace reprise::ops
