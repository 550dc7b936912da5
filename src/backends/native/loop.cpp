#include "backends/native/loop.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "backends/native/arrays.hpp"
#include "backends/native/replay.hpp"
#include "backends/turns.hpp"
#include "base/format.hpp"

namespace reprise::native {
namespace {

namespace mx = mlx::core;

template <typename T>
bool differs_from_zero(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value != T{0};
}

/// A predicate holds while it is not 0 in its own dtype: NaN does, -0.0 does not.
bool holds(const std::byte* at, DType dtype) {
  switch (dtype) {
    case DType::float16:
    case DType::bfloat16: {
      std::uint16_t bits;
      std::memcpy(&bits, at, sizeof bits);
      return (bits & 0x7FFFu) != 0;
    }
    case DType::float32: return differs_from_zero<float>(at);
    case DType::float64: return differs_from_zero<double>(at);
    case DType::complex64: return differs_from_zero<float>(at) || differs_from_zero<float>(at + sizeof(float));
    default: break;
  }
  return std::any_of(at, at + size_of(dtype), [](std::byte b) { return b != std::byte{0}; });
}

/// What both loops do once a turn.
class Turns {
 public:
  explicit Turns(const RunOptions& options) : options_(options), ticker_(options) {}

  Status next() {
    REPRISE_RETURN_IF_ERROR(may_turn(options_, turns_));
    constexpr std::int64_t kLook = 256;  // reading the clock costs as much as a short turn
    if (++turns_ % kLook == 0) ticker_.tick();
    return {};
  }

 private:
  const RunOptions& options_;
  Ticker ticker_;
  std::int64_t turns_ = 0;
};

std::string describe_plan(const Plan& plan) {
  std::string out;
  for (const auto& step : plan.steps) out += fmt::format("{}{}", out.empty() ? "" : "; ", step->describe());
  return out.empty() ? "nothing" : out;
}

std::string describe_loop(const LoopParts& parts) {
  return fmt::format("while {{{}}} do {{{}}}", describe_plan(*parts.cond), describe_plan(*parts.body));
}

/// Where body output k comes from.
enum class Source : std::uint8_t {
  kept,    ///< carry k itself: nothing moves
  placed,  ///< the step that makes it writes it into the carry's next place
  copied,  ///< from another carry, a constant, a part of something
};

std::vector<Source> sources(const LoopParts& parts) {
  std::vector<Source> out;
  std::vector<bool> taken(parts.body->slots.size(), false);
  for (std::size_t k = 0; k < parts.body->outputs.size(); ++k) {
    const View& view = parts.body->outputs[k];
    const Slot& slot = parts.body->slots[view.slot];
    const bool whole = view.offset == 0 && slot.type.shape == view.type.shape && slot.type.dtype == view.type.dtype;
    if (slot.storage == Storage::input && slot.index == k && whole) {
      out.push_back(Source::kept);
    } else if (slot.storage == Storage::array && whole && !taken[view.slot]) {
      taken[view.slot] = true;
      out.push_back(Source::placed);
    } else {
      out.push_back(Source::copied);
    }
  }
  return out;
}

class FixedLoop final : public Step {
 public:
  FixedLoop(LoopParts parts, std::vector<View> from, std::vector<View> results, LoopMemory memory)
      : parts_(std::move(parts)),
        from_(std::move(from)),
        results_(std::move(results)),
        memory_(std::move(memory)),
        sources_(sources(parts_)) {
    collect_inputs(*parts_.cond, cond_inputs_);
    collect_inputs(*parts_.body, body_inputs_);
    bind();
  }

  Status run(const Frame& frame) const override {
    auto tables = pool_.take();
    if (!tables) tables = make_tables();
    const Status status = loop(frame, *tables);
    pool_.give_back(std::move(tables));
    return status;
  }

  std::string describe() const override { return describe_loop(parts_); }

 private:
  using Addresses = std::vector<std::byte*>;
  using Arrays = std::vector<std::optional<mx::array>>;

  /// One turn as kernel calls. The next turn has the carries' places the other way round.
  struct BoundTurn {
    std::vector<BoundCall> cond, body;
    const std::byte* predicate = nullptr;
    struct Copy {
      const std::byte* from;
      std::byte* to;
      std::size_t bytes;
    };
    std::vector<Copy> copies;
  };

  struct Tables {
    Addresses cond, body, current, next;
    Arrays no_arrays;
    std::vector<std::byte> scratch;
    BoundTurn turns[2];
  };

  static void collect_inputs(const Plan& plan, std::vector<std::pair<SlotId, std::size_t>>& out) {
    for (SlotId s = 0; s < plan.slots.size(); ++s) {
      if (plan.slots[s].storage == Storage::input) out.emplace_back(s, plan.slots[s].index);
    }
  }

