#include "reprise/executable.hpp"

#include <charconv>
#include <cstdlib>
#include <mutex>

#include "backends/native/specialised.hpp"
#include "base/format.hpp"
#include "base/machine.hpp"
#include "passes/passes.hpp"
#include "program/array_access.hpp"
#include "program/infer.hpp"
#include "runtime/lru_cache.hpp"

namespace reprise {
namespace {

std::atomic<std::uint64_t> next_id{1};

Result<std::shared_ptr<const Specialised>> prepare(std::shared_ptr<const TypedProgram> typed,
                                                   const CompileOptions& options, std::int64_t max_bytes) {
  if (options.backend != Backend::native) return mlx_backend::specialise(std::move(typed), options.device);
  REPRISE_ASSIGN(pass::Optimised made, pass::optimise(std::move(typed), options.disabled_passes, max_bytes));
  return native::specialise(std::move(made.program));
}

}  // namespace

class Executable::Impl {
 public:
  Impl(std::shared_ptr<const VerifiedProgram> verified, const CompileOptions& options)
      : verified_(std::move(verified)),
        options_(options),
        id_(next_id.fetch_add(1)),
        max_bytes_(options.max_value_bytes > 0 ? options.max_value_bytes : machine_memory()),
        cache_(options.max_specialisations) {}

  Result<std::shared_ptr<const Specialised>> specialisation(std::span<const TensorType> signature) const {
    std::vector<TensorType> key(signature.begin(), signature.end());
    {
      const std::lock_guard lock(mutex_);
      if (auto found = cache_.find(key)) {
        ++stats_.hits;
        return *std::move(found);
      }
      ++stats_.misses;
    }
    // Made outside the lock: it may take long, and the program's other signatures go on meanwhile. Two threads may make
    // the same one; the first to come back wins.
    auto typed = infer(verified_, signature, max_bytes_);
    if (!typed) return typed.error();
    auto shared = std::make_shared<const TypedProgram>(*std::move(typed));
    auto made = prepare(std::move(shared), options_, max_bytes_);
    if (!made) return made.error();
    std::optional<std::shared_ptr<const Specialised>> evicted;
    const std::lock_guard lock(mutex_);
    if (auto found = cache_.find(key)) return *std::move(found);
    evicted = cache_.insert(std::move(key), *made);
    if (evicted) ++stats_.evictions;
    return *made;
  }

  Result<std::vector<mlx::core::array>> run(std::vector<mlx::core::array> inputs, const RunOptions& options) const {
    const Program& program = verified_->program();
    if (inputs.size() != static_cast<std::size_t>(program->num_inputs)) {
      return make_error(ErrorCode::invalid_argument, "run: {} inputs given; the program takes {}", inputs.size(),
                        program->num_inputs);
    }
    std::vector<TensorType> signature;
    signature.reserve(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      try {
        // A lazy array can only be forced on the thread that recorded it: the caller's.
        if (!inputs[i].is_available()) inputs[i].eval();
      } catch (const std::exception& e) {
        return make_error(ErrorCode::invalid_argument, "run: input {} cannot be evaluated: {}", i, e.what());
      }
      signature.push_back(type_of(inputs[i]));
    }
    auto specialised = specialisation(signature);
    if (!specialised) return specialised.error();
    {
      const std::lock_guard lock(mutex_);
      ++stats_.runs;
    }
    return (*specialised)->run(std::move(inputs), options);
  }

  const Program& program() const { return verified_->program(); }
  const CompileOptions& options() const { return options_; }
  std::uint64_t id() const { return id_; }

  ExecutableStats stats() const {
    const std::lock_guard lock(mutex_);
    ExecutableStats out = stats_;
    out.specialisations = cache_.size();
    return out;
  }

