#include "ops/rope/rope.native.hpp"

#include <cmath>

#include "backends/native/kernels/floats.hpp"
#include "backends/native/kernels/rope.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

// `count` elements of a real dtype, `step` apart, as float32.
template <typename T>
void read_as(const std::byte* from, std::int64_t step, std::int64_t count, float* to) {
  const T* source = reinterpret_cast<const T*>(from);
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(source[i * step]);
}

void read_floats(const std::byte* from, DType type, std::int64_t step, std::int64_t count, float* to) {
  switch (type) {
    case DType::bool_:
    case DType::uint8: return read_as<std::uint8_t>(from, step, count, to);
    case DType::uint16: return read_as<std::uint16_t>(from, step, count, to);
    case DType::uint32: return read_as<std::uint32_t>(from, step, count, to);
    case DType::uint64: return read_as<std::uint64_t>(from, step, count, to);
    case DType::int8: return read_as<std::int8_t>(from, step, count, to);
    case DType::int16: return read_as<std::int16_t>(from, step, count, to);
    case DType::int32: return read_as<std::int32_t>(from, step, count, to);
    case DType::int64: return read_as<std::int64_t>(from, step, count, to);
    case DType::float64: return read_as<double>(from, step, count, to);
    case DType::float32: return read_as<float>(from, step, count, to);
    default:
      for (std::int64_t i = 0; i < count; ++i) {
        to_floats(from + i * step * static_cast<std::int64_t>(size_of(type)), type, to + i, 1, 1);
      }
  }
}

struct RopeParts {
  View a, out, table, numbers;  ///< numbers: positions and turns as float32
  std::optional<View> positions, freqs;
  bool token_positions = false;  ///< a position for each token, else the first one's (or offset) and those that follow
  std::int64_t offset = 0;
  std::int64_t batch = 1;  ///< rows of the table for different first positions
  float scale = 1;
  std::vector<float> turns;  ///< of the attributes, when there are no freqs
  Rotation shape;
};

class RopeStep final : public Step {
 public:
  explicit RopeStep(RopeParts parts) : p_(std::move(parts)) {}

  Status run(const Frame& frame) const override {
    const std::int64_t half = p_.shape.dims / 2;
    const std::int64_t period = p_.shape.period, count = p_.batch * period;
    auto* positions = frame.at<float>(p_.numbers);
    float* freqs = positions + count;
    if (p_.token_positions) {
      read_floats(frame.at(*p_.positions), p_.positions->type.dtype, 1, count, positions);
    } else {
      for (std::int64_t b = 0; b < p_.batch; ++b) {
        float first = static_cast<float>(p_.offset);
        if (p_.positions) {
          const View& v = *p_.positions;
          View mine = v;
          mine.offset += b * v.strides[0];
          read_floats(frame.at(mine), v.type.dtype, 1, 1, &first);
        }
        for (std::int64_t t = 0; t < period; ++t) positions[b * period + t] = first + static_cast<float>(t);
      }
    }
    const float* turns = p_.turns.data();
    if (p_.freqs) {
      read_floats(frame.at(*p_.freqs), p_.freqs->type.dtype, 1, half, freqs);
      for (std::int64_t i = 0; i < half; ++i) freqs[i] = 1 / freqs[i];
      turns = freqs;
    }
    auto* table = frame.at<float>(p_.table);
    rotation_table(positions, count, turns, half, p_.scale, table, frame.threads());
    Rotation r = p_.shape;
    r.x = frame.at(p_.a);
    r.out = frame.at(p_.out);
    r.table = table;
    rotate(r, frame.threads());
    return {};
  }

  std::string describe() const override {
    return fmt::format("rope {}, {} features", to_string(p_.out.type), p_.shape.dims);
  }

 private:
  RopeParts p_;
};

}  // namespace

Decision plan_rope(OpPlanner& op, const ops::RopeAttrs& attrs) {
  const TensorType type = op[0].type;
  if (type.dtype != DType::float32 && type.dtype != DType::float16 && type.dtype != DType::bfloat16) {
    return decline(fmt::format("operand 0 is {}", name(type.dtype)));
  }
  if (attrs.dims == 0) {
    op.set_view(op[0]);
    return {};
  }
  RopeParts p;
  p.a = op.dense(0);
  if (op.size() > 1) p.positions = op.dense(1);
  if (op.size() > 2) p.freqs = op.dense(2);
  p.out = op.result();
  p.scale = static_cast<float>(attrs.scale);
  p.offset = attrs.offset;
  Rotation& r = p.shape;
  r.width = type.shape.back();
  r.rows = p.a.size() / r.width;
  r.dims = attrs.dims;
  r.neighbours = attrs.traditional;
  r.type = type.dtype;
  const std::size_t rank = type.shape.size();
  p.token_positions = p.positions && rank == 4;
  if (p.token_positions) {
    p.batch = type.shape[0];
    r.period = type.shape[1];
    r.inner = type.shape[2];
  } else {
    r.period = type.shape[rank - 2];
    p.batch = p.positions ? type.shape[0] : 1;
    r.outer = r.rows / r.period / p.batch;
  }
  if (!p.freqs) {
    for (std::int64_t i = 0; i < attrs.dims / 2; ++i) {
      p.turns.push_back(
          static_cast<float>(std::pow(attrs.base, -2.0 * static_cast<double>(i) / static_cast<double>(attrs.dims))));
    }
  }
  const std::int64_t count = p.batch * r.period;
  p.table = op.scratch({DType::float32, {count, attrs.dims}});
  p.numbers = op.scratch({DType::float32, {count + attrs.dims / 2}});
  auto step = std::make_unique<RopeStep>(p);
  if (p.positions) step->reads.push_back(p.positions->slot);
  if (p.freqs) step->reads.push_back(p.freqs->slot);
  op.add(std::move(step), {p.a}, {p.out, p.table, p.numbers});
  return {};
}

}  // namespace reprise::native
