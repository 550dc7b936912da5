#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <unordered_map>
#include <unordered_set>

#include "base/format.hpp"
#include "base/printable.hpp"
#include "io/atomic_file.hpp"
#include "io/safetensors/safetensors.hpp"
#include "io/text/literal.hpp"
#include "io/text/parse.hpp"
#include "reprise/text.hpp"

namespace reprise {
namespace {

constexpr std::string_view kExtension = ".rp";
/// A text larger than this is no program that anyone wrote; refusing it keeps a wrong path from filling the memory.
constexpr std::int64_t kMaxTextBytes = std::int64_t{1} << 30;

Result<std::string> weights_path(const std::string& path) {
  if (!path.ends_with(kExtension)) {
    return make_error(ErrorCode::invalid_argument, "{}: wanted the name of a program file, NAME{}", path, kExtension);
  }
  return path.substr(0, path.size() - kExtension.size()) + ".safetensors";
}

// The captures' keys, by a rule that reader and writer share: the text holds names only, so that a name need not be
// unique or even text. An underscore is added until a made-up key is free.
std::vector<std::string> capture_keys(const std::vector<Capture>& captures) {
  std::unordered_set<std::string> taken;
  std::vector<std::string> keys;
  for (const Capture& c : captures) {
    const bool usable = !c.name.empty() && c.name != "__metadata__" && text::is_utf8(c.name);
    keys.push_back(usable && taken.insert(c.name).second ? c.name : "");
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!keys[i].empty()) continue;
    std::string key = fmt::format("cap{}", i);
    while (!taken.insert(key).second) key += '_';
    keys[i] = std::move(key);
  }
  return keys;
}

Result<std::string> read_text(const std::string& path) {
  const auto failed = [&](std::string_view what) {
    const ErrorCode code = errno == ENOENT || errno == ENOTDIR ? ErrorCode::not_found : ErrorCode::io;
    return make_error(code, "{}: cannot {}: {}", path, what, std::generic_category().message(errno));
  };
  // Not blocking: a pipe must be refused, not waited for.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return failed("open");
  struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } closer{descriptor};
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) return failed("look at");
  if (!S_ISREG(info.st_mode)) return make_error(ErrorCode::io, "{}: not a regular file", path);
  if (info.st_size > kMaxTextBytes) {
    return make_error(ErrorCode::limit, "{}: {} bytes; a program's text has at most {}", path, info.st_size,
                      kMaxTextBytes);
  }
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::read(descriptor, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("read");
    if (n == 0) break;  // cut short since we looked
    done += static_cast<std::size_t>(n);
  }
  text.resize(done);
  return text;
}

}  // namespace

Result<Program> read_program(const std::string& path) {
  REPRISE_ASSIGN(const std::string weights, weights_path(path));
  REPRISE_ASSIGN(const std::string source, read_text(path));
  auto parsed = text::parse_text(source);
  if (!parsed) return parsed.error().with_context(path);
  const std::size_t count = parsed->captures.size();
  std::vector<Capture> captures(count);
  bool any = false;
  for (const auto& type : parsed->captures) any |= type.has_value();
  if (any) {
    auto file = read_safetensors(weights);
    if (!file) return file.error().with_context(fmt::format("captures of {}", path));
    std::unordered_map<std::string_view, const mlx::core::array*> by_key;
    for (const auto& [key, array] : *file) by_key.emplace(key, &array);
    const auto keys = capture_keys(parsed->data.captures);
    for (std::size_t i = 0; i < count; ++i) {
      if (!parsed->captures[i]) continue;
      const auto found = by_key.find(keys[i]);
      if (found == by_key.end()) {
        return make_error(ErrorCode::bad_file, "{}: no tensor \"{}\"; wanted {} for cap{} of {}", weights,
                          printable(keys[i]), to_string(*parsed->captures[i]), i, path);
      }
      captures[i].value = std::make_shared<const mlx::core::array>(*found->second);
    }
  }
  auto program = text::bind_captures(*std::move(parsed), captures);
  if (!program) return Error(ErrorCode::bad_file, fmt::format("{}: {}", weights, program.error().message()));
  return program;
}

Status write_program(const std::string& path, const Program& program) {
  REPRISE_ASSIGN(const std::string weights, weights_path(path));
  const auto keys = capture_keys(program->captures);
  std::vector<std::pair<std::string, mlx::core::array>> tensors;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (const auto& value = program->captures[i].value) tensors.emplace_back(keys[i], *value);
  }
  // Everything is on the disk before the first file takes its name: a full disk leaves both as they were.
  REPRISE_ASSIGN(AtomicFile text_file, AtomicFile::create(path));
  REPRISE_RETURN_IF_ERROR(text_file.write(print_program(program)));
  if (!tensors.empty()) REPRISE_RETURN_IF_ERROR(write_safetensors(weights, tensors, {{"format", "reprise"}}));
  return text_file.commit();
}

}  // namespace reprise
