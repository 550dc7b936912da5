// reprise_fuzz: checks random programs. See tests/fuzz/README.md.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "fuzz/driver.hpp"

int main(int argc, char** argv) {
  reprise::fuzz::DriverOptions options;
  CLI::App app("Checks random programs, valid and damaged ones");
  bool no_float64 = false;
  bool no_shrink = false;
  app.add_option("--seed", options.seed, "Seed of all programs");
  app.add_option("--first", options.first, "Number of the first program");
  app.add_option("--programs", options.programs, "Valid programs to check");
  app.add_option("--mutants", options.mutants, "Damaged programs to check");
  app.add_option("--compare", options.compare, "Compare two runners instead: mlx,wide")->type_name("REFERENCE,OTHER");
  app.add_option("--max-instructions", options.max_instructions, "Instructions of a program, helpers apart")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--no-float64", no_float64, "Without float64, which only the CPU has");
  app.add_option("--jobs", options.jobs, "Processes at a time")->check(CLI::Range(1, 256));
  app.add_option("--max-failures", options.max_failures, "Give up after so many failures");
  app.add_flag("--no-shrink", no_shrink, "Print failing programs as they are");
  app.add_option("--save", options.save, "Write failing programs and their inputs there")->type_name("FOLDER");
  app.add_flag("--show", options.show, "Print each program before it runs");
  app.add_option("--plant", options.plant, "Let programs that use an op fail, to try the fuzzer itself")
      ->type_name("fault:OP|signal:OP");
  CLI11_PARSE(app, argc, argv);
  options.float64 = !no_float64;
  options.shrink = !no_shrink;
  if (options.programs == 0 && options.mutants == 0) options.programs = 100;
  try {
    return reprise::fuzz::drive(options);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "reprise_fuzz: %s\n", e.what());
    return 2;
  }
}
