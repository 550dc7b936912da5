#include "models/tokenizer/special_matcher.hpp"

namespace reprise {

std::int32_t SpecialMatcher::find_child(std::int32_t first, char byte) const {
  std::int32_t node = first;
  while (node != kNone && nodes_[static_cast<std::size_t>(node)].byte != byte) {
    node = nodes_[static_cast<std::size_t>(node)].next_sibling;
  }
  return node;
}

void SpecialMatcher::add(std::string_view text, std::int32_t id) {
  std::int32_t node = kNone;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto made = static_cast<std::int32_t>(nodes_.size());
    if (i == 0) {
      std::int32_t& root = roots_[static_cast<unsigned char>(text[0])];
      if (root == kNone) {
        nodes_.push_back({text[0]});
        root = made;
      }
      node = root;
      continue;
    }
    const std::int32_t first = nodes_[static_cast<std::size_t>(node)].first_child;
    std::int32_t child = find_child(first, text[i]);
    if (child == kNone) {
      nodes_.push_back({text[i], kNone, kNone, first});
      nodes_[static_cast<std::size_t>(node)].first_child = made;
      child = made;
    }
    node = child;
  }
  if (node != kNone) nodes_[static_cast<std::size_t>(node)].token = id;
}

std::optional<SpecialMatcher::Match> SpecialMatcher::find(std::string_view text, std::size_t from) const {
  for (std::size_t position = from; position < text.size(); ++position) {
    std::optional<Match> best;
    std::int32_t node = roots_[static_cast<unsigned char>(text[position])];
    for (std::size_t i = position; node != kNone;) {
      const Node& here = nodes_[static_cast<std::size_t>(node)];
      ++i;
      if (here.token != kNone) best = Match{position, i - position, here.token};
      if (i == text.size()) break;
      node = find_child(here.first_child, text[i]);
    }
    if (best) return best;
  }
  return std::nullopt;
}

}  // namespace reprise
