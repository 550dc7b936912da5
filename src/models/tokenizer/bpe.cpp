#include "models/tokenizer/bpe.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

namespace reprise {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr std::int32_t kGone = -1;

}  // namespace

void BpeMerges::reserve(std::size_t count) {
  merges_.reserve(count);
  if (2 * count > slots_.size()) grow(std::bit_ceil(2 * count));
}

bool BpeMerges::add(Merge merge) {
  if (2 * (merges_.size() + 1) > slots_.size()) grow(std::max<std::size_t>(16, 2 * slots_.size()));
  const std::size_t slot = slot_of(merge.left, merge.right);
  if (slots_[slot] != 0) return false;
  merges_.push_back(merge);
  slots_[slot] = static_cast<std::uint32_t>(merges_.size());
  return true;
}

void BpeMerges::grow(std::size_t slots) {
  slots_.assign(slots, 0);
  for (std::size_t rank = 0; rank < merges_.size(); ++rank) {
    slots_[slot_of(merges_[rank].left, merges_[rank].right)] = static_cast<std::uint32_t>(rank + 1);
  }
}

// The slot that holds the pair, or the free one where it belongs. At most half of the slots are taken.
std::size_t BpeMerges::slot_of(std::int32_t left, std::int32_t right) const {
  std::uint64_t key = static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  key *= 0x9E3779B97F4A7C15u;  // 2^64 divided by the golden ratio: spreads neighbours over the high bits
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = static_cast<std::size_t>(key >> 32) & mask;
  while (slots_[slot] != 0) {
    const Merge& merge = merges_[slots_[slot] - 1];
    if (merge.left == left && merge.right == right) break;
    slot = (slot + 1) & mask;
  }
  return slot;
}

std::optional<std::uint32_t> BpeMerges::rank_of(std::int32_t left, std::int32_t right) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint32_t entry = slots_[slot_of(left, right)];
  return entry == 0 ? std::nullopt : std::optional(entry - 1);
}

void BpeMerges::apply(std::vector<std::int32_t>& symbols, Workspace& workspace) const {
  const auto count = static_cast<std::uint32_t>(symbols.size());
  if (count < 2) return;
  // Not a structured binding: C++20 lets no lambda use those in clang 14.
  std::vector<std::uint32_t>& next = workspace.next;
  std::vector<std::uint32_t>& previous = workspace.previous;
  std::vector<std::uint64_t>& queue = workspace.queue;
  next.resize(count);
  previous.resize(count);
  queue.clear();
  // A queue entry is the rank above the position of the left symbol, so that the smallest comes first.
  const auto entry_for = [&](std::uint32_t left, std::uint32_t right) -> std::optional<std::uint64_t> {
    const auto rank = rank_of(symbols[left], symbols[right]);
    if (!rank) return std::nullopt;
    return static_cast<std::uint64_t>(*rank) << 32 | left;
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    previous[i] = i == 0 ? kNone : i - 1;
    next[i] = i + 1 == count ? kNone : i + 1;
    if (i + 1 == count) break;
    if (const auto entry = entry_for(i, i + 1)) queue.push_back(*entry);
  }
  std::make_heap(queue.begin(), queue.end(), std::greater<>());
  const auto push = [&](std::uint32_t left, std::uint32_t right) {
    if (const auto entry = entry_for(left, right)) {
      queue.push_back(*entry);
      std::push_heap(queue.begin(), queue.end(), std::greater<>());
    }
  };
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), std::greater<>());
    const std::uint64_t entry = queue.back();
    queue.pop_back();
    const Merge& merge = merges_[entry >> 32];
    const auto left = static_cast<std::uint32_t>(entry);
    const std::uint32_t right = next[left];
    // Entries are not removed when a neighbour changes; such an entry no longer names the pair that stands there.
    if (right == kNone || symbols[left] != merge.left || symbols[right] != merge.right) continue;
    symbols[left] = merge.result;
    symbols[right] = kGone;
    const std::uint32_t after = next[right];
    next[left] = after;
    next[right] = kNone;
    if (after != kNone) {
      previous[after] = left;
      push(left, after);
    }
    if (previous[left] != kNone) push(previous[left], left);
  }
  std::erase(symbols, kGone);
}

}  // namespace reprise
