#include "ops/schema.hpp"

#include <algorithm>
#include <bit>

#include "base/format.hpp"
#include "base/printable.hpp"

namespace reprise::ops {
namespace {

constexpr std::string_view kModeNames[] = {"affine", "mxfp4", "mxfp8", "nvfp4"};

template <typename T>
T& at(const Field& field, void* object) {
  return *static_cast<T*>(field.slot(object));
}

// Fields only read through this; the schema's slots take a mutable pointer because decoding writes through them.
template <typename T>
const T& at(const Field& field, const void* object) {
  return *static_cast<const T*>(field.slot(const_cast<void*>(object)));
}

std::string describe(const Attr& attr) {
  if (const auto* i = std::get_if<std::int64_t>(&attr)) return fmt::format("the integer {}", *i);
  if (const auto* n = std::get_if<Name>(&attr)) return fmt::format("the name '{}'", printable(n->text));
  return "a byte string";
}

Error range_error(const Field& field, std::int64_t seen) {
  return make_error(ErrorCode::verify, "attribute '{}' is {}; wanted {} to {}", field.name, seen, field.min, field.max);
}

Status check_range(const Field& field, std::int64_t value) {
  if (value < field.min || value > field.max) return range_error(field, value);
  return {};
}

// Walks positional attributes and remembers where it is, so that each error can say so.
class Reader {
 public:
  explicit Reader(std::span<const Attr> attrs) : attrs_(attrs) {}

  std::size_t remaining() const { return attrs_.size() - position_; }
  std::size_t position() const { return position_; }

  Result<std::int64_t> integer(const Field& field) {
    REPRISE_ASSIGN(const Attr* attr, next(field, "an integer"));
    if (const auto* i = std::get_if<std::int64_t>(attr)) return *i;
    return make_error(ErrorCode::verify, "attribute '{}' (position {}) is {}; wanted an integer", field.name,
                      position_ - 1, describe(*attr));
  }

  Result<std::int64_t> count(const Field& field, std::size_t width) {
    REPRISE_ASSIGN(const std::int64_t n, integer(field));
    if (n < 0 || static_cast<std::uint64_t>(n) > remaining() / std::max<std::size_t>(width, 1)) {
      return make_error(ErrorCode::verify, "attribute '{}' (position {}) counts {} entries; {} attributes are left",
                        field.name, position_ - 1, n, remaining());
    }
    return n;
  }

  Result<std::string_view> name(const Field& field, std::string_view wanted) {
    REPRISE_ASSIGN(const Attr* attr, next(field, wanted));
    if (const auto* n = std::get_if<Name>(attr)) return std::string_view(n->text);
    return make_error(ErrorCode::verify, "attribute '{}' (position {}) is {}; wanted {}", field.name, position_ - 1,
                      describe(*attr), wanted);
  }

 private:
  Result<const Attr*> next(const Field& field, std::string_view wanted) {
    if (position_ >= attrs_.size()) {
      return make_error(ErrorCode::verify, "attribute '{}' is missing: {} attributes given; wanted {} at position {}",
                        field.name, attrs_.size(), wanted, position_);
    }
    return &attrs_[position_++];
  }

