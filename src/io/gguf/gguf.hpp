// Reads GGUF model files (version 2 and 3, little-endian) through a mapping: nothing is copied but names and counts.
//
//   Result<gguf::File> file = gguf::File::open("model.gguf");
//   if (!file) return file.error();
//   Result<std::uint64_t> layers = file->get_uint("llama.block_count");
//   const gguf::Tensor* weight = file->find_tensor("output.weight");   // null when the file has none
//
// Every number of the file is checked against the bytes that remain before it is used, so any file either opens whole
// or gives an error. Views and spans point into the mapping and live as long as the File.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/mapped_file.hpp"
#include "reprise/dtype.hpp"
#include "reprise/status.hpp"

namespace reprise::gguf {

/// Element types of tensors, with the numbers that files use. Types without a name here are in the table of
/// type_info() all the same.
enum class ElementType : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q8_0 = 8,
  q4_k = 12,
  q6_k = 14,
  i8 = 24,
  i16 = 25,
  i32 = 26,
  i64 = 27,
  f64 = 28,
  bf16 = 30,
};

/// How a type stores its elements: blocks of `block` elements in `bytes` bytes.
struct TypeInfo {
  std::string_view name;  ///< "Q4_1"
  std::uint32_t block = 0;
  std::uint32_t bytes = 0;
  std::optional<DType> dtype = std::nullopt;  ///< of plain types
  bool affine = false;                        ///< to_affine() takes it

  bool supported() const { return dtype.has_value() || affine; }
};

/// Nothing for a number that is no type, or one that the format dropped.
const TypeInfo* type_info(ElementType type);

/// "Q4_1", or "type 77".
std::string name(ElementType type);

/// Types of metadata values, with the numbers that files use.
enum class ValueType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

std::string_view name(ValueType type);  ///< "u8", "string"

/// One metadata value, still in the bytes of the file.
struct Value {
  ValueType type = ValueType::u8;
  std::span<const std::byte> bytes;        ///< the scalar, the characters, or all elements of the array
  ValueType element_type = ValueType::u8;  ///< of arrays
  std::uint64_t count = 0;                 ///< of arrays
};

/// "i32 -32", "string 'llama'", "array of 3 u8": for messages and listings.
std::string describe(const Value& value);

/// The elements of an array, which may be arrays again; nothing for other values.
std::vector<Value> elements(const Value& array);

struct Entry {
  std::string_view key;
  Value value;
};

struct Tensor {
  std::string_view name;
  ElementType type = ElementType::f32;
  Shape dims;                       ///< as in the file: the fastest-running axis first
  Shape shape;                      ///< row-major, as everywhere else in this library
  std::uint64_t offset = 0;         ///< from the start of the data section
  std::span<const std::byte> data;  ///< may start at any address
};

/// "'blk.0.attn_q.weight'", with control characters escaped and long names cut: for messages.
std::string quote(std::string_view name);

class Cursor;

class File {
 public:
  static Result<File> open(const std::string& path);

  /// The same from bytes that outlive the File; `name` stands for the path in messages.
  static Result<File> parse(std::span<const std::byte> bytes, std::string name);

  const std::string& path() const { return path_; }
  std::uint32_t version() const { return version_; }
  std::uint64_t alignment() const { return alignment_; }
  const std::vector<Entry>& metadata() const { return entries_; }  ///< in the order of the file
  const std::vector<Tensor>& tensors() const { return tensors_; }  ///< in the order of the file

  const Tensor* find_tensor(std::string_view name) const;
  Result<const Tensor*> get_tensor(std::string_view name) const;

  /// Tensors of types that this library cannot use. The file opens all the same.
  std::vector<const Tensor*> unsupported_tensors() const;

  /// One error that lists them, or success.
  Status check_supported() const;

  const Value* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }

  // Typed access. A missing key is an error, and so is a value of another type; integers of any width are taken as long
  // as the value fits.
  Result<std::uint64_t> get_uint(std::string_view key) const;
  Result<std::int64_t> get_int(std::string_view key) const;
  Result<double> get_float(std::string_view key) const;  ///< f32 or f64
  Result<bool> get_bool(std::string_view key) const;
  Result<std::string_view> get_string(std::string_view key) const;
  Result<std::vector<std::int64_t>> get_int_array(std::string_view key) const;  ///< any integer type
  Result<std::vector<double>> get_float_array(std::string_view key) const;      ///< f32 or f64
  Result<std::vector<std::string_view>> get_string_array(std::string_view key) const;

  // The same with a value for a missing key. A value of another type is still an error.
  Result<std::uint64_t> get_uint_or(std::string_view key, std::uint64_t fallback) const;
  Result<std::int64_t> get_int_or(std::string_view key, std::int64_t fallback) const;
  Result<double> get_float_or(std::string_view key, double fallback) const;
  Result<bool> get_bool_or(std::string_view key, bool fallback) const;
  Result<std::string_view> get_string_or(std::string_view key, std::string_view fallback) const;

 private:
  File() = default;

  Status read(std::span<const std::byte> bytes);
  Status read_entries(Cursor& cursor, std::uint64_t count);
  Status read_alignment();
  Status read_tensor_infos(Cursor& cursor, std::uint64_t count);
  Status locate_tensors(std::span<const std::byte> bytes, std::uint64_t infos_end);

  template <typename T>
  Result<T> get(std::string_view key, std::optional<T> (*convert)(const Value&), std::string_view wanted) const;

  std::string path_;
  MappedFile mapping_;
  std::uint32_t version_ = 0;
  std::uint64_t alignment_ = 32;
  std::vector<Entry> entries_;
  std::vector<Tensor> tensors_;
  std::unordered_map<std::string_view, std::size_t> entry_index_;
  std::unordered_map<std::string_view, std::size_t> tensor_index_;
};

}  // namespace reprise::gguf
