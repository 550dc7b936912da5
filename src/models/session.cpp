#include "models/session.hpp"

#include <mlx/mlx.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/format.hpp"
#include "base/machine.hpp"

namespace reprise {
namespace {

namespace mx = mlx::core;

/// Largest first. A chunk costs about as much as its tokens, and each size one specialisation.
constexpr std::int64_t kChunkSizes[] = {128, 32, 8, 1};

// Made directly, not as a lazy operation: those belong to the thread that records them. Null when there is no memory.
std::optional<mx::array> zeros(const TensorType& type) {
  const auto bytes = static_cast<std::size_t>(*element_count(type.shape)) * size_of(type.dtype);
  mx::allocator::Data memory = mx::allocator::malloc(bytes);
  mx::allocator::Buffer buffer = memory.buffer();
  if (!buffer.ptr()) return std::nullopt;
  std::memset(buffer.raw_ptr(), 0, bytes);
  mx::Shape shape;
  for (const auto dim : type.shape) shape.push_back(static_cast<int>(dim));
  return mx::array(std::move(memory), shape, mx::float32);
}

}  // namespace

TensorType cache_type(const LlamaConfig& config, std::int64_t capacity) {
  return {DType::float32, {1, capacity, config.kv_heads, config.head_width}};
}

std::vector<Chunk> split_into_chunks(std::int64_t tokens, std::int64_t room) {
  std::vector<Chunk> chunks;
  while (tokens > 0) {
    // The smallest size that takes the rest in one go, if half of it or more is real and its rows fit.
    std::int64_t size = 1;
    for (const std::int64_t s : kChunkSizes) {
      if (s >= tokens && s <= room && 2 * tokens > s) size = s;
    }
    if (size < tokens) {
      for (const std::int64_t s : kChunkSizes) {
        if (s <= tokens) {
          size = s;
          break;
        }
      }
    }
    const std::int64_t used = std::min(size, tokens);
    chunks.push_back({size, used});
    tokens -= used;
    room -= used;
  }
  return chunks;
}

namespace {

// Runs one chunk at `position`; the caches go in and come back. Nothing is left in them after an error.
Result<mx::array> step(const Executable& executable, std::span<const std::int32_t> tokens, std::int64_t position,
                       std::optional<std::int32_t> last, std::vector<mx::array>& caches, const RunOptions& options) {
  if (caches.empty()) return Error(ErrorCode::invalid_argument, "the session ended with an error; begin a new one");
  const int length = static_cast<int>(tokens.size());
  std::vector<std::int32_t> positions(tokens.size());
  std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(position));
  std::vector<mx::array> inputs;
  inputs.reserve(3 + caches.size());
  inputs.emplace_back(tokens.begin(), mx::Shape{1, length}, mx::int32);
  inputs.emplace_back(positions.begin(), mx::Shape{1, length}, mx::int32);
  if (last) inputs.emplace_back(*last, mx::int32);
  // Moved in, so that nobody else holds them and they are updated in place.
  std::move(caches.begin(), caches.end(), std::back_inserter(inputs));
  caches.clear();
  auto outputs = executable.run(std::move(inputs), options);
  if (!outputs) return outputs.error();
  mx::array logits = std::move(outputs->front());
  if (!logits.flags().row_contiguous || logits.dtype() != mx::float32) {
    return Error(ErrorCode::internal, "the logits are not dense float32");
  }
  std::move(outputs->begin() + 1, outputs->end(), std::back_inserter(caches));
  return logits;
}

Result<std::vector<mx::array>> fresh_caches(const LlamaConfig& config, std::int64_t capacity) {
  const TensorType type = cache_type(config, capacity);
  std::int64_t bytes = 2 * config.layers * static_cast<std::int64_t>(size_of(type.dtype));
  bool overflow = false;
  for (const std::int64_t dim : type.shape) overflow |= __builtin_mul_overflow(bytes, dim, &bytes);
  const auto refuse = [&] {
    return make_error(ErrorCode::limit,
                      "caches of {} tokens take {} bytes; this process may use {} (ask for fewer tokens)", capacity,
                      overflow ? std::string("2^63 or more") : std::to_string(bytes), machine_memory());
  };
  if (overflow || bytes > machine_memory()) return refuse();
  std::vector<mx::array> caches;
  for (std::int64_t i = 0; i < 2 * config.layers; ++i) {
    auto cache = zeros(type);
    if (!cache) return refuse();
    caches.push_back(*std::move(cache));
  }
  return caches;
}

// The chunk's tokens, filled up to its size.
std::vector<std::int32_t> padded(std::span<const std::int32_t> tokens, const Chunk& chunk) {
  std::vector<std::int32_t> out(tokens.begin(), tokens.begin() + chunk.used);
  out.resize(static_cast<std::size_t>(chunk.size), 0);
  return out;
}

}  // namespace

Result<Session> Session::begin(const ModelExecutables& executables, const LlamaConfig& config, std::int64_t capacity) {
  REPRISE_ASSIGN(std::vector<mx::array> caches, fresh_caches(config, capacity));
  return Session(executables, capacity, std::move(caches));
}

Result<std::span<const float>> Session::feed(std::span<const std::int32_t> tokens, const RunOptions& options) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  if (count < 1 || count > room()) {
    return make_error(ErrorCode::limit, "{} tokens given; the cache has room for {}", count, room());
  }
  for (const Chunk& chunk : split_into_chunks(count, room())) {
    const Executable& executable = chunk.size == 1 ? executables_->decode : executables_->prefill;
    REPRISE_ASSIGN(logits_, step(executable, padded(tokens, chunk), position_,
                                 static_cast<std::int32_t>(chunk.used - 1), caches_, options));
    position_ += chunk.used;
    tokens = tokens.subspan(static_cast<std::size_t>(chunk.used));
  }
  return std::span<const float>(logits_->data<float>(), logits_->size());
}

Result<std::vector<float>> score(const Executable& scorer, const LlamaConfig& config, std::int64_t capacity,
                                 std::span<const std::int32_t> tokens) {
  REPRISE_ASSIGN(std::vector<mx::array> caches, fresh_caches(config, capacity));
  std::vector<float> out;
  std::int64_t position = 0;
  for (const Chunk& chunk : split_into_chunks(static_cast<std::int64_t>(tokens.size()), capacity)) {
    REPRISE_ASSIGN(const mx::array logits, step(scorer, padded(tokens, chunk), position, {}, caches, {}));
    const auto* rows = logits.data<float>();
    out.insert(out.end(), rows, rows + chunk.used * config.vocabulary);
    position += chunk.used;
    tokens = tokens.subspan(static_cast<std::size_t>(chunk.used));
  }
  return out;
}

}  // namespace reprise
