// reprise bench: how long a program takes to compile and to replay.
#include <mlx/mlx.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "agreement.hpp"
#include "base/format.hpp"
#include "base/machine.hpp"
#include "command.hpp"
#include "inputs.hpp"
#include "ops/conv/conv.hpp"
#include "ops/dot/dot.hpp"
#include "program/array_access.hpp"
#include "program/infer.hpp"
#include "random_inputs.hpp"
#include "reprise/text.hpp"

namespace reprise::cli {
namespace {

using Arrays = std::vector<mlx::core::array>;
using Clock = std::chrono::steady_clock;

/// Shorter samples would measure the clock; what is faster is run several times a sample.
constexpr double kShortestSample = 50e-6;
/// Most samples kept.
constexpr std::int64_t kMostSamples = 1'000'000;
constexpr double kLongestTime = 86'400;
/// Compiled again and again for at most so long, and so often.
constexpr double kCompileTime = 1.0;
constexpr int kMostCompiles = 5;

struct Options {
  std::string program;
  std::vector<std::string> inputs;
  std::uint64_t seed = 0;
  double time = 1;
  std::optional<std::int64_t> repeat;
  std::uint32_t max_loop_turns = 0;
  bool check = false;
  std::optional<double> tolerance;
  bool json = false;
  Target target;
};

struct Job {
  Program program;
  std::vector<InputSpec> specs;
  std::vector<Arrays> files;  ///< beside `specs`: the arrays of each file
  std::vector<TensorType> types;
};

struct Summary {
  double median = 0;
  double lower = 0;  ///< quartiles
  double upper = 0;
  double least = 0;
};

struct Report {
  std::vector<double> compiles;  ///< seconds; the first is cold
  double first_run = 0;
  Summary replay;
  std::int64_t runs = 0;
  double products = 0;  ///< multiplications and additions of matrix products and convolutions in a run; 0: none known
  double bytes = 0;     ///< of inputs and outputs
  std::uint64_t checksum = 0;
  std::optional<Agreement> agreement;
};

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Summary summary_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  // Between neighbours, as numpy.percentile does.
  const auto at = [&samples](double part) {
    const double place = part * static_cast<double>(samples.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, samples.size() - 1);
    return samples[below] + (place - static_cast<double>(below)) * (samples[above] - samples[below]);
  };
  return {at(0.5), at(0.25), at(0.75), samples.front()};
}

double count(const Shape& shape) { return static_cast<double>(element_count(shape).value_or(0)); }

double bytes_of(const TensorType& type) { return count(type.shape) * static_cast<double>(size_of(type.dtype)); }

// Multiplications and additions of one instruction, if it is a product.
double operations(const VerifiedInstruction& instruction, const TypedProgram& typed) {
  const auto type = [&](std::size_t i) { return typed.type_of(instruction.operands[i]); };
  const double results = count(typed.types().results[instruction.first_result].shape);
  const void* attrs = instruction.attrs.get();
  if (instruction.op->attrs == &ops::kDotSchema) {
    double terms = 1;
    const int rank = type(0).rank();
    for (const auto axis : static_cast<const ops::DotAttrs*>(attrs)->contract_a) {
      terms *= static_cast<double>(type(0).shape[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)]);
    }
    return 2 * results * terms;
  }
  if (instruction.op->attrs == &ops::kQuantizedMatmulSchema) {
    return 2 * results * static_cast<double>(type(0).shape.back());
  }
  if (instruction.op->attrs == &ops::kConvSchema) {
    const TensorType weight = type(1);  // (O, k..., C / groups)
    return weight.shape[0] == 0 ? 0 : 2 * results * count(weight.shape) / static_cast<double>(weight.shape[0]);
  }
  return 0;
}

// 0 with loops: how often they turn is not known.
double operations(const TypedProgram& typed) {
  double sum = 0;
  for (const VerifiedInstruction& instruction : typed.verified().list().instructions) {
    if (!instruction.subprograms.empty()) return 0;
    sum += operations(instruction, typed);
  }
  return sum;
}

