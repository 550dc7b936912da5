#include "backends/native/plan.hpp"

#include <algorithm>
#include <numeric>

#include "base/format.hpp"

namespace reprise::native {

std::size_t bytes_of(const TensorType& type) {
  return static_cast<std::size_t>(element_count(type.shape).value_or(0)) * size_of(type.dtype);
}

std::int64_t View::size() const {
  std::int64_t n = 1;
  for (const auto dim : type.shape) n *= dim;
  return n;
}

bool View::is_dense() const {
  std::int64_t stride = 1;
  for (std::size_t axis = strides.size(); axis-- > 0;) {
    if (type.shape[axis] == 0) return true;
    if (type.shape[axis] != 1 && strides[axis] != stride) return false;
    stride *= type.shape[axis];
  }
  return true;
}

std::vector<std::int64_t> dense_strides(const Shape& shape) {
  std::vector<std::int64_t> out(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    out[axis] = stride;
    stride *= shape[axis];
  }
  return out;
}

std::vector<SharedAxis> join_axes(const Shape& shape, std::span<const std::span<const std::int64_t>> strides) {
  std::vector<SharedAxis> out;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    if (shape[a] == 1) continue;
    SharedAxis axis{shape[a], {}};
    for (const auto& one : strides) axis.strides.push_back(one[a]);
    const auto continues = [&] {
      for (std::size_t i = 0; i < axis.strides.size(); ++i) {
        if (out.back().strides[i] != axis.strides[i] * axis.size) return false;
      }
      return true;
    };
    if (!out.empty() && continues()) {
      out.back().size *= axis.size;
      out.back().strides = std::move(axis.strides);
    } else {
      out.push_back(std::move(axis));
    }
  }
  return out;
}

View dense_view(SlotId slot, TensorType type) {
  std::vector<std::int64_t> strides = dense_strides(type.shape);
  return {slot, std::move(type), std::move(strides), 0};
}

void Step::finish(const Plan&, std::uint32_t) {}

mlx::core::array Frame::take_array(SlotId slot) const {
  mlx::core::array out = *std::move(arrays_[slot]);
  arrays_[slot].reset();
  return out;
}

void Frame::set_array(SlotId slot, mlx::core::array array) const {
  addresses_[slot] = reinterpret_cast<std::byte*>(array.data<char>());
  arrays_[slot] = std::move(array);
}

namespace {

BufferKind kind_of(Storage storage) {
  switch (storage) {
    case Storage::input: return BufferKind::input;
    case Storage::constant: return BufferKind::constant;
    case Storage::arena: return BufferKind::arena;
    case Storage::array: return BufferKind::array;
  }
  return BufferKind::arena;
}

// The most that arrays of their own take at once.
std::size_t most_in_arrays(const PlanInfo& plan) {
  std::vector<std::size_t> begins(plan.steps.size() + 1), ends(plan.steps.size() + 1);
  for (const BufferInfo& b : plan.buffers) {
    if (b.kind != BufferKind::array || !b.used) continue;
    begins[b.first_step] += b.bytes;
    ends[b.is_output ? plan.steps.size() : b.last_step] += b.bytes;
  }
  std::size_t live = 0, most = 0;
  for (std::size_t i = 0; i <= plan.steps.size(); ++i) {
    live += begins[i];
    most = std::max(most, live);
    live -= ends[i];
  }
  return most;
}

}  // namespace

PlanInfo describe(const Plan& plan) {
  PlanInfo out;
  for (const auto& step : plan.steps) {
    out.steps.push_back({step->describe(), step->why, step->on_mlx(), step->instructions, step->reads, step->writes});
  }
  for (const Slot& slot : plan.slots) {
    BufferInfo b;
    b.kind = kind_of(slot.storage);
    b.type = slot.type;
    b.bytes = slot.storage == Storage::arena ? slot.bytes : bytes_of(slot.type);
    b.offset = slot.offset;
    b.used = slot.first_step != UINT32_MAX;
    if (b.used) {
      b.first_step = slot.first_step;
      b.last_step = slot.last_step;
    }
    if (b.kind == BufferKind::input) out.input_bytes += b.bytes;
    if (b.kind == BufferKind::constant) out.constant_bytes += plan.constants[slot.index].nbytes();
    out.buffers.push_back(std::move(b));
  }
  for (const View& view : plan.outputs) {
    out.outputs.push_back(view.slot);
    BufferInfo& b = out.buffers[view.slot];
    if (!b.is_output) out.output_bytes += b.bytes;
    b.is_output = true;
  }
  out.arena_bytes = plan.arena_bytes;
  out.live_bytes = plan.live_bytes;
  out.peak_bytes = out.input_bytes + out.constant_bytes + out.arena_bytes + most_in_arrays(out);
  return out;
}