  std::span<const Attr> attrs_;
  std::size_t position_ = 0;
};

Result<DType> read_dtype(Reader& reader, const Field& field) {
  REPRISE_ASSIGN(const std::string_view text, reader.name(field, "a dtype name"));
  if (const auto d = dtype_from_name(text)) return *d;
  return make_error(ErrorCode::verify, "attribute '{}': Unknown dtype: {}", field.name, printable(text));
}

Status read_types(Reader& reader, const Field& field, std::vector<TensorType>& out) {
  REPRISE_ASSIGN(const std::int64_t n, reader.count(field, 2));
  for (std::int64_t i = 0; i < n; ++i) {
    TensorType type;
    REPRISE_ASSIGN(type.dtype, read_dtype(reader, field));
    REPRISE_ASSIGN(const std::int64_t rank, reader.count(field, 1));
    for (std::int64_t d = 0; d < rank; ++d) {
      REPRISE_ASSIGN(const std::int64_t dim, reader.integer(field));
      REPRISE_RETURN_IF_ERROR(check_range(field, dim));
      type.shape.push_back(dim);
    }
    out.push_back(std::move(type));
  }
  return {};
}

Status read_list(Reader& reader, const Field& field, std::size_t n, Ints& out) {
  out.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    REPRISE_ASSIGN(const std::int64_t value, reader.integer(field));
    REPRISE_RETURN_IF_ERROR(check_range(field, value));
    out.push_back(value);
  }
  return {};
}

// How many neighbouring interleaved lists start at `first`.
std::size_t interleaved_run(std::span<const Field> fields, std::size_t first) {
  std::size_t n = 0;
  while (first + n < fields.size() && fields[first + n].interleaved) ++n;
  return n;
}

Status read_scalar(Reader& reader, const Field& field, void* object) {
  switch (field.kind) {
    case FieldKind::integer: {
      REPRISE_ASSIGN(const std::int64_t value, reader.integer(field));
      REPRISE_RETURN_IF_ERROR(check_range(field, value));
      at<std::int64_t>(field, object) = value;
      return {};
    }
    case FieldKind::flag: {
      REPRISE_ASSIGN(const std::int64_t value, reader.integer(field));
      at<bool>(field, object) = value != 0;
      return {};
    }
    case FieldKind::real: {
      REPRISE_ASSIGN(const std::int64_t bits, reader.integer(field));
      at<double>(field, object) = std::bit_cast<double>(bits);
      return {};
    }
    case FieldKind::dtype: {
      REPRISE_ASSIGN((at<DType>(field, object)), read_dtype(reader, field));
      return {};
    }
    case FieldKind::mode: {
      REPRISE_ASSIGN(const std::string_view text, reader.name(field, "a quantization mode name"));
      const auto found = quant_mode_from_name(text);
      if (!found) {
        return make_error(ErrorCode::verify,
                          "attribute '{}' is '{}'; wanted a quantization mode: affine, mxfp4, mxfp8 or nvfp4",
                          field.name, printable(text));
      }
      at<QuantMode>(field, object) = *found;
      return {};
    }
    case FieldKind::count:
    case FieldKind::integers:
    case FieldKind::types: break;
  }
  return Error(ErrorCode::internal, "attribute schema: not a scalar field");
}

std::vector<Attr> encode_scalar(const Field& field, const void* object) {
  switch (field.kind) {
    case FieldKind::integer: return {at<std::int64_t>(field, object)};
    case FieldKind::flag: return {std::int64_t{at<bool>(field, object)}};
    case FieldKind::real: return {std::bit_cast<std::int64_t>(at<double>(field, object))};
    case FieldKind::dtype: return {Name{std::string(reprise::name(at<DType>(field, object)))}};
    case FieldKind::mode: return {Name{std::string(name(at<QuantMode>(field, object)))}};
    default: return {};
  }
}

Status set_named(const Field& field, const Value& value, void* object) {
  const auto wrong = [&] {
    return make_error(ErrorCode::verify, "attribute '{}': wanted {}", field.name, kind_name(field));
  };
  const auto* integer = std::get_if<std::int64_t>(&value);
  switch (field.kind) {
    case FieldKind::integer:
      if (!integer) return wrong();
      REPRISE_RETURN_IF_ERROR(check_range(field, *integer));
      at<std::int64_t>(field, object) = *integer;
      return {};
    case FieldKind::flag:
      if (const auto* b = std::get_if<bool>(&value)) {
        at<bool>(field, object) = *b;
      } else if (integer) {
        at<bool>(field, object) = *integer != 0;
      } else {
        return wrong();
      }
      return {};
    case FieldKind::real:
      if (const auto* d = std::get_if<double>(&value)) {
        at<double>(field, object) = *d;
      } else if (integer) {
        at<double>(field, object) = static_cast<double>(*integer);
      } else {
        return wrong();
      }
      return {};
    case FieldKind::dtype:
      if (const auto* d = std::get_if<DType>(&value)) {
        at<DType>(field, object) = *d;
      } else if (const auto* n = std::get_if<Name>(&value)) {
        auto found = dtype_from_name(n->text);
        if (!found) found = dtype_from_short_name(n->text);
        if (!found)
          return make_error(ErrorCode::verify, "attribute '{}': Unknown dtype: {}", field.name, printable(n->text));
        at<DType>(field, object) = *found;
      } else {
        return wrong();
      }
      return {};
    case FieldKind::mode: {
      const auto* n = std::get_if<Name>(&value);
      const auto found = n ? quant_mode_from_name(n->text) : std::nullopt;
      if (!found) return wrong();
      at<QuantMode>(field, object) = *found;
      return {};
    }
    case FieldKind::integers: {
      const auto* list = std::get_if<Ints>(&value);
      if (!list) return wrong();
      for (const auto v : *list) REPRISE_RETURN_IF_ERROR(check_range(field, v));
      at<Ints>(field, object) = *list;
      return {};
    }
    case FieldKind::types: {
      const auto* list = std::get_if<std::vector<TensorType>>(&value);
      if (list) {
        at<std::vector<TensorType>>(field, object) = *list;
        return {};
      }
      const auto* empty = std::get_if<Ints>(&value);
      if (!empty || !empty->empty()) return wrong();
      return {};
    }
    case FieldKind::count: break;
  }
  return Error(ErrorCode::internal, "attribute schema: a count has no value of its own");
}

// The lists that share one count must agree in length, or the wire form could not carry them.
Status check_group(const Schema& schema, const void* object) {
  const Field* first = nullptr;
  for (const Field& field : schema.fields) {
    if (field.extent != Extent::group) continue;
    if (!first) {
      first = &field;
    } else if (at<Ints>(field, object).size() != at<Ints>(*first, object).size()) {
      return make_error(ErrorCode::verify, "attribute '{}' has {} entries; wanted {}, as many as '{}'", field.name,
                        at<Ints>(field, object).size(), at<Ints>(*first, object).size(), first->name);
    }
  }
  return {};
}

}  // namespace