Result<Job> read(const Options& options) {
  REPRISE_ASSIGN(Program program, read_program(options.program));
  Job job{std::move(program), {}, {}, {}};
  double random_bytes = 0;
  for (const std::string& text : options.inputs) {
    REPRISE_ASSIGN(InputSpec spec, parse_input(text));
    Arrays arrays;
    if (spec.type) {
      random_bytes += bytes_of(*spec.type);
      if (!element_count(spec.type->shape) || random_bytes > static_cast<double>(machine_memory())) {
        return make_error(ErrorCode::invalid_argument, "input '{}': the inputs take more memory than the {} MiB here",
                          text, machine_memory() >> 20);
      }
      job.types.push_back(*spec.type);
    } else {
      REPRISE_ASSIGN(arrays, read_inputs({text}));
      for (const auto& array : arrays) job.types.push_back(type_of(array));
    }
    job.specs.push_back(std::move(spec));
    job.files.push_back(std::move(arrays));
  }
  if (job.types.size() != static_cast<std::size_t>(job.program->num_inputs)) {
    return make_error(ErrorCode::invalid_argument, "{} inputs given; the program takes {}", job.types.size(),
                      job.program->num_inputs);
  }
  return job;
}

Result<Arrays> arrays_of(const Job& job, std::uint64_t seed) {
  Arrays out;
  for (std::size_t i = 0; i < job.specs.size(); ++i) {
    if (job.specs[i].type) {
      // Inputs of the same type differ.
      REPRISE_ASSIGN(mlx::core::array made, random_array(job.specs[i], seed + 0x9e3779b97f4a7c15 * i));
      out.push_back(std::move(made));
    } else {
      out.insert(out.end(), job.files[i].begin(), job.files[i].end());
    }
  }
  return out;
}

Result<Executable> compile_timed(const Job& job, const CompileOptions& options, std::vector<double>& seconds) {
  const Clock::time_point begin = Clock::now();
  for (;;) {
    const Clock::time_point start = Clock::now();
    REPRISE_ASSIGN(Executable executable, compile(job.program, options));
    REPRISE_RETURN_IF_ERROR(executable.specialise(job.types));
    seconds.push_back(since(start));
    if (static_cast<int>(seconds.size()) == kMostCompiles || since(begin) > kCompileTime) return executable;
  }
}

Status measure(const Executable& executable, const Arrays& inputs, const Options& options, Report& report) {
  const RunOptions run_options{.max_loop_turns = options.max_loop_turns};
  const auto run = [&](std::int64_t times, double& seconds) -> Status {
    const Clock::time_point start = Clock::now();
    for (std::int64_t i = 0; i < times; ++i) {
      if (auto out = executable.run(inputs, run_options); !out) return out.error();
    }
    seconds = since(start);
    return {};
  };
  double seconds = 0;
  // Until it is warm: a tenth of the time, or of the runs.
  const Clock::time_point begin = Clock::now();
  const std::int64_t most_warm = options.repeat ? 1 + *options.repeat / 10 : std::numeric_limits<std::int64_t>::max();
  std::int64_t warm = 0;
  do {
    REPRISE_RETURN_IF_ERROR(run(1, seconds));
  } while (++warm < most_warm && since(begin) < options.time / 10);

  const double shortest = std::max(kShortestSample, options.time / static_cast<double>(kMostSamples));
  std::int64_t each =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(shortest / std::max(seconds, 1e-9)), 1, 100'000);
  if (options.repeat) each = std::min(each, std::max<std::int64_t>(1, *options.repeat / 3));
  std::vector<double> samples;
  const Clock::time_point start = Clock::now();
  const auto more = [&] {
    if (static_cast<std::int64_t>(samples.size()) == kMostSamples) return false;
    if (options.repeat) return report.runs < *options.repeat;
    return samples.size() < 3 || since(start) < options.time;
  };
  while (more()) {
    const std::int64_t times = options.repeat ? std::min(each, *options.repeat - report.runs) : each;
    REPRISE_RETURN_IF_ERROR(run(times, seconds));
    report.runs += times;
    samples.push_back(seconds / static_cast<double>(times));
  }
  report.replay = summary_of(std::move(samples));
  return {};
}

