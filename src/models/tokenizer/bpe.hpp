// Byte-pair merges: turns the symbols of one word into tokens, by rank, in n log n.
//
//   REPRISE_ASSIGN(const BpeMerges merges, BpeMerges::make({{a, b, ab}, {ab, c, abc}}));   // best rank first
//   BpeMerges::Workspace workspace;
//   symbols = {a, b, c};
//   merges.apply(symbols, workspace);   // {abc}
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace reprise {

class BpeMerges {
 public:
  struct Merge {
    std::int32_t left;
    std::int32_t right;
    std::int32_t result;
  };

  /// Memory that is kept between words.
  struct Workspace {
    std::vector<std::uint32_t> next;
    std::vector<std::uint32_t> previous;
    std::vector<std::uint64_t> queue;
  };

  BpeMerges() = default;

  /// Adds a merge that ranks after all added before; ids must not be negative. False if the pair was there already.
  bool add(Merge merge);
  void reserve(std::size_t count);

  /// Merges until no pair of neighbours is known: the best rank first, the leftmost among equals. Under 2^32 symbols.
  void apply(std::vector<std::int32_t>& symbols, Workspace& workspace) const;

 private:
  std::optional<std::uint32_t> rank_of(std::int32_t left, std::int32_t right) const;
  std::size_t slot_of(std::int32_t left, std::int32_t right) const;
  void grow(std::size_t slots);

  std::vector<Merge> merges_;         // by rank
  std::vector<std::uint32_t> slots_;  // open addressing: rank + 1, or 0 where free; the size is a power of two
};

}  // namespace reprise
