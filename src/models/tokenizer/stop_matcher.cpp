#include "models/tokenizer/stop_matcher.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"
#include "models/tokenizer/utf8.hpp"

namespace reprise {
namespace {

// One step of Knuth, Morris and Pratt: the prefix matched after `byte`. `matched` is less than the text's length.
std::size_t advance(std::string_view text, const std::vector<std::size_t>& borders, std::size_t matched, char byte) {
  while (matched > 0 && text[matched] != byte) matched = borders[matched - 1];
  return text[matched] == byte ? matched + 1 : 0;
}

}  // namespace

Result<StopMatcher> StopMatcher::make(std::vector<std::string> stops) {
  StopMatcher matcher;
  for (std::size_t i = 0; i < stops.size(); ++i) {
    Stop stop;
    stop.text = std::move(stops[i]);
    if (stop.text.empty()) {
      return make_error(ErrorCode::invalid_argument, "stop string {} is empty, at least one character is wanted", i);
    }
    if (!is_valid_utf8(stop.text)) {
      return make_error(ErrorCode::invalid_argument, "stop string {} is not valid UTF-8", i);
    }
    stop.borders.assign(1, 0);
    for (std::size_t k = 1; k < stop.text.size(); ++k) {
      stop.borders.push_back(advance(stop.text, stop.borders, stop.borders.back(), stop.text[k]));
    }
    matcher.stops_.push_back(std::move(stop));
  }
  return matcher;
}

std::string StopMatcher::feed(std::string_view text) {
  if (stopped_) return {};
  for (const char byte : text) {
    held_ += byte;
    std::size_t found = 0;
    for (Stop& stop : stops_) {
      stop.matched = advance(stop.text, stop.borders, stop.matched, byte);
      if (stop.matched == stop.text.size()) found = std::max(found, stop.matched);
    }
    if (found > 0) {
      stopped_ = true;
      held_.resize(held_.size() - found);
      return std::exchange(held_, {});
    }
  }
  std::size_t keep = 0;
  for (const Stop& stop : stops_) keep = std::max(keep, stop.matched);
  std::string out = held_.substr(0, held_.size() - keep);
  held_.erase(0, out.size());
  return out;
}

std::string StopMatcher::finish() {
  for (Stop& stop : stops_) stop.matched = 0;
  return std::exchange(held_, {});
}

}  // namespace reprise