  std::unique_ptr<Tables> make_tables() const {
    auto out = std::make_unique<Tables>();
    out->cond.assign(parts_.cond->slots.size(), nullptr);
    out->body.assign(parts_.body->slots.size(), nullptr);
    place_constants(*parts_.cond, out->cond);
    place_constants(*parts_.body, out->body);
    out->current.resize(from_.size());
    out->next.resize(from_.size());
    return out;
  }

  Status loop(const Frame& frame, Tables& t) const {
    const Plan &cond = *parts_.cond, &body = *parts_.body;
    place_arena(cond, frame.at(memory_.cond_arena), t.cond);
    place_arena(body, frame.at(memory_.body_arena), t.body);
    for (std::size_t k = 0; k < from_.size(); ++k) {
      t.current[k] = frame.at(results_[k]);
      t.next[k] = frame.at(memory_.spare[k]);
      std::memcpy(t.current[k], frame.at(from_[k]), from_[k].bytes());
      if (sources_[k] == Source::copied && body.slots[body.outputs[k].slot].storage == Storage::array) {
        std::byte*& staged = t.body[body.outputs[k].slot];
        if (!memory_.staged[k].type.shape.empty()) staged = frame.at(memory_.staged[k]);
      }
    }
    const View& predicate = cond.outputs[0];
    if (cond.slots[predicate.slot].storage == Storage::array) t.cond[predicate.slot] = frame.at(memory_.predicate);
    const Frame cond_frame(t.cond, t.no_arrays, frame.options(), frame.threads());
    const Frame body_frame(t.body, t.no_arrays, frame.options(), frame.threads());
    REPRISE_RETURN_IF_ERROR(bound_.empty() ? turn_steps(t, cond_frame, body_frame)
                                           : turn_calls(t, cond_frame, body_frame));
    for (std::size_t k = 0; k < results_.size(); ++k) {
      std::byte* const to = frame.at(results_[k]);
      if (t.current[k] != to) std::memcpy(to, t.current[k], results_[k].bytes());
    }
    return {};
  }

  // Where the steps of a turn find the carries.
  void address(Tables& t) const {
    for (const auto& [slot, k] : cond_inputs_) t.cond[slot] = t.current[k];
    for (const auto& [slot, k] : body_inputs_) t.body[slot] = t.current[k];
    for (std::size_t k = 0; k < sources_.size(); ++k) {
      if (sources_[k] == Source::placed) t.body[parts_.body->outputs[k].slot] = t.next[k];
    }
  }

  void swap_carries(Tables& t) const {
    for (std::size_t k = 0; k < sources_.size(); ++k) {
      if (sources_[k] != Source::kept) std::swap(t.current[k], t.next[k]);
    }
  }

  Status turn_steps(Tables& t, const Frame& cond_frame, const Frame& body_frame) const {
    const Plan &cond = *parts_.cond, &body = *parts_.body;
    const View& predicate = cond.outputs[0];
    Turns turns(cond_frame.options());
    for (;;) {
      address(t);
      for (const auto& step : cond.steps) REPRISE_RETURN_IF_ERROR(step->run(cond_frame));
      if (!holds(cond_frame.at(predicate), predicate.type.dtype)) return {};
      REPRISE_RETURN_IF_ERROR(turns.next());
      for (const auto& step : body.steps) REPRISE_RETURN_IF_ERROR(step->run(body_frame));
      for (std::size_t k = 0; k < sources_.size(); ++k) {
        if (sources_[k] != Source::copied) continue;
        std::memcpy(t.next[k], body_frame.at(body.outputs[k]), body.outputs[k].bytes());
      }
      swap_carries(t);
    }
  }

  // A loop over a few numbers costs what its kernels cost: no step, no table in between.
  Status turn_calls(Tables& t, const Frame& cond_frame, const Frame& body_frame) const {
    t.scratch.resize(scratch_bytes_ + kArenaAlignment);
    void* start = t.scratch.data();
    std::size_t space = t.scratch.size();
    auto* const scratch = static_cast<std::byte*>(std::align(kArenaAlignment, scratch_bytes_, start, space));
    for (BoundTurn& turn : t.turns) {
      address(t);
      turn.cond.clear();
      turn.body.clear();
      turn.copies.clear();
      std::byte* at = scratch;
      for (std::size_t i = 0; i < bound_.size(); ++i) {
        const bool in_cond = i < parts_.cond->steps.size();
        bound_[i].append(in_cond ? cond_frame : body_frame, at, in_cond ? turn.cond : turn.body);
        at += aligned(bound_[i].scratch_bytes);
      }
      turn.predicate = cond_frame.at(parts_.cond->outputs[0]);
      for (std::size_t k = 0; k < sources_.size(); ++k) {
        if (sources_[k] != Source::copied) continue;
        const View& output = parts_.body->outputs[k];
        turn.copies.push_back({body_frame.at(output), t.next[k], output.bytes()});
      }
      swap_carries(t);
    }
    const DType dtype = parts_.cond->outputs[0].type.dtype;
    Turns turns(cond_frame.options());
    for (;;) {
      for (const BoundTurn& turn : t.turns) {
        for (const BoundCall& call : turn.cond) call.kernel(call.in, call.out, call.n);
        if (!holds(turn.predicate, dtype)) return {};
        REPRISE_RETURN_IF_ERROR(turns.next());
        for (const BoundCall& call : turn.body) call.kernel(call.in, call.out, call.n);
        for (const auto& [from, to, bytes] : turn.copies) std::memcpy(to, from, bytes);
        swap_carries(t);
      }
    }
  }

