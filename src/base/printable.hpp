// Text from outside, made fit for a one-line message: cut, and without control characters.
//
//   printable("a\nb", 40);  // "a\x0ab", the escape spelled out
#pragma once

#include <string>
#include <string_view>

namespace reprise {

/// At most `most` bytes of `text`, with "..." behind them if there were more. UTF-8 stays as it is.
std::string printable(std::string_view text, std::size_t most = 64);

}  // namespace reprise
