#include "ops/attention/attention.native.hpp"

#include <algorithm>

#include "backends/native/copy.hpp"
#include "backends/native/kernels/attention.hpp"
#include "backends/native/kernels/floats.hpp"
#include "backends/native/kernels/indices.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

bool is_float32_or_less(DType d) { return d == DType::float32 || d == DType::float16 || d == DType::bfloat16; }

AttentionTensor tensor_of(const Frame& frame, const View& v, bool heads_first = true) {
  const std::size_t head = heads_first ? 1 : 2, row = heads_first ? 2 : 1;
  return {frame.at(v), v.type.dtype, v.strides[0], v.strides[head], v.strides[row]};
}

// Operand i as the kernel takes it: any strides, but features one behind the other.
View with_contiguous_features(OpPlanner& op, std::size_t i) {
  const View v = op[i];
  return v.strides[3] == 1 || v.type.shape[3] == 1 ? v : op.dense(i);
}

class AttentionStep final : public Step {
 public:
  struct Parts {
    View q, k, v, out;
    std::optional<View> mask, sinks;
    // Where mask's axes are in it; -1: it has none, and repeats.
    int mask_batch = -1, mask_head = -1, mask_query = -1, mask_key = -1;
    Attention shape;  ///< sizes and settings, without addresses
  };

  explicit AttentionStep(Parts parts) : p_(std::move(parts)) {}

  Status run(const Frame& frame) const override {
    Attention a = p_.shape;
    a.q = tensor_of(frame, p_.q);
    a.k = tensor_of(frame, p_.k);
    a.v = tensor_of(frame, p_.v);
    if (p_.mask) {
      const auto stride = [&](int axis) {
        if (axis < 0 || p_.mask->type.shape[static_cast<std::size_t>(axis)] == 1) return std::int64_t{0};
        return p_.mask->strides[static_cast<std::size_t>(axis)];
      };
      a.mask.data = frame.at(*p_.mask);
      a.mask.type = p_.mask->type.dtype;
      a.mask.hides = p_.shape.mask.hides;
      a.mask.batch = stride(p_.mask_batch);
      a.mask.head = stride(p_.mask_head);
      a.mask.query = stride(p_.mask_query);
      a.mask.key = stride(p_.mask_key);
    }
    if (p_.sinks) {
      a.sinks = frame.at(*p_.sinks);
      a.sinks_type = p_.sinks->type.dtype;
    }
    a.out = frame.at(p_.out);
    attention(a, frame.threads());
    return {};
  }

  std::string describe() const override {
    const Attention& a = p_.shape;
    return fmt::format("attention {} {}x{} heads ({} of keys), {}x{}x{}{}", name(a.out_type), a.batch, a.heads,
                       a.kv_heads, a.queries, a.keys, a.width, a.causal ? ", causal" : "");
  }

 private:
  Parts p_;
};

Decision declined_dtypes(OpPlanner& op) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (!is_float32_or_less(op[i].type.dtype))
      return decline(fmt::format("operand {} is {}", i, name(op[i].type.dtype)));
  }
  return {};
}

AttentionStep::Parts parts_of(OpPlanner& op, double scale) {
  AttentionStep::Parts p;
  p.q = with_contiguous_features(op, 0);
  p.k = with_contiguous_features(op, 1);
  p.v = with_contiguous_features(op, 2);
  p.out = op.result();
  Attention& a = p.shape;
  a.batch = p.q.type.shape[0];
  a.heads = p.q.type.shape[1];
  a.queries = p.q.type.shape[2];
  a.width = p.q.type.shape[3];
  a.kv_heads = p.k.type.shape[1];
  a.keys = p.k.type.shape[2];
  a.value_width = p.v.type.shape[3];
  a.scale = static_cast<float>(scale);
  a.out_type = op.result_type().dtype;
  return p;
}

