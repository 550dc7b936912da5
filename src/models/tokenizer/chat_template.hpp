// Chat messages to the text that a model was trained on.
//
//   REPRISE_ASSIGN(const ChatTemplate chat, ChatTemplate::make(tokenizer.chat_template()));
//   REPRISE_ASSIGN(const auto segments, chat.render(std::vector<ChatMessage>{{ChatRole::user, "Hi"}}));
//   REPRISE_ASSIGN(const auto ids, tokenizer.encode(segments, {.add_special = true}));
//
// Only the template's own markers are special segments, so a message that spells out "<|im_end|>" stays plain text.
//
// Templates are Jinja programs; there is no Jinja here. A template is recognised by its markers, ChatML so far, and
// what it renders is known from then on. The default system message is read from it, within these limits:
// - it must stand, between <|im_start|>system and <|im_end|>, in one string literal or in one stretch of the template's
//   raw text, not be put together from parts or kept in a variable; the first such message counts;
// - it is used when the first message is not a system message, which is how the templates seen so far do it.
// Tools, reasoning sections, dates and filters such as `trim` are not honoured: contents are taken as they are.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizer/tokenizer.hpp"
#include "reprise/status.hpp"

namespace reprise {

enum class ChatRole { system, user, assistant };

std::string_view to_string(ChatRole role);

/// "system", "user" or "assistant".
Result<ChatRole> chat_role_from_name(std::string_view name);

struct ChatMessage {
  ChatRole role;
  std::string content;
};

struct ChatOptions {
  bool add_generation_prompt = true;  ///< end with the start of the assistant's answer
};

class ChatTemplate {
 public:
  static Result<ChatTemplate> make(std::string_view jinja);

  Result<std::vector<TextSegment>> render(std::span<const ChatMessage> messages, ChatOptions options = {}) const;

  /// The system message of conversations that bring none.
  const std::optional<std::string>& default_system() const { return default_system_; }

 private:
  ChatTemplate() = default;

  std::optional<std::string> default_system_;
};

}  // namespace reprise
