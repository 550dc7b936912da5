#include "models/tokenizer/chat_template.hpp"

#include <algorithm>

#include "base/format.hpp"

namespace reprise {
namespace {

constexpr std::string_view kTurnStart = "<|im_start|>";
constexpr std::string_view kTurnEnd = "<|im_end|>";
constexpr std::string_view kPhiSeparator = "<|im_sep|>";  // Phi-4 has the other markers too, but is not ChatML

// The texts that a Jinja template may print: its raw text and the string literals inside its tags.
class JinjaTexts {
 public:
  explicit JinjaTexts(std::string_view source) : source_(source) {}

  std::vector<std::string> read() {
    std::vector<std::string> texts;
    while (pos_ < source_.size()) {
      const std::size_t tag = find_tag();
      if (tag > pos_) texts.emplace_back(source_.substr(pos_, tag - pos_));
      if (tag == source_.size()) break;
      const char kind = source_[tag + 1];
      pos_ = tag + 2;
      if (kind == '#') {
        skip_past("#}");
      } else {
        read_tag(kind == '{' ? "}}" : "%}", texts);
      }
    }
    return texts;
  }

 private:
  std::size_t find_tag() const {
    std::size_t brace = source_.find('{', pos_);
    while (brace != std::string_view::npos && brace + 1 < source_.size()) {
      const char next = source_[brace + 1];
      if (next == '{' || next == '%' || next == '#') return brace;
      brace = source_.find('{', brace + 1);
    }
    return source_.size();
  }

  void skip_past(std::string_view end) {
    const std::size_t found = source_.find(end, pos_);
    pos_ = found == std::string_view::npos ? source_.size() : found + end.size();
  }

  void read_tag(std::string_view end, std::vector<std::string>& texts) {
    while (pos_ < source_.size()) {
      if (source_.substr(pos_).starts_with(end)) {
        pos_ += end.size();
        return;
      }
      const char c = source_[pos_++];
      if (c == '\'' || c == '"') texts.push_back(read_literal(c));
    }
  }

  std::string read_literal(char quote) {
    std::string text;
    while (pos_ < source_.size()) {
      const char c = source_[pos_++];
      if (c == quote) break;
      if (c != '\\' || pos_ == source_.size()) {
        text += c;
        continue;
      }
      const char escaped = source_[pos_++];
      switch (escaped) {
        case 'n': text += '\n'; break;
        case 't': text += '\t'; break;
        case 'r': text += '\r'; break;
        case '\\':
        case '\'':
        case '"': text += escaped; break;
        default: text.append({'\\', escaped});
      }
    }
    return text;
  }

  std::string_view source_;
  std::size_t pos_ = 0;
};

std::optional<std::string> find_default_system(std::string_view jinja) {
  const std::string opening = std::string(kTurnStart) + "system\n";
  for (const std::string& text : JinjaTexts(jinja).read()) {
    const std::size_t start = text.find(opening);
    if (start == std::string::npos) continue;
    const std::size_t begin = start + opening.size();
    const std::size_t end = text.find(kTurnEnd, begin);
    if (end != std::string::npos) return text.substr(begin, end - begin);
  }
  return std::nullopt;
}

void append_turn(ChatRole role, std::string_view content, std::vector<TextSegment>& segments) {
  segments.push_back({std::string(kTurnStart), true});
  segments.push_back({fmt::format("{}\n{}", to_string(role), content), false});
  segments.push_back({std::string(kTurnEnd), true});
  segments.push_back({"\n", false});
}

}  // namespace

std::string_view to_string(ChatRole role) {
  switch (role) {
    case ChatRole::system: return "system";
    case ChatRole::user: return "user";
    case ChatRole::assistant: return "assistant";
  }
  return "?";
}

Result<ChatRole> chat_role_from_name(std::string_view name) {
  for (const ChatRole role : {ChatRole::system, ChatRole::user, ChatRole::assistant}) {
    if (to_string(role) == name) return role;
  }
  return make_error(ErrorCode::invalid_argument, "chat: role \"{}\" is not known; known are system, user, assistant",
                    name);
}

Result<ChatTemplate> ChatTemplate::make(std::string_view jinja) {
  if (jinja.empty()) return Error(ErrorCode::unsupported, "chat: the model has no chat template");
  const auto has = [jinja](std::string_view marker) { return jinja.find(marker) != std::string_view::npos; };
  if (!has(kTurnStart) || !has(kTurnEnd) || has(kPhiSeparator)) {
    std::string start(jinja.substr(0, 40));
    std::replace(start.begin(), start.end(), '\n', ' ');
    return make_error(ErrorCode::unsupported,
                      "chat: only ChatML templates, with <|im_start|> and <|im_end|>, are offered; this one begins "
                      "with \"{}\"",
                      start);
  }
  ChatTemplate chat;
  chat.default_system_ = find_default_system(jinja);
  return chat;
}

Result<std::vector<TextSegment>> ChatTemplate::render(std::span<const ChatMessage> messages,
                                                      ChatOptions options) const {
  if (messages.empty()) return Error(ErrorCode::invalid_argument, "chat: no messages, at least one is wanted");
  std::vector<TextSegment> segments;
  if (messages.front().role != ChatRole::system && default_system_) {
    append_turn(ChatRole::system, *default_system_, segments);
  }
  for (const ChatMessage& message : messages) append_turn(message.role, message.content, segments);
  if (options.add_generation_prompt) {
    segments.push_back({std::string(kTurnStart), true});
    segments.push_back({fmt::format("{}\n", to_string(ChatRole::assistant)), false});
  }
  return segments;
}

}  // namespace reprise