 private:
  std::shared_ptr<const VerifiedProgram> verified_;
  CompileOptions options_;
  std::uint64_t id_;
  std::int64_t max_bytes_;
  mutable std::mutex mutex_;
  mutable LruCache<std::vector<TensorType>, std::shared_ptr<const Specialised>> cache_;
  mutable ExecutableStats stats_;
};

Result<std::vector<mlx::core::array>> Executable::run(std::vector<mlx::core::array> inputs,
                                                      const RunOptions& options) const {
  return impl_->run(std::move(inputs), options);
}

Status Executable::specialise(std::span<const TensorType> inputs) const {
  if (auto made = impl_->specialisation(inputs); !made) return made.error();
  return {};
}

Result<PlanInfo> Executable::plan(std::span<const TensorType> inputs) const {
  if (options().backend != Backend::native) {
    return Error(ErrorCode::unsupported, "plan: only backend native plans ahead; this program is compiled for mlx");
  }
  REPRISE_ASSIGN(const std::shared_ptr<const Specialised> specialised, impl_->specialisation(inputs));
  auto plan = specialised->plan();
  if (!plan) return Error(ErrorCode::internal, "plan: there is none");
  return *std::move(plan);
}

const Program& Executable::program() const { return impl_->program(); }
const CompileOptions& Executable::options() const { return impl_->options(); }
ExecutableStats Executable::stats() const { return impl_->stats(); }
std::uint64_t Executable::id() const { return impl_->id(); }

namespace {

// MLX takes the width of its search from there without looking: with one that is no number it spins for ever.
Status check_environment() {
  constexpr const char* kName = "MLX_BFS_MAX_WIDTH";
  const char* value = std::getenv(kName);  // NOLINT(concurrency-mt-unsafe): nothing here sets the environment
  if (!value) return {};
  const std::string_view text(value);
  int number = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc{} && stop == text.data() + text.size() && number > 0) return {};
  return make_error(ErrorCode::invalid_argument, "environment variable {} is '{}'; wanted a positive number", kName,
                    text.substr(0, 64));
}

}  // namespace

Result<Executable> compile(const Program& program, const CompileOptions& wanted) {
  REPRISE_RETURN_IF_ERROR(check_environment());
  CompileOptions options = wanted;
  options.backend = resolve(wanted.backend, wanted.device);
  if (!mlx_backend::is_available(options.device)) {
    return make_error(ErrorCode::unsupported, "device {} is not available here", to_string(options.device));
  }
  if (options.backend == Backend::native && options.device.kind != Device::Kind::cpu) {
    return make_error(ErrorCode::unsupported, "backend native runs on the CPU only; device {} needs backend mlx",
                      to_string(options.device));
  }
  REPRISE_RETURN_IF_ERROR(pass::check_names(options.disabled_passes));
  auto verified = verify(program);
  if (!verified) return verified.error();
  return Executable(
      std::make_shared<const Executable::Impl>(std::make_shared<const VerifiedProgram>(*std::move(verified)), options));
}

std::string to_string(const Device& device) {
  if (device.kind == Device::Kind::cpu) return "cpu";
  return fmt::format("cuda:{}", device.index);
}

Result<Device> parse_device(std::string_view text) {
  Device device;
  if (text.starts_with("cuda")) {
    device.kind = Device::Kind::cuda;
    const std::string_view rest = text.substr(4);
    if (!rest.empty()) {
      const char* end = rest.data() + rest.size();
      const auto [stop, code] = std::from_chars(rest.data() + 1, end, device.index);
      if (rest[0] != ':' || rest.size() < 2 || code != std::errc{} || stop != end || device.index < 0) {
        return make_error(ErrorCode::invalid_argument, "device '{}' is unknown; wanted cpu, cuda or cuda:N", text);
      }
    }
  } else if (text != "cpu") {
    return make_error(ErrorCode::invalid_argument, "device '{}' is unknown; wanted cpu, cuda or cuda:N", text);
  }
  if (!mlx_backend::is_available(device)) {
    return make_error(ErrorCode::unsupported, "device {} is not available here", to_string(device));
  }
  return device;
}

Backend resolve(Backend backend, const Device& device) {
  if (backend != Backend::automatic) return backend;
  return device.kind == Device::Kind::cpu ? Backend::native : Backend::mlx;
}

Result<Backend> parse_backend(std::string_view text) {
  if (text == "auto") return Backend::automatic;
  if (text == "mlx") return Backend::mlx;
  if (text == "native") return Backend::native;
  return make_error(ErrorCode::invalid_argument, "backend '{}' is unknown; wanted auto, native or mlx", text);
}

}  // namespace reprise