std::string_view name(QuantMode mode) { return kModeNames[static_cast<std::size_t>(mode)]; }

std::optional<QuantMode> quant_mode_from_name(std::string_view wanted) {
  for (std::size_t i = 0; i < std::size(kModeNames); ++i) {
    if (kModeNames[i] == wanted) return static_cast<QuantMode>(i);
  }
  return std::nullopt;
}

Result<AttrBox> decode_attrs(const Schema& schema, std::span<const Attr> attrs) {
  Reader reader(attrs);
  std::shared_ptr<void> box = schema.make ? schema.make() : nullptr;
  void* object = box.get();
  std::size_t group = 0;
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    switch (field.kind) {
      case FieldKind::count: {
        REPRISE_ASSIGN(const std::int64_t n, reader.count(field, 1));
        group = static_cast<std::size_t>(n);
        break;
      }
      case FieldKind::types:
        REPRISE_RETURN_IF_ERROR(read_types(reader, field, at<std::vector<TensorType>>(field, object)));
        break;
      case FieldKind::integers:
        if (field.interleaved) {
          const std::size_t run = interleaved_run(schema.fields, i);
          for (std::size_t k = 0; k < group; ++k) {
            for (std::size_t j = i; j < i + run; ++j) {
              REPRISE_RETURN_IF_ERROR(read_list(reader, schema.fields[j], 1, at<Ints>(schema.fields[j], object)));
            }
          }
          i += run - 1;
        } else {
          std::size_t n = field.extent == Extent::group ? group : reader.remaining();
          if (field.extent == Extent::own) {
            REPRISE_ASSIGN(const std::int64_t counted, reader.count(field, 1));
            n = static_cast<std::size_t>(counted);
          }
          REPRISE_RETURN_IF_ERROR(read_list(reader, field, n, at<Ints>(field, object)));
        }
        break;
      default: REPRISE_RETURN_IF_ERROR(read_scalar(reader, field, object));
    }
  }
  if (reader.remaining() > 0) {
    return make_error(ErrorCode::verify, "{} attributes given; wanted {}", attrs.size(), reader.position());
  }
  return AttrBox(std::move(box));
}

std::vector<Attr> encode_attrs(const Schema& schema, const void* attrs) {
  std::vector<Attr> out;
  const auto append_list = [&](const Ints& list) { out.insert(out.end(), list.begin(), list.end()); };
  const auto group_size = [&]() -> std::int64_t {
    for (const Field& field : schema.fields) {
      if (field.extent == Extent::group) return static_cast<std::int64_t>(at<Ints>(field, attrs).size());
    }
    return 0;
  };
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    switch (field.kind) {
      case FieldKind::count: out.emplace_back(group_size()); break;
      case FieldKind::types: {
        const auto& list = at<std::vector<TensorType>>(field, attrs);
        out.emplace_back(static_cast<std::int64_t>(list.size()));
        for (const TensorType& type : list) {
          out.emplace_back(Name{std::string(reprise::name(type.dtype))});
          out.emplace_back(static_cast<std::int64_t>(type.shape.size()));
          append_list(type.shape);
        }
        break;
      }
      case FieldKind::integers:
        if (field.interleaved) {
          const std::size_t run = interleaved_run(schema.fields, i);
          for (std::size_t k = 0; k < at<Ints>(field, attrs).size(); ++k) {
            for (std::size_t j = i; j < i + run; ++j) out.emplace_back(at<Ints>(schema.fields[j], attrs)[k]);
          }
          i += run - 1;
        } else {
          const Ints& list = at<Ints>(field, attrs);
          if (field.extent == Extent::own) out.emplace_back(static_cast<std::int64_t>(list.size()));
          append_list(list);
        }
        break;
      default:
        for (Attr& attr : encode_scalar(field, attrs)) out.push_back(std::move(attr));
    }
  }
  return out;
}