Decision emit(OpPlanner& op, AttentionStep::Parts p) {
  auto step = std::make_unique<AttentionStep>(p);
  if (p.mask) step->reads.push_back(p.mask->slot);
  if (p.sinks) step->reads.push_back(p.sinks->slot);
  op.add(std::move(step), {p.q, p.k, p.v}, {p.out});
  return {};
}

// --- kv_cache_sdpa_update

class CacheStep final : public Step {
 public:
  struct Parts {
    View q, new_k, new_v, k_cache, v_cache, offset, key_mask, out;
    std::optional<View> rows;  ///< where new rows of another dtype than the cache's are float32 on their way
    Attention shape;
    bool written_so_far = false;  ///< query i sees keys j <= start + i
  };

  explicit CacheStep(Parts parts) : p_(std::move(parts)) {
    const auto copy = [](const View& rows, const View& cache) {
      return StridedCopy(rows.type.shape, rows.strides, cache.strides, size_of(cache.type.dtype));
    };
    copy_k_ = copy(p_.new_k, p_.k_cache);
    copy_v_ = copy(p_.new_v, p_.v_cache);
  }

  Status run(const Frame& frame) const override {
    Attention a = p_.shape;
    const std::int64_t start = start_of(frame);
    write(frame, p_.new_k, p_.k_cache, copy_k_, start);
    write(frame, p_.new_v, p_.v_cache, copy_v_, start);
    a.q = tensor_of(frame, p_.q, false);
    a.k = tensor_of(frame, p_.k_cache, false);
    a.v = tensor_of(frame, p_.v_cache, false);
    a.mask.data = frame.at(p_.key_mask);
    a.mask.type = p_.key_mask.type.dtype;
    a.mask.batch = p_.key_mask.type.shape[0] == 1 ? 0 : p_.key_mask.strides[0];
    a.mask.key = p_.key_mask.strides[1];
    if (p_.written_so_far) a.reach = start;
    a.out = frame.at(p_.out);
    attention(a, frame.threads());
    return {};
  }

  std::string describe() const override {
    const Attention& a = p_.shape;
    return fmt::format("attention with cache {} {}x{} heads ({} of keys), {}x{}x{}", name(a.out_type), a.batch, a.heads,
                       a.kv_heads, a.queries, a.keys, a.width);
  }

 private:
  // Where the new rows go: offset, clamped to [0, Tmax - Tq].
  std::int64_t start_of(const Frame& frame) const {
    return clamped_start(frame.at(p_.offset), p_.offset.type.dtype, p_.shape.keys - p_.shape.queries);
  }

  void write(const Frame& frame, const View& rows, const View& cache, const StridedCopy& copy,
             std::int64_t start) const {
    const TensorType& type = rows.type;
    const DType to = cache.type.dtype;
    View target = cache;
    target.offset += start * cache.strides[1];
    if (type.dtype == to) {
      copy.run(frame.at(rows), frame.at(target), frame.threads());
      return;
    }
    auto* floats = frame.at<float>(*p_.rows);
    to_floats(frame.at(rows), type.dtype, floats, rows.size(), 1);
    const std::int64_t row = rows.size() / type.shape[0] / type.shape[1];  // rows and caches are dense
    for (std::int64_t b = 0; b < type.shape[0]; ++b) {
      const std::int64_t from = b * type.shape[1] * row;
      View part = target;
      part.offset += b * cache.strides[0];
      from_floats(floats + from, to, frame.at(part), type.shape[1] * row, 1);
    }
  }

  Parts p_;
  StridedCopy copy_k_, copy_v_;
};

Decision declined_sinks(const OpPlanner& op, std::size_t at) {
  if (op.size() <= at) return {};
  const DType dtype = op[at].type.dtype;
  if (is_float32_or_less(dtype)) return {};
  return decline(fmt::format("sinks of {}", name(dtype)));
}

}  // namespace