  // The steps' calls, when all of them are only that.
  void bind() {
    for (const Plan* plan : {parts_.cond.get(), parts_.body.get()}) {
      for (const auto& step : plan->steps) {
        auto bound = step->bound();
        if (!bound) {
          bound_.clear();
          return;
        }
        scratch_bytes_ += aligned(bound->scratch_bytes);
        bound_.push_back(*std::move(bound));
      }
    }
  }

  LoopParts parts_;
  std::vector<View> from_, results_;
  LoopMemory memory_;
  std::vector<Bound> bound_;  ///< of the condition's steps, then of the body's
  std::size_t scratch_bytes_ = 0;
  std::vector<Source> sources_;
  std::vector<std::pair<SlotId, std::size_t>> cond_inputs_, body_inputs_;
  mutable Pool<Tables> pool_;
};

class ArrayLoop final : public Step {
 public:
  ArrayLoop(LoopParts parts, std::vector<View> from, std::vector<SlotId> results)
      : text_(describe_loop(parts)),
        cond_(std::move(parts.cond)),
        body_(std::move(parts.body)),
        from_(std::move(from)),
        results_(std::move(results)) {}

  void finish(const Plan& plan, std::uint32_t index) override { last_use_ = last_uses(plan, index, from_); }

  Status run(const Frame& frame) const override {
    std::vector<mx::array> carry = take_arrays(frame, from_, last_use_);
    Turns turns(frame.options());
    for (;;) {
      auto predicate = cond_.run(carry, frame.options(), frame.threads());
      if (!predicate) return predicate.error();
      mx::array& p = (*predicate)[0];
      if (!holds(reinterpret_cast<const std::byte*>(p.data<char>()), cond_.plan().outputs[0].type.dtype)) break;
      REPRISE_RETURN_IF_ERROR(turns.next());
      auto next = body_.run(std::move(carry), frame.options(), frame.threads());
      if (!next) return next.error();
      carry = *std::move(next);
    }
    for (std::size_t k = 0; k < results_.size(); ++k) {
      frame.set_array(results_[k], as_dense(std::move(carry[k]), frame.threads()));
    }
    return {};
  }

  std::string describe() const override { return text_; }

 private:
  std::string text_;
  Replayer cond_, body_;
  std::vector<View> from_;
  std::vector<SlotId> results_;
  std::vector<bool> last_use_;
};

}  // namespace

bool runs_on_fixed_memory(const Plan& plan) {
  std::vector<bool> is_output(plan.slots.size(), false);
  for (const View& view : plan.outputs) is_output[view.slot] = true;
  for (SlotId s = 0; s < plan.slots.size(); ++s) {
    const Slot& slot = plan.slots[s];
    if (slot.storage == Storage::array && (slot.made_by_step || !is_output[s])) return false;
  }
  return true;
}

std::vector<std::optional<TensorType>> staged_outputs(const LoopParts& parts) {
  const std::vector<Source> from = sources(parts);
  std::vector<bool> has_place(parts.body->slots.size(), false);
  for (std::size_t k = 0; k < from.size(); ++k) {
    if (from[k] == Source::placed) has_place[parts.body->outputs[k].slot] = true;
  }
  std::vector<std::optional<TensorType>> out(from.size());
  for (std::size_t k = 0; k < from.size(); ++k) {
    const SlotId s = parts.body->outputs[k].slot;
    if (from[k] != Source::copied || parts.body->slots[s].storage != Storage::array || has_place[s]) continue;
    has_place[s] = true;
    out[k] = TensorType{DType::uint8, {static_cast<std::int64_t>(parts.body->slots[s].bytes)}};
  }
  return out;
}

std::unique_ptr<Step> make_fixed_loop(LoopParts parts, std::vector<View> from, std::vector<View> results,
                                      LoopMemory memory) {
  return std::make_unique<FixedLoop>(std::move(parts), std::move(from), std::move(results), std::move(memory));
}

std::unique_ptr<Step> make_array_loop(LoopParts parts, std::vector<View> from, std::vector<SlotId> results) {
  return std::make_unique<ArrayLoop>(std::move(parts), std::move(from), std::move(results));
}

}  // namespace reprise::native