Result<Report> bench(const Options& options, const ResolvedTarget& target, const Job& job) {
  Report report;
  REPRISE_ASSIGN(const Executable executable,
                 compile_timed(job, {.backend = target.backend, .device = target.device}, report.compiles));
  REPRISE_ASSIGN(VerifiedProgram verified, verify(job.program));
  REPRISE_ASSIGN(const TypedProgram typed,
                 infer(std::make_shared<const VerifiedProgram>(std::move(verified)), job.types, machine_memory()));
  report.products = operations(typed);
  REPRISE_ASSIGN(const Arrays inputs, arrays_of(job, options.seed));

  const RunOptions run_options{.max_loop_turns = options.max_loop_turns};
  const Clock::time_point start = Clock::now();
  REPRISE_ASSIGN(Arrays outputs, executable.run(inputs, run_options));
  report.first_run = since(start);
  for (const TensorType& type : job.types) report.bytes += bytes_of(type);
  for (const auto& output : outputs) report.bytes += bytes_of(type_of(output));
  REPRISE_ASSIGN(report.checksum, checksum(outputs));
  if (options.check) {
    REPRISE_ASSIGN(const Executable judge, compile(job.program, {.backend = Backend::mlx, .device = Device::cpu()}));
    REPRISE_ASSIGN(const Arrays wanted, judge.run(inputs, run_options));
    REPRISE_ASSIGN(report.agreement, compare(outputs, wanted, tolerances(typed, options.tolerance)));
  }
  outputs.clear();
  REPRISE_RETURN_IF_ERROR(measure(executable, inputs, options, report));
  return report;
}

std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,=";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string command_of(const Options& options) {
  std::string out = "reprise bench " + quoted(options.program);
  for (const std::string& input : options.inputs) out += " --input " + quoted(input);
  out += fmt::format(" --seed {} --backend {} --device {} --threads {}", options.seed, options.target.backend,
                     options.target.device, threads());
  out += options.repeat ? fmt::format(" --repeat {}", *options.repeat) : fmt::format(" --time {}", options.time);
  if (options.max_loop_turns > 0) out += fmt::format(" --max-loop-turns {}", options.max_loop_turns);
  if (options.check) out += " --check";
  if (options.tolerance) out += fmt::format(" --tolerance {}", *options.tolerance);
  return out;
}