Decision plan_sdpa(OpPlanner& op, const ops::ScaleAttrs& attrs, Masking masking) {
  if (auto no = declined_dtypes(op)) return no;
  const std::size_t sinks_at = masking == Masking::array ? 4 : 3;
  if (masking == Masking::array) {
    const DType mask = op[3].type.dtype;
    if (mask != DType::bool_ && !is_floating(mask) && op.result_type().dtype != DType::float32) {
      return decline("an integer mask is rounded to 16 bits first");
    }
  }
  if (auto no = declined_sinks(op, sinks_at)) return no;
  auto p = parts_of(op, attrs.scale);
  if (masking == Masking::array) {
    p.mask = op[3];
    p.shape.mask.hides = p.mask->type.dtype == DType::bool_;
    const int rank = static_cast<int>(p.mask->type.shape.size());
    p.mask_key = rank - 1;
    p.mask_query = rank - 2;
    p.mask_head = rank - 3;
    p.mask_batch = rank - 4;
  } else if (masking == Masking::causal) {
    p.shape.causal = true;
    p.shape.reach = p.shape.keys - p.shape.queries;
  }
  if (op.size() > sinks_at) p.sinks = op.dense(sinks_at);
  return emit(op, std::move(p));
}

Decision plan_sdpa_key_masked(OpPlanner& op, const ops::KeyMaskedAttrs& attrs) {
  if (auto no = declined_dtypes(op)) return no;
  if (auto no = declined_sinks(op, 4)) return no;
  auto p = parts_of(op, attrs.scale);
  p.mask = op[3];
  p.mask_batch = 0;
  p.mask_key = 1;
  p.shape.causal = true;
  // Beyond these nothing changes, and sums stay within 64 bits.
  p.shape.reach = std::clamp<std::int64_t>(attrs.kv_offset, -p.shape.queries, p.shape.keys);
  p.shape.nan_is_zero = true;
  if (op.size() > 4) p.sinks = op.dense(4);
  return emit(op, std::move(p));
}

Decision plan_kv_cache_sdpa_update(OpPlanner& op, const ops::KeyMaskedAttrs& attrs) {
  for (const std::size_t i : {0, 1, 2, 3, 4}) {
    if (!is_float32_or_less(op[i].type.dtype))
      return decline(fmt::format("operand {} is {}", i, name(op[i].type.dtype)));
  }
  CacheStep::Parts p;
  p.q = with_contiguous_features(op, 0);
  const bool cast = op[1].type.dtype != op[3].type.dtype || op[2].type.dtype != op[4].type.dtype;
  p.new_k = cast ? op.dense(1) : op[1];
  p.new_v = cast ? op.dense(2) : op[2];
  p.offset = op[5];
  p.key_mask = op[6];
  p.k_cache = op.updated(3, 1);
  p.v_cache = op.updated(4, 2);
  p.out = op.result(0);
  if (cast) p.rows = op.scratch({DType::float32, p.new_k.type.shape});
  Attention& a = p.shape;
  a.batch = p.q.type.shape[0];
  a.queries = p.q.type.shape[1];
  a.heads = p.q.type.shape[2];
  a.width = a.value_width = p.q.type.shape[3];
  a.keys = p.k_cache.type.shape[1];
  a.kv_heads = p.k_cache.type.shape[2];
  a.scale = static_cast<float>(attrs.scale);
  a.causal = true;
  a.reach = std::min(attrs.kv_offset, a.keys);
  a.nan_is_zero = true;
  a.out_type = op.result_type().dtype;
  p.written_so_far = attrs.kv_offset == -1;
  auto step = std::make_unique<CacheStep>(p);
  if (p.rows) step->writes.push_back(p.rows->slot);
  op.add(std::move(step), {p.q, p.new_k, p.new_v, p.k_cache, p.v_cache, p.offset, p.key_mask},
         {p.k_cache, p.v_cache, p.out});
  return {};
}

}  // namespace reprise::native
