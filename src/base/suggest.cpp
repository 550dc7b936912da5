#include "base/suggest.hpp"

#include <algorithm>
#include <array>

namespace reprise {
namespace {

constexpr std::size_t kLongest = 48;  // longer words are not typing mistakes of ours

// Levenshtein distance; both words are at most kLongest long.
std::size_t distance(std::string_view a, std::string_view b) {
  std::array<std::size_t, kLongest + 1> row{};
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string suggest(std::string_view word, std::span<const std::string_view> known) {
  if (word.size() > kLongest) return {};
  std::size_t best = std::min<std::size_t>(3, (word.size() + 1) / 3) + 1;
  std::string_view nearest;
  for (const auto name : known) {
    if (name.size() > kLongest) continue;
    if (const std::size_t d = distance(word, name); d < best) {
      best = d;
      nearest = name;
    }
  }
  return nearest.empty() ? std::string() : "; did you mean '" + std::string(nearest) + "'?";
}

}  // namespace reprise
