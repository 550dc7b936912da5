#include "io/npy/npz.hpp"

#include <unistd.h>
#include <zip.h>

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include "base/format.hpp"
#include "io/atomic_file.hpp"
#include "io/npy/npy.hpp"
#include "io/npy/regular_file.hpp"

namespace reprise {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr std::uint64_t kDeflateRatio = 1032;  // a deflate stream cannot expand more
constexpr zip_uint16_t kFirstDay = 0x0021;     // 1980-01-01, where zip's calendar begins

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct Close {
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};
struct Free {
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using Archive = std::unique_ptr<zip_t, Discard>;
using Member = std::unique_ptr<zip_file_t, Close>;
using Source = std::unique_ptr<zip_source_t, Free>;

// Owns what libzip allocated for a message.
struct ZipError : zip_error_t {
  ZipError() { zip_error_init(this); }
  explicit ZipError(int code) { zip_error_init_with_code(this, code); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;
  ~ZipError() { zip_error_fini(this); }
  Error as(ErrorCode code, const char* action) {
    return make_error(code, "cannot {}: {}", action, zip_error_strerror(this));
  }
};

std::string printable(std::string_view text) {
  std::string result(text.substr(0, 100));
  for (char& c : result) {
    if (c >= '\0' && c < ' ') c = '?';
  }
  return result;
}

// What a member's entry says, and whether it can be true; `left` counts the file's bytes that no member has taken yet.
Result<zip_stat_t> check_member(zip_t* archive, std::uint64_t index, std::uint64_t& left) {
  zip_stat_t info{};
  constexpr zip_uint64_t wanted =
      ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if (zip_stat_index(archive, index, 0, &info) != 0 || (info.valid & wanted) != wanted) {
    return make_error(ErrorCode::bad_file, "member {}: {}", index, zip_strerror(archive));
  }
  const std::string name = printable(info.name);
  if (info.encryption_method != ZIP_EM_NONE) {
    return make_error(ErrorCode::unsupported, "member '{}' is encrypted", name);
  }
  if (info.comp_method != ZIP_CM_STORE && info.comp_method != ZIP_CM_DEFLATE) {
    return make_error(ErrorCode::unsupported,
                      "member '{}' is packed by zip's method {}, wanted 0 (stored) or 8 (deflated)", name,
                      info.comp_method);
  }
  if (info.comp_size > left) {
    return make_error(ErrorCode::bad_file, "member '{}' has {} packed bytes, more than the file has left for it ({})",
                      name, info.comp_size, left);
  }
  left -= info.comp_size;
  const std::uint64_t ratio = info.comp_method == ZIP_CM_STORE ? 1 : kDeflateRatio;
  if (info.size / ratio > info.comp_size) {
    return make_error(ErrorCode::bad_file, "member '{}' claims {} bytes in {} packed ones, more than {} times as many",
                      name, info.size, info.comp_size, ratio);
  }
  return info;
}

Result<mlx::core::array> read_member(zip_t* archive, std::uint64_t index, std::uint64_t size) {
  const Member member(zip_fopen_index(archive, index, 0));
  if (!member) return make_error(ErrorCode::bad_file, "cannot open: {}", zip_strerror(archive));
  const auto read = [&](std::span<std::byte> into) -> Status {
    while (!into.empty()) {
      const zip_int64_t got = zip_fread(member.get(), into.data(), into.size());
      if (got < 0) return make_error(ErrorCode::bad_file, "cannot unpack: {}", zip_file_strerror(member.get()));
      if (got == 0) return make_error(ErrorCode::bad_file, "unpacks to fewer than the {} bytes that it claims", size);
      into = into.subspan(static_cast<std::size_t>(got));
    }
    return {};
  };
  REPRISE_ASSIGN(mlx::core::array array, decode_npy(size, read));
  // The checksum is compared when the end is seen.
  std::byte more{};
  const zip_int64_t got = zip_fread(member.get(), &more, 1);
  if (got < 0) return make_error(ErrorCode::bad_file, "cannot unpack: {}", zip_file_strerror(member.get()));
  if (got > 0) return make_error(ErrorCode::bad_file, "unpacks to more than the {} bytes that it claims", size);
  return array;
}

Result<NamedArrays> read_archive(const std::string& path) {
  REPRISE_ASSIGN(RegularFile file, RegularFile::open(path));
  std::uint64_t left = file.size();
  int code = 0;
  const int descriptor = file.release();
  const Archive archive(zip_fdopen(descriptor, 0, &code));
  if (!archive) {
    ::close(descriptor);
    return ZipError(code).as(ErrorCode::bad_file, "read as a npz file");
  }
  NamedArrays result;
  std::set<std::string> names;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    REPRISE_ASSIGN(const zip_stat_t info, check_member(archive.get(), index, left));
    std::string name = info.name;
    if (!name.ends_with(kSuffix) || name.size() == kSuffix.size()) {
      return make_error(ErrorCode::bad_file, "member '{}' is no array, wanted names that end with .npy",
                        printable(name));
    }
    name.resize(name.size() - kSuffix.size());
    if (!names.insert(name).second) return make_error(ErrorCode::bad_file, "two members '{}.npy'", printable(name));
    Result<mlx::core::array> array = read_member(archive.get(), index, info.size);
    if (!array) return array.error().with_context(fmt::format("member '{}'", printable(info.name)));
    result.emplace_back(std::move(name), *std::move(array));
  }
  return result;
}

Status add_member(zip_t* archive, const std::string& name, const EncodedNpy& encoded, NpzPacking packing) {
  // libzip reads these when the archive is closed; it does not write to them.
  const auto fragment = [](const void* data, std::size_t size) {
    return zip_buffer_fragment_t{static_cast<zip_uint8_t*>(const_cast<void*>(data)), size};
  };
  const std::array fragments{fragment(encoded.header.data(), encoded.header.size()),
                             fragment(encoded.data.data(), encoded.data.size())};
  ZipError error;
  Source source(zip_source_buffer_fragment_create(fragments.data(), encoded.data.empty() ? 1 : 2, 0, &error));
  if (!source) return error.as(ErrorCode::io, "add to the archive");
  const zip_int64_t index =
      zip_file_add(archive, (name + std::string(kSuffix)).c_str(), source.get(), ZIP_FL_ENC_UTF_8);
  if (index < 0) return make_error(ErrorCode::invalid_argument, "cannot add to the archive: {}", zip_strerror(archive));
  (void)source.release();  // the archive's now
  const auto position = static_cast<zip_uint64_t>(index);
  const zip_int32_t method = packing == NpzPacking::stored ? ZIP_CM_STORE : ZIP_CM_DEFLATE;
  if (zip_set_file_compression(archive, position, method, 0) != 0 ||
      zip_file_set_dostime(archive, position, 0, kFirstDay, 0) != 0) {
    return make_error(ErrorCode::io, "cannot add to the archive: {}", zip_strerror(archive));
  }
  return {};
}

// Puts the archive together in `target`, a source in memory.
Status write_archive(zip_source_t* target, const NamedArrays& arrays, NpzPacking packing) {
  ZipError error;
  zip_source_keep(target);  // closing or discarding the archive lets go of one reference
  Archive archive(zip_open_from_source(target, ZIP_TRUNCATE, &error));
  if (!archive) {
    zip_source_free(target);
    return error.as(ErrorCode::io, "begin the archive");
  }
  std::vector<EncodedNpy> encoded;
  encoded.reserve(arrays.size());  // libzip holds pointers into the elements
  std::set<std::string_view> names;
  for (const auto& [name, array] : arrays) {
    if (name.empty() || name.find('\0') != std::string::npos || !names.insert(name).second) {
      return make_error(ErrorCode::invalid_argument, "array name '{}' is empty, used twice or has a NUL in it",
                        printable(name));
    }
    Result<EncodedNpy> one = encode_npy(array);
    if (!one) return one.error().with_context(name);
    encoded.push_back(*std::move(one));
    const Status added = add_member(archive.get(), name, encoded.back(), packing);
    if (!added) return added.error().with_context(name);
  }
  if (zip_close(archive.get()) != 0) {
    return make_error(ErrorCode::io, "cannot put the archive together: {}", zip_strerror(archive.get()));
  }
  (void)archive.release();  // gone with zip_close
  return {};
}

Status write_source(AtomicFile& file, zip_source_t* source) {
  if (zip_source_open(source) != 0) return Error(ErrorCode::internal, "cannot open the archive in memory");
  std::vector<std::byte> chunk(1 << 20);
  Status status;
  while (status.ok()) {
    const zip_int64_t got = zip_source_read(source, chunk.data(), chunk.size());
    if (got == 0) break;
    if (got < 0) {
      status = Error(ErrorCode::internal, "cannot read the archive in memory");
    } else {
      status = file.write(std::span(chunk).first(static_cast<std::size_t>(got)));
    }
  }
  zip_source_close(source);
  return status;
}

}  // namespace

Result<NamedArrays> read_npz(const std::string& path) {
  Result<NamedArrays> arrays = read_archive(path);
  if (!arrays) return arrays.error().with_context(path);
  return arrays;
}

Status write_npz(const std::string& path, const NamedArrays& arrays, NpzPacking packing) {
  ZipError error;
  const Source source(zip_source_buffer_create(nullptr, 0, 0, &error));
  if (!source) return error.as(ErrorCode::io, "begin the archive").with_context(path);
  if (!arrays.empty()) {
    const Status made = write_archive(source.get(), arrays, packing);
    if (!made) return made.error().with_context(path);
  }
  REPRISE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  if (arrays.empty()) {
    // libzip writes no archive without members; it is nothing but this record of its end.
    REPRISE_RETURN_IF_ERROR(file.write(std::string("PK\5\6") + std::string(18, '\0')));
  } else {
    REPRISE_RETURN_IF_ERROR(write_source(file, source.get()));
  }
  return file.commit();
}

}  // namespace reprise
