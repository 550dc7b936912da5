// A plan as a picture. Time runs from top to bottom, a row a step; to the right lies the arena, its offsets from left
// to right, and after it the arrays that have memory of their own.
#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "reprise/plan.hpp"

namespace reprise {
namespace {

constexpr int kRow = 24;  // pixels
constexpr int kTop = 48;
constexpr int kEdges = 110;
constexpr int kText = 460;
constexpr int kGap = 20;
constexpr int kArena = 640;
constexpr int kLane = 26;
constexpr std::size_t kMostLetters = 62;  // of a step, in kText
constexpr std::array kColours{"#8ecae6", "#ffd166", "#b5e48c", "#f4a6b7", "#cdb4db", "#ffb07c", "#90dbc4", "#c9cba3"};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      // Other control characters are not allowed in XML at all.
      default: out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
    }
  }
  return out;
}

std::string shortened(std::string_view text) {
  if (text.size() <= kMostLetters) return std::string(text);
  std::size_t end = kMostLetters - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // never within a character
  return std::string(text.substr(0, end)) + "…";
}

std::string title_of(const BufferInfo& b, std::size_t number) {
  return fmt::format("buffer {}: {}, {} bytes{}, steps {} to {}{}", number, to_string(b.type), b.bytes,
                     b.kind == BufferKind::arena ? fmt::format(" at {}", b.offset) : "", b.first_step, b.last_step,
                     b.is_output ? ", an output" : "");
}

class Picture {
 public:
  explicit Picture(const PlanInfo& plan) : plan_(plan) {}

  std::string draw() {
    edges();
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) step(i);
    arena();
    const int lanes = arrays();
    const int width = arrays_left() + lanes * kLane + kGap;
    const int height = kTop + static_cast<int>(plan_.steps.size()) * kRow + kGap;
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
               "font-family=\"ui-monospace, monospace\" font-size=\"12\">\n"
               "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
               "<text x=\"{2}\" y=\"20\">{3} steps; peak {4} bytes</text>\n"
               "<text x=\"{5}\" y=\"20\">arena: {6} bytes, at most {7} in use at once</text>\n",
               width, height, kEdges, plan_.steps.size(), plan_.peak_bytes, arena_left(), plan_.arena_bytes,
               plan_.live_bytes) +
           (lanes == 0 ? "" : fmt::format("<text x=\"{}\" y=\"20\">arrays</text>\n", arrays_left())) + body_ +
           "</svg>\n";
  }

 private:
  static int top_of(std::size_t step) { return kTop + static_cast<int>(step) * kRow; }
  static int arena_left() { return kEdges + kText + kGap; }
  static int arrays_left() { return arena_left() + kArena + kGap; }

  // From the step that wrote a buffer last to one that reads it.
  void edges() {
    std::vector<std::ptrdiff_t> writer(plan_.buffers.size(), -1);
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      std::vector<std::ptrdiff_t> from;
      for (const auto b : plan_.steps[i].reads) {
        if (writer[b] >= 0) from.push_back(writer[b]);
      }
      std::sort(from.begin(), from.end());
      from.erase(std::unique(from.begin(), from.end()), from.end());
      for (const auto f : from) {
        const int y0 = top_of(static_cast<std::size_t>(f)) + kRow / 2;
        const int y1 = top_of(i) + kRow / 2;
        const int out = std::min(kEdges - 6, 14 + (y1 - y0) / 6);
        body_ += fmt::format(
            "<path d=\"M{0} {1} C{2} {1} {2} {3} {0} {3}\" fill=\"none\" stroke=\"#888\" stroke-width=\"1\"/>\n",
            kEdges, y0, kEdges - out, y1);
      }
      for (const auto b : plan_.steps[i].writes) writer[b] = static_cast<std::ptrdiff_t>(i);
    }
  }

  void step(std::size_t i) {
    const StepInfo& s = plan_.steps[i];
    std::string title = fmt::format("step {}: {}", i, s.text);
    if (!s.instructions.empty()) title += fmt::format("\ninstructions {}", fmt::join(s.instructions, ", "));
    if (!s.why.empty()) title += "\n" + s.why;
    body_ += fmt::format(
        "<g><title>{}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"{}\" "
        "stroke=\"#666\"/><text x=\"{}\" y=\"{}\">{}</text></g>\n",
        escaped(title), kEdges, top_of(i) + 2, kText, kRow - 4, s.on_mlx ? "#fde2e4" : "#eef4fb", kEdges + 8,
        top_of(i) + 16, escaped(shortened(fmt::format("{} {}", i, s.text))));
  }

  void bar(std::size_t number, double left, double width) {
    const BufferInfo& b = plan_.buffers[number];
    const int top = top_of(b.first_step) + 2;
    const int height = static_cast<int>(b.last_step - b.first_step + 1) * kRow - 4;
    body_ += fmt::format(
        "<g><title>{}</title><rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\" stroke=\"#444\" "
        "stroke-width=\"{}\"/>",
        escaped(title_of(b, number)), left, top, std::max(width, 0.5), height, kColours[number % kColours.size()],
        b.is_output ? "2" : "0.5");
    const std::string label = to_string(b.type);
    if (width > 8.0 * static_cast<double>(label.size())) {
      body_ += fmt::format("<text x=\"{:.2f}\" y=\"{}\">{}</text>", left + 4, top + 14, escaped(label));
    }
    body_ += "</g>\n";
  }

  void arena() {
    const int height = static_cast<int>(plan_.steps.size()) * kRow;
    body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#f6f6f6\" stroke=\"#bbb\"/>\n",
                         arena_left(), kTop, kArena, height);
    if (plan_.arena_bytes == 0) return;
    const double scale = kArena / static_cast<double>(plan_.arena_bytes);
    for (std::size_t n = 0; n < plan_.buffers.size(); ++n) {
      const BufferInfo& b = plan_.buffers[n];
      if (b.kind != BufferKind::arena || !b.used || b.bytes == 0) continue;
      bar(n, arena_left() + scale * static_cast<double>(b.offset), scale * static_cast<double>(b.bytes));
    }
  }

  // Each array gets the first lane that is free. Gives the number of lanes.
  int arrays() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t n = 0; n < plan_.buffers.size(); ++n) {
      if (plan_.buffers[n].kind == BufferKind::array && plan_.buffers[n].used) order.push_back(n);
    }
    std::sort(order.begin(), order.end(), [&](auto a, auto b) {
      return std::pair(plan_.buffers[a].first_step, a) < std::pair(plan_.buffers[b].first_step, b);
    });
    std::vector<std::uint32_t> free_from;  // by lane
    for (const auto n : order) {
      const BufferInfo& b = plan_.buffers[n];
      const auto found =
          std::find_if(free_from.begin(), free_from.end(), [&](std::uint32_t from) { return from <= b.first_step; });
      const auto lane = static_cast<int>(found - free_from.begin());
      if (found == free_from.end()) {
        free_from.push_back(b.last_step + 1);
      } else {
        *found = b.last_step + 1;
      }
      bar(n, arrays_left() + lane * kLane, kLane - 4);
    }
    return static_cast<int>(free_from.size());
  }

  const PlanInfo& plan_;
  std::string body_;
};

}  // namespace

std::string to_svg(const PlanInfo& plan) { return Picture(plan).draw(); }

}  // namespace reprise
