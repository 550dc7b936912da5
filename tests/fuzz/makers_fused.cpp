#include <algorithm>

#include "fuzz/makers.hpp"

namespace reprise::fuzz {
namespace {

using ops::Ints;
using ops::OpDef;

std::optional<Draft> make_norm(const OpDef& op, Generator& g) {
  Random& r = g.random();
  const Operand x = g.any({.dtypes = op.dtypes, .min_rank = 1});
  const DType d = r.percent(80) ? x.type.dtype : g.dtype(op.dtypes);
  Draft draft{{x}, {{"eps", r.pick({1e-5, 1e-5, 1e-6, 1e-6, 1e-3, 0.5, 0.5, 0.0})}}};
  while (draft.operands.size() < op.operands.size()) draft.operands.push_back(g.like({d, {x.type.shape.back()}}));
  return draft;
}

DType within(Generator& g, DType d) { return g.random().percent(85) ? d : g.dtype(ops::set_of(d, DType::bool_)); }

// Any of the fast_sdpa family, by the names of its operands.
std::optional<Draft> make_sdpa(const OpDef& op, Generator& g) {
  Random& r = g.random();
  const std::int64_t batch = r.percent(3) ? 0 : r.between(1, 2);
  const std::int64_t kv_heads = r.between(1, 2);
  const std::int64_t heads = kv_heads * r.between(1, 3);
  const std::int64_t queries = r.pick({1, 1, 2, 3, 5, 8});
  const std::int64_t keys = r.pick({1, 2, 4, 7, 9});
  const std::int64_t width = r.pick({1, 2, 4, 8});
  const std::int64_t value_width = r.percent(80) ? width : r.between(1, 5);
  const DType d = g.dtype(ops::kFloats);
  const Operand q = g.like({d, {batch, heads, queries, width}});
  const Operand k = g.like({within(g, d), {batch, kv_heads, keys, width}});
  const Operand v = g.like({d, {batch, kv_heads, keys, value_width}});
  Draft draft{{q, k, v}, {{"scale", r.pick({1.0, 0.5, 0.25, 0.125, 2.0})}}};
  for (const ops::Operand& more : op.operands.subspan(3)) {
    if (more.name == "sinks") {
      draft.operands.push_back(g.like({within(g, d), {heads}}));
    } else if (more.name == "mask") {
      Shape shape{batch, heads, queries, keys};
      for (auto& n : shape) {
        if (r.percent(25)) n = 1;
      }
      if (r.percent(40)) shape.erase(shape.begin(), shape.begin() + r.between(1, 3));
      const DType mask = r.coin() ? DType::bool_ : r.percent(70) ? d : g.dtype(ops::kIntegers);
      draft.operands.push_back(
          g.like({mask, shape}, {.purpose = mask == DType::bool_ ? Purpose::flags : Purpose::general}));
    } else {
      const DType mask = r.coin() ? DType::bool_ : g.dtype(ops::kReals);
      draft.operands.push_back(g.like({mask, {batch, keys}}, {.purpose = Purpose::flags}));
      draft.attrs.emplace_back("kv_offset", r.percent(40) ? 0 : r.between(-2, keys));
    }
  }
  return draft;
}

std::optional<Draft> make_cache_update(const OpDef&, Generator& g) {
  Random& r = g.random();
  const std::int64_t batch = r.between(1, 2);
  const std::int64_t kv_heads = r.between(1, 2);
  const std::int64_t heads = kv_heads * r.between(1, 2);
  const std::int64_t capacity = r.pick({2, 4, 8, 9});
  const std::int64_t rows = r.between(1, std::min<std::int64_t>(capacity, 3));
  const std::int64_t width = r.pick({2, 4, 8});
  const DType d = g.dtype(ops::kFloats);
  const DType cache = r.percent(80) ? d : g.dtype(ops::kFloats);
  const Operand q = g.like({d, {batch, rows, heads, width}});
  const Operand new_k = g.like({d, {batch, rows, kv_heads, width}});
  const Operand new_v = g.like({d, {batch, rows, kv_heads, width}});
  const Operand k_cache = g.like({cache, {batch, capacity, kv_heads, width}});
  const Operand v_cache = g.like({cache, {batch, capacity, kv_heads, width}});
  Shape one(static_cast<std::size_t>(r.below(2)), 1);
  const Operand offset =
      g.like({g.dtype(ops::kIntegers), std::move(one)}, {.purpose = Purpose::index, .bound = capacity});
  const Operand mask =
      g.like({r.coin() ? DType::bool_ : g.dtype(ops::kReals), {batch, capacity}}, {.purpose = Purpose::flags});
  return Draft{{q, new_k, new_v, k_cache, v_cache, offset, mask},
               {{"scale", r.pick({1.0, 0.5, 0.25})}, {"kv_offset", r.between(-1, capacity)}}};
}

std::optional<Draft> make_rope(const OpDef& op, Generator& g) {
  Random& r = g.random();
  const bool positions = op.name.ends_with("positions");
  const std::int64_t width = r.pick({2, 4, 6, 8, 9});
  Shape shape{r.between(1, 2), r.pick({1, 2, 5, 7}), r.between(1, 3), width};
  if (!positions && r.percent(35)) shape.erase(shape.begin() + 2);
  if (op.name == "fast_rope" && r.percent(10)) shape.insert(shape.begin(), 2);
  const std::int64_t dims = r.percent(60) ? width / 2 * 2 : 2 * r.between(0, width / 2);
  const bool per_token = positions || shape.size() == 4;
  const bool may_be_traditional = op.name == "fast_rope" || !per_token;
  const Operand a = g.like({g.dtype(op.dtypes), shape});
  Draft draft{{a},
              {{"dims", dims}, {"traditional", may_be_traditional && r.coin()}, {"scale", r.pick({1.0, 0.5, 0.125})}}};
  const bool freqs = op.name.find("freqs") != std::string_view::npos;
  if (!freqs) draft.attrs.emplace_back("base", r.pick({10000.0, 500000.0, 100.0}));
  if (op.name == "fast_rope") {
    draft.attrs.emplace_back("offset", r.percent(90) ? r.between(0, 40) : r.between(-5, 100000));
    return draft;
  }
  const DType d = g.dtype(per_token && r.percent(30) ? ops::kReals : ops::kIntegers);
  draft.operands.push_back(
      g.like({d, {shape[0], per_token ? shape[1] : r.between(1, 3)}}, {.purpose = Purpose::small, .bound = 20}));
  if (freqs) {
    draft.operands.push_back(
        g.like({r.percent(70) ? DType::float32 : g.dtype(ops::kFloats), {dims / 2}}, {.purpose = Purpose::magnitudes}));
  }
  return draft;
}

std::optional<Draft> make_runtime_call(const OpDef&, Generator& g) {
  Random& r = g.random();
  Draft draft;
  std::vector<TensorType> results;
  for (auto n = r.below(4); n > 0; --n) {
    draft.operands.push_back(g.any({}));
    if (r.percent(60)) results.push_back(draft.operands.back().type);
  }
  if (results.empty() || r.percent(30)) results.push_back({g.dtype(ops::kAllDTypes), g.shape(0, 2)});
  if (r.percent(3)) results.clear();
  draft.attrs = {{"callback", r.below(100)}, {"results", results}};
  return draft;
}

constexpr Maker kMakers[] = {
    {"fast_rms_norm", make_norm},
    {"fast_layer_norm", make_norm},
    {"fast_layer_norm_no_bias", make_norm},
    {"fast_sdpa", make_sdpa},
    {"fast_sdpa_sinks", make_sdpa},
    {"fast_sdpa_masked", make_sdpa},
    {"fast_sdpa_masked_sinks", make_sdpa},
    {"fast_sdpa_causal", make_sdpa},
    {"fast_sdpa_causal_sinks", make_sdpa},
    {"fast_sdpa_causal_key_masked", make_sdpa},
    {"fast_sdpa_causal_key_masked_sinks", make_sdpa},
    {"kv_cache_sdpa_update", make_cache_update},
    {"fast_rope", make_rope},
    {"fast_rope_ids", make_rope},
    {"fast_rope_with_freqs", make_rope},
    {"fast_rope_positions", make_rope},
    {"fast_rope_with_freqs_positions", make_rope},
    {"runtime_call", make_runtime_call},
};

}  // namespace

std::span<const Maker> fused_makers() { return kMakers; }

}  // namespace reprise::fuzz