void place_arena(const Plan& plan, std::byte* arena, std::vector<std::byte*>& addresses) {
  for (SlotId s = 0; s < plan.slots.size(); ++s) {
    if (plan.slots[s].storage == Storage::arena) addresses[s] = arena + plan.slots[s].offset;
  }
}

void place_constants(const Plan& plan, std::vector<std::byte*>& addresses) {
  for (SlotId s = 0; s < plan.slots.size(); ++s) {
    if (plan.slots[s].storage != Storage::constant) continue;
    mlx::core::array array = plan.constants[plan.slots[s].index];
    addresses[s] = reinterpret_cast<std::byte*>(array.data<char>());
  }
}

namespace {

void find_lives(Plan& plan) {
  for (std::uint32_t i = 0; i < plan.steps.size(); ++i) {
    for (const auto* list : {&plan.steps[i]->reads, &plan.steps[i]->writes}) {
      for (const SlotId s : *list) {
        plan.slots[s].first_step = std::min(plan.slots[s].first_step, i);
        plan.slots[s].last_step = std::max(plan.slots[s].last_step, i);
      }
    }
  }
  std::vector<bool> is_output(plan.slots.size());
  for (const View& out : plan.outputs) is_output[out.slot] = true;
  plan.allocate_before.resize(plan.steps.size());
  plan.release_after.resize(plan.steps.size());
  for (SlotId s = 0; s < plan.slots.size(); ++s) {
    const Slot& slot = plan.slots[s];
    if (slot.storage != Storage::array || slot.first_step == UINT32_MAX) continue;
    if (!slot.made_by_step) plan.allocate_before[slot.first_step].push_back(s);
    if (!is_output[s]) plan.release_after[slot.last_step].push_back(s);
  }
}

}  // namespace

// Greedy by size: large slots get the lowest place that is free during their whole life. Never far from the bound, and
// linear arithmetic is not worth what exact packing costs.
void place_slots(Plan& plan) {
  find_lives(plan);
  for (std::uint32_t i = 0; i < plan.steps.size(); ++i) plan.steps[i]->finish(plan, i);
  std::vector<SlotId> order;
  for (SlotId s = 0; s < plan.slots.size(); ++s) {
    Slot& slot = plan.slots[s];
    slot.bytes = aligned(slot.bytes);
    if (slot.storage == Storage::arena && slot.bytes > 0 && slot.first_step != UINT32_MAX) order.push_back(s);
  }
  std::sort(order.begin(), order.end(),
            [&](SlotId a, SlotId b) { return std::pair(plan.slots[b].bytes, a) < std::pair(plan.slots[a].bytes, b); });
  std::vector<SlotId> placed;  // by offset
  for (const SlotId s : order) {
    Slot& slot = plan.slots[s];
    std::size_t at = 0;
    for (const SlotId p : placed) {
      const Slot& other = plan.slots[p];
      if (other.last_step < slot.first_step || other.first_step > slot.last_step) continue;
      if (at + slot.bytes <= other.offset) break;
      at = std::max(at, other.offset + other.bytes);
    }
    slot.offset = at;
    plan.arena_bytes = std::max(plan.arena_bytes, at + slot.bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), s,
                                   [&](SlotId a, SlotId b) { return plan.slots[a].offset < plan.slots[b].offset; }),
                  s);
  }
  std::vector<std::size_t> begins(plan.steps.size() + 1), ends(plan.steps.size() + 1);
  for (const SlotId s : order) {
    begins[plan.slots[s].first_step] += plan.slots[s].bytes;
    ends[plan.slots[s].last_step] += plan.slots[s].bytes;
  }
  std::size_t live = 0;
  for (std::size_t i = 0; i <= plan.steps.size(); ++i) {
    live += begins[i];
    plan.live_bytes = std::max(plan.live_bytes, live);
    live -= ends[i];
  }
}

}  // namespace reprise::native
