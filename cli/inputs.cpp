#include "inputs.hpp"

#include <algorithm>
#include <charconv>

#include "base/format.hpp"
#include "io/npy/npy.hpp"
#include "io/npy/npz.hpp"
#include "program/array_access.hpp"
#include "reprise/text.hpp"
#include "reprise/text_model.hpp"

namespace reprise::cli {

std::optional<TensorType> parse_type(std::string_view text) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos || !text.ends_with(']')) return std::nullopt;
  const auto dtype = dtype_from_short_name(text.substr(0, open));
  if (!dtype) return std::nullopt;
  TensorType type{*dtype, {}};
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  while (!rest.empty()) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    std::int64_t dim = 0;
    const auto [stop, code] = std::from_chars(rest.data(), rest.data() + rest.size(), dim);
    if (code != std::errc{} || dim < 0) return std::nullopt;
    type.shape.push_back(dim);
    rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    if (rest.empty()) break;
    if (rest.front() != ',') return std::nullopt;
    rest.remove_prefix(1);
    if (rest.find_first_not_of(' ') == std::string_view::npos) return std::nullopt;
  }
  return type;
}

namespace {

/// Rows of the caches in a model's program, where its context has as many.
constexpr std::int64_t kDefaultCapacity = 256;

}  // namespace

Result<std::vector<mlx::core::array>> read_inputs(const std::vector<std::string>& paths) {
  std::vector<mlx::core::array> arrays;
  for (const std::string& path : paths) {
    if (path.ends_with(".npz")) {
      REPRISE_ASSIGN(NamedArrays named, read_npz(path));
      for (auto& [name, array] : named) arrays.push_back(std::move(array));
    } else if (path.ends_with(".npy")) {
      REPRISE_ASSIGN(mlx::core::array array, read_npy(path));
      arrays.push_back(std::move(array));
    } else {
      return make_error(ErrorCode::invalid_argument, "input '{}': wanted a .npy or .npz file", path);
    }
  }
  return arrays;
}

Result<std::vector<TensorType>> input_types(const std::vector<std::string>& texts) {
  std::vector<TensorType> types;
  for (const std::string& text : texts) {
    if (const auto type = parse_type(text)) {
      types.push_back(*type);
      continue;
    }
    if (!text.ends_with(".npy") && !text.ends_with(".npz")) {
      return make_error(ErrorCode::invalid_argument,
                        "input '{}': wanted a type such as f32[2, 3], or a .npy or .npz file", text);
    }
    REPRISE_ASSIGN(const auto arrays, read_inputs({text}));
    for (const auto& array : arrays) types.push_back(type_of(array));
  }
  return types;
}

Result<OpenedProgram> open_program(const std::string& file, const std::vector<std::string>& inputs,
                                   std::optional<std::int64_t> capacity) {
  if (file.ends_with(".gguf")) {
    if (!inputs.empty()) {
      return Error(ErrorCode::invalid_argument, "--input goes with program files; a model's inputs are known");
    }
    REPRISE_ASSIGN(const TextModel model, TextModel::load(file));
    const std::int64_t rows = capacity.value_or(std::min(kDefaultCapacity, model.context()));
    REPRISE_ASSIGN(Program program, model.decode_program(rows));
    return OpenedProgram{std::move(program), model.decode_inputs(rows)};
  }
  REPRISE_ASSIGN(Program program, read_program(file));
  if (inputs.empty() && program->num_inputs > 0) return OpenedProgram{std::move(program), std::nullopt};
  REPRISE_ASSIGN(std::vector<TensorType> types, input_types(inputs));
  return OpenedProgram{std::move(program), std::move(types)};
}

}  // namespace reprise::cli