Result<std::vector<Attr>> attrs_from_named(const Schema& schema, std::span<const std::pair<std::string, Value>> named) {
  std::shared_ptr<void> box = schema.make ? schema.make() : nullptr;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const auto& [key, value] = named[i];
    const auto field = std::find_if(schema.fields.begin(), schema.fields.end(),
                                    [&](const Field& f) { return f.kind != FieldKind::count && f.name == key; });
    if (field == schema.fields.end()) {
      std::string known;
      for (const Field& f : schema.fields) {
        if (f.kind != FieldKind::count) known += fmt::format("{}{}", known.empty() ? "" : ", ", f.name);
      }
      return make_error(ErrorCode::verify, "no attribute '{}'; it has {}", printable(key),
                        known.empty() ? "none" : known);
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (named[j].first == key) return make_error(ErrorCode::verify, "attribute '{}' is given twice", key);
    }
    REPRISE_RETURN_IF_ERROR(set_named(*field, value, box.get()));
  }
  for (const Field& field : schema.fields) {
    if (field.kind == FieldKind::count) continue;
    const bool given = std::any_of(named.begin(), named.end(), [&](const auto& n) { return n.first == field.name; });
    if (given || field.may_be_left_out) continue;
    if (!field.default_value) {
      return make_error(ErrorCode::verify, "attribute '{}' is missing; wanted {}", field.name, kind_name(field));
    }
    REPRISE_RETURN_IF_ERROR(set_named(field, *field.default_value, box.get()));
  }
  REPRISE_RETURN_IF_ERROR(check_group(schema, box.get()));
  return encode_attrs(schema, box.get());
}

std::vector<std::pair<std::string_view, Value>> named_attrs(const Schema& schema, const void* attrs) {
  std::vector<std::pair<std::string_view, Value>> out;
  for (const Field& field : schema.fields) {
    switch (field.kind) {
      case FieldKind::count: break;
      case FieldKind::integer: out.emplace_back(field.name, at<std::int64_t>(field, attrs)); break;
      case FieldKind::flag: out.emplace_back(field.name, at<bool>(field, attrs)); break;
      case FieldKind::real: out.emplace_back(field.name, at<double>(field, attrs)); break;
      case FieldKind::dtype: out.emplace_back(field.name, at<DType>(field, attrs)); break;
      case FieldKind::mode: out.emplace_back(field.name, Name{std::string(name(at<QuantMode>(field, attrs)))}); break;
      case FieldKind::integers: out.emplace_back(field.name, at<Ints>(field, attrs)); break;
      case FieldKind::types: out.emplace_back(field.name, at<std::vector<TensorType>>(field, attrs)); break;
    }
  }
  return out;
}

std::string describe_wire(const Schema& schema) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    const std::string label(field.name);
    if (field.interleaved) {
      const std::size_t run = interleaved_run(schema.fields, i);
      std::string names;
      for (std::size_t j = i; j < i + run; ++j) {
        names += (names.empty() ? "" : ", ") + std::string(schema.fields[j].name);
      }
      add("(" + names + ") x n");
      i += run - 1;
      continue;
    }
    if (field.kind == FieldKind::types) {
      add("count, (dtype, rank, dims...) x count");
    } else if (field.extent == Extent::own) {
      add("count, " + label + " x count");
    } else if (field.extent == Extent::group) {
      add(label + " x n");
    } else if (field.extent == Extent::rest) {
      add(label + "...");
    } else if (field.kind == FieldKind::real) {
      add(label + " (binary64 bits)");
    } else {
      add(label);
    }
  }
  return text;
}

std::string_view kind_name(const Field& field) {
  switch (field.kind) {
    case FieldKind::count:
    case FieldKind::integer: return "integer";
    case FieldKind::flag: return "flag";
    case FieldKind::real: return "real";
    case FieldKind::dtype: return "dtype";
    case FieldKind::mode: return "mode";
    case FieldKind::integers: return "integers";
    case FieldKind::types: return "tensor types";
  }
  return "unknown";
}

}  // namespace reprise::ops
