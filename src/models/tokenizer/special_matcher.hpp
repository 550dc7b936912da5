// Finds special tokens in text: the leftmost first, the longest among those that start there.
//
//   SpecialMatcher specials;
//   specials.add("<|im_end|>", 2);
//   specials.find("Hi<|im_end|>", 0);   // {2, 10, 2}: position, length, id
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace reprise {

class SpecialMatcher {
 public:
  struct Match {
    std::size_t position;
    std::size_t length;
    std::int32_t id;
  };

  SpecialMatcher() { roots_.fill(kNone); }

  /// Empty text is never found.
  void add(std::string_view text, std::int32_t id);

  /// The first token at or after `from`. A scan costs at most the text times the longest token.
  std::optional<Match> find(std::string_view text, std::size_t from) const;

 private:
  static constexpr std::int32_t kNone = -1;

  // A trie; the children of a node are a linked list. Most positions of a text are settled by the table of roots.
  struct Node {
    char byte;
    std::int32_t token = kNone;
    std::int32_t first_child = kNone;
    std::int32_t next_sibling = kNone;
  };

  std::int32_t find_child(std::int32_t first, char byte) const;

  std::array<std::int32_t, 256> roots_;
  std::vector<Node> nodes_;
};

}  // namespace reprise