// Three digits, in the unit that suits.
std::string duration(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

std::string as_text(const Options& options, const Job& job, const Report& r) {
  std::string out =
      fmt::format("{}: {} instructions, backend {}, device {}, {} threads\n", options.program,
                  job.program->instructions.size(), options.target.backend, options.target.device, threads());
  out += fmt::format("compile  median {}, first {}; {} times\n", duration(summary_of(r.compiles).median),
                     duration(r.compiles.front()), r.compiles.size());
  out += fmt::format("replay   median {}, least {}, quartiles {} and {}; {} runs; the first {}\n",
                     duration(r.replay.median), duration(r.replay.least), duration(r.replay.lower),
                     duration(r.replay.upper), r.runs, duration(r.first_run));
  out += fmt::format("rate     {:.3g} GB/s of inputs and outputs", r.bytes / r.replay.median / 1e9);
  if (r.products > 0) out += fmt::format(", {:.3g} GFLOP/s of products", r.products / r.replay.median / 1e9);
  out += fmt::format("\nanswer   checksum {:016x}", r.checksum);
  if (r.agreement) {
    out += fmt::format(", agrees with mlx: {:.2g} of the greatest element apart, allowed {:.2g}", r.agreement->error,
                       r.agreement->tolerance);
  }
  return out + fmt::format("\nagain    {}\n", command_of(options));
}

std::string as_json(const Options& options, const Job& job, const Report& r) {
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
  for (const TensorType& type : job.types) inputs.push_back(to_string(type));
  nlohmann::ordered_json json{
      {"program", options.program},
      {"inputs", std::move(inputs)},
      {"instructions", job.program->instructions.size()},
      {"backend", options.target.backend},
      {"device", options.target.device},
      {"threads", threads()},
      {"seed", options.seed},
      {"compile_ms", summary_of(r.compiles).median * 1e3},
      {"compile_first_ms", r.compiles.front() * 1e3},
      {"first_run_ms", r.first_run * 1e3},
      {"median_ms", r.replay.median * 1e3},
      {"least_ms", r.replay.least * 1e3},
      {"lower_quartile_ms", r.replay.lower * 1e3},
      {"upper_quartile_ms", r.replay.upper * 1e3},
      {"runs", r.runs},
      {"bytes", r.bytes},
      {"product_operations", r.products},
      {"checksum", fmt::format("{:016x}", r.checksum)},
      {"command", command_of(options)},
  };
  if (r.agreement) json["check"] = {{"error", r.agreement->error}, {"tolerance", r.agreement->tolerance}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Status check_numbers(const Options& options) {
  if (!(options.time > 0 && options.time <= kLongestTime)) {
    return make_error(ErrorCode::invalid_argument, "--time is {}; wanted seconds, more than 0 and at most {}",
                      options.time, kLongestTime);
  }
  if (options.repeat && (*options.repeat < 1 || *options.repeat > 1'000'000'000)) {
    return make_error(ErrorCode::invalid_argument, "--repeat is {}; wanted 1 to 1000000000", *options.repeat);
  }
  if (options.tolerance && !(*options.tolerance >= 0 && std::isfinite(*options.tolerance))) {
    return make_error(ErrorCode::invalid_argument, "--tolerance is {}; wanted a number from 0 up", *options.tolerance);
  }
  if (options.tolerance && !options.check) {
    return Error(ErrorCode::invalid_argument, "--tolerance goes with --check; without it nothing is compared");
  }
  return {};
}

int run(Options options) {
  if (const Status good = check_numbers(options); !good.ok()) return fail(good.error());
  auto target = resolve(options.target);
  if (!target) return fail(target.error());
  // What is reported is what ran.
  const bool native = reprise::resolve(target->backend, target->device) == Backend::native;
  options.target.backend = native ? "native" : "mlx";
  auto job = read(options);
  if (!job) return fail_reading(job.error());
  auto report = bench(options, *target, *job);
  if (!report) return fail(report.error().with_context(options.program));
  Status written = print(options.json ? as_json(options, *job, *report) : as_text(options, *job, *report));
  if (written.ok()) written = flush();
  return written.ok() ? kGood : fail(written.error());
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("bench", "Time a program: compiling it, and replaying it");
  command->add_option("program", options->program, "A program file")->required()->type_name("PROGRAM.rp");
  command
      ->add_option("--input", options->inputs,
                   "The program's inputs in order: .npy or .npz files, or types such as 'f32[2, 3]' or "
                   "'s32[8]=0..9' for random numbers, in that range")
      ->type_name("FILE|TYPE...");
  add_number(*command, "--seed", options->seed, "Where the random numbers start")->type_name("S")->default_str("0");
  CLI::Option* time = add_number(*command, "--time", options->time, "Replay for this many seconds")
                          ->type_name("SECONDS")
                          ->default_str("1");
  add_number(*command, "--repeat", options->repeat, "Replay so often instead")->type_name("N")->excludes(time);
  command->add_flag("--check", options->check, "Fail when the answer is not that of backend mlx on the CPU");
  add_number(*command, "--tolerance", options->tolerance,
             "With --check: how far elements may differ, in units of the output's greatest one (default: what the ops' "
             "rows allow, added up, twice)")
      ->type_name("T");
  add_number(*command, "--max-loop-turns", options->max_loop_turns, "Give up when a loop turns more often; 0: never")
      ->type_name("N");
  command->add_flag("--json", options->json, "Print one JSON object");
  add_target_options(*command, options->target);
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace reprise::cli
