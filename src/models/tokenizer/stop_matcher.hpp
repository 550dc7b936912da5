// Ends a text at the first of several stop strings, which themselves are never printed.
//
//   REPRISE_ASSIGN(StopMatcher stop, StopMatcher::make({"\nUser:"}));
//   stop.feed("Yes.\nUs");   // "Yes.": the rest may be the start of a stop string, and is held back
//   stop.feed("er: no");     // ""; stop.stopped() is now true
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/status.hpp"

namespace reprise {

class StopMatcher {
 public:
  /// Stop strings must be valid UTF-8 and not empty; none at all is fine.
  static Result<StopMatcher> make(std::vector<std::string> stops);

  /// The text that may be printed now. The stop string that is complete first wins, and of those that end together the
  /// longest; how the text is cut into pieces makes no difference. Once stopped, everything is swallowed.
  std::string feed(std::string_view text);

  /// What was held back, at the end of a text that did not stop.
  std::string finish();

  bool stopped() const { return stopped_; }

 private:
  struct Stop {
    std::string text;
    std::vector<std::size_t> borders;  // of each prefix: its longest proper suffix that is a prefix too
    std::size_t matched = 0;           // bytes at the end of what came so far
  };

  std::vector<Stop> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace reprise
