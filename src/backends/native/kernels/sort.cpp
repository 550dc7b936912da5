// Elements become unsigned keys in the wanted order, which Highway's vectorised quicksort sorts; it is not stable, so
// that positions are sorted as part of the key. Long rows are sorted in parts, one for each thread, and merged.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/native/kernels/sort.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/contrib/sort/vqsort.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/native/kernels/sort.hpp"
#include "backends/native/threads.hpp"

#ifndef REPRISE_SORT_TYPES
#define REPRISE_SORT_TYPES
namespace reprise::native {

using Wide = hwy::uint128_t;

/// Elements that the way through keys does not bring back as they were, if a row has any.
enum Special : unsigned { kNan = 1, kNegativeZero = 2 };

/// Conversions of one dtype.
struct KeyFns {
  /// keys[i] = the key of x[i]. Gives the special elements that there are.
  unsigned (*to_keys)(const std::byte* x, std::int64_t n, bool descending, std::byte* keys) = nullptr;
  void (*from_keys)(const std::byte* keys, std::int64_t n, bool descending, std::byte* out) = nullptr;
  /// Key and position first + i in one number: `narrow` in 32 bits, `wide` in 64, or in 128 where the key has 64.
  void (*pack_narrow)(const std::byte* x, std::int64_t first, std::int64_t n, bool descending,
                      std::byte* packed) = nullptr;
  void (*pack_wide)(const std::byte* x, std::int64_t first, std::int64_t n, bool descending,
                    std::byte* packed) = nullptr;
};

}  // namespace reprise::native
#endif

HWY_BEFORE_NAMESPACE();
namespace reprise::native {
namespace HWY_NAMESPACE {

template <typename T>
struct UnsignedOrder {
  using Key = T;
  using Bits = T;
  static constexpr bool kFloating = false;
  static Key key(Bits b) { return b; }
  static Bits bits(Key k) { return k; }
};

template <typename T>
struct SignedOrder {
  using Key = T;
  using Bits = T;
  static constexpr bool kFloating = false;
  static constexpr T kTop = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
  static Key key(Bits b) { return static_cast<Key>(b ^ kTop); }
  static Bits bits(Key k) { return static_cast<Bits>(k ^ kTop); }
};

/// Both zeros have one key, and all NaN have the greatest. Without branches, so that it becomes vector code.
template <typename T, T kInfinity>
struct FloatOrder {
  using Key = T;
  using Bits = T;
  using Signed = std::make_signed_t<T>;
  static constexpr bool kFloating = true;
  static constexpr int kLast = 8 * sizeof(T) - 1;
  static constexpr T kTop = static_cast<T>(T{1} << kLast);

  /// All ones or none.
  static T mask_if(bool condition) { return static_cast<T>(-static_cast<Signed>(condition)); }
  static T is_nan(Bits b) { return mask_if(static_cast<Signed>(b & (kTop - 1)) > static_cast<Signed>(kInfinity)); }
  static Key key(Bits b) {
    const T negative = static_cast<T>(static_cast<Signed>(b) >> kLast);
    const T size = static_cast<T>(b & (kTop - 1));
    return static_cast<Key>((kTop + ((size ^ negative) - negative)) | is_nan(b));
  }
  static Bits bits(Key k) {
    const T negative = static_cast<T>(~static_cast<T>(static_cast<Signed>(k) >> kLast));
    const T size = static_cast<T>((static_cast<T>(k - kTop) ^ negative) - negative);
    return static_cast<Bits>(size | (negative & kTop));
  }
};
using Float32Order = FloatOrder<std::uint32_t, 0x7F800000u>;

struct ComplexOrder {
  using Key = std::uint64_t;
  using Bits = std::array<std::uint32_t, 2>;
  static Key key(Bits b) {
    const std::uint32_t real = Float32Order::key(b[0]), imag = Float32Order::key(b[1]);
    constexpr std::uint32_t kNot = ~std::uint32_t{0};
    return real == kNot || imag == kNot ? ~Key{0} : static_cast<Key>(real) << 32 | imag;
  }
};

template <typename Order>
unsigned to_keys(const std::byte* x, std::int64_t n, bool descending, std::byte* keys) {
  using Key = typename Order::Key;
  using Bits = typename Order::Bits;
  const Bits* HWY_RESTRICT from = reinterpret_cast<const Bits*>(x);
  Key* HWY_RESTRICT to = reinterpret_cast<Key*>(keys);
  const Key flip = static_cast<Key>(descending ? ~Key{0} : Key{0});
  if constexpr (Order::kFloating) {
    Key nan = 0, negative_zero = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const Bits b = from[i];
      nan = static_cast<Key>(nan | Order::is_nan(b));
      negative_zero = static_cast<Key>(negative_zero | Order::mask_if(b == Order::kTop));
      to[i] = static_cast<Key>(Order::key(b) ^ flip);
    }
    return (nan ? kNan : 0u) | (negative_zero ? kNegativeZero : 0u);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<Key>(Order::key(from[i]) ^ flip);
    return 0;
  }
}

template <typename Order>
void from_keys(const std::byte* keys, std::int64_t n, bool descending, std::byte* out) {
  using Key = typename Order::Key;
  const Key* from = reinterpret_cast<const Key*>(keys);  // may be `out`
  auto* to = reinterpret_cast<typename Order::Bits*>(out);
  const Key flip = static_cast<Key>(descending ? ~Key{0} : Key{0});
#pragma GCC ivdep  // each element only depends on itself
  for (std::int64_t i = 0; i < n; ++i) to[i] = Order::bits(static_cast<Key>(from[i] ^ flip));
}

template <typename Order, typename Packed>
void pack(const std::byte* x, std::int64_t first, std::int64_t n, bool descending, std::byte* packed) {
  using Key = typename Order::Key;
  const auto* HWY_RESTRICT from = reinterpret_cast<const typename Order::Bits*>(x);
  Packed* HWY_RESTRICT to = reinterpret_cast<Packed*>(packed);
  const Key flip = static_cast<Key>(descending ? ~Key{0} : Key{0});
  for (std::int64_t i = 0; i < n; ++i) {
    const Key key = static_cast<Key>(Order::key(from[i]) ^ flip);
    const auto at = static_cast<std::uint64_t>(first + i);
    if constexpr (std::is_same_v<Packed, Wide>) {
      to[i].lo = at;
      to[i].hi = key;
    } else {
      to[i] = static_cast<Packed>(static_cast<Packed>(key) << (4 * sizeof(Packed)) | static_cast<Packed>(at));
    }
  }
}

template <typename Order>
KeyFns fns_of() {
  KeyFns fns{to_keys<Order>, from_keys<Order>};
  using Key = typename Order::Key;
  if constexpr (sizeof(Key) == 2) fns.pack_narrow = pack<Order, std::uint32_t>;
  if constexpr (sizeof(Key) == 2 || sizeof(Key) == 4) fns.pack_wide = pack<Order, std::uint64_t>;
  if constexpr (sizeof(Key) == 8) fns.pack_wide = pack<Order, Wide>;
  return fns;
}

/// Without vectors Highway's sort of 128-bit keys ends the process.
bool has_vector_sort() { return HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128; }

KeyFns key_fns(DType dtype) {
  switch (dtype) {
    case DType::bool_:
    case DType::uint8: return fns_of<UnsignedOrder<std::uint8_t>>();
    case DType::uint16: return fns_of<UnsignedOrder<std::uint16_t>>();
    case DType::uint32: return fns_of<UnsignedOrder<std::uint32_t>>();
    case DType::uint64: return fns_of<UnsignedOrder<std::uint64_t>>();
    case DType::int8: return fns_of<SignedOrder<std::uint8_t>>();
    case DType::int16: return fns_of<SignedOrder<std::uint16_t>>();
    case DType::int32: return fns_of<SignedOrder<std::uint32_t>>();
    case DType::int64: return fns_of<SignedOrder<std::uint64_t>>();
    case DType::float16: return fns_of<FloatOrder<std::uint16_t, 0x7C00>>();
    case DType::bfloat16: return fns_of<FloatOrder<std::uint16_t, 0x7F80>>();
    case DType::float32: return fns_of<Float32Order>();
    case DType::float64: return fns_of<FloatOrder<std::uint64_t, 0x7FF0000000000000u>>();
    case DType::complex64: {
      KeyFns fns;
      fns.pack_wide = pack<ComplexOrder, Wide>;
      return fns;
    }
  }
  return {};
}

}  // namespace HWY_NAMESPACE
}  // namespace reprise::native
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace reprise::native {
namespace {

HWY_EXPORT(key_fns);
HWY_EXPORT(has_vector_sort);

/// Rows up to this length are sorted by one thread each, longer ones one after the other by all threads.
constexpr std::int64_t kLongRow = 64 * 1024;

// --- Sorting keys

template <typename T>
void sort_part(T* keys, std::int64_t n) {
  if (HWY_DYNAMIC_DISPATCH(has_vector_sort)()) {
    hwy::Sorter()(keys, static_cast<std::size_t>(n), hwy::SortAscending());
  } else {
    std::sort(keys, keys + n);
  }
}

template <typename T>
void merge(const T* a, const T* a_end, const T* b, const T* b_end, T* out) {
  while (a < a_end && b < b_end) {
    // No branch, which would be a guess at each element.
    const T x = *a, y = *b;
    const std::ptrdiff_t second = y < x ? 1 : 0;
    if constexpr (std::is_integral_v<T>) {
      *out++ = static_cast<T>(x ^ ((x ^ y) & static_cast<T>(-second)));
    } else {
      *out++ = second ? y : x;
    }
    a += 1 - second;
    b += second;
  }
  out = std::copy(a, a_end, out);
  std::copy(b, b_end, out);
}

/// How many of the first k merged elements come from a.
template <typename T>
std::int64_t from_first(const T* a, std::int64_t na, const T* b, std::int64_t nb, std::int64_t k) {
  std::int64_t low = std::max<std::int64_t>(0, k - nb), high = std::min(k, na);
  while (low < high) {
    const std::int64_t i = low + (high - low) / 2;
    if (b[k - i - 1] < a[i]) {
      high = i;
    } else {
      low = i + 1;
    }
  }
  return low;
}

/// Sorts n keys and returns where they are then: `keys` or `other`, which both have room for them.
template <typename T>
T* sort_keys(T* keys, std::int64_t n, T* other, int threads) {
  std::int64_t parts = 1;
  while (2 * parts <= threads && n / (2 * parts) >= kLongRow / 4) parts *= 2;
  const auto bound = [&](std::int64_t part) { return n * part / parts; };
  parallel_parts(threads, parts, [&](std::int64_t p) { sort_part(keys + bound(p), bound(p + 1) - bound(p)); });
  for (std::int64_t width = 1; width < parts; width *= 2) {
    // Each thread writes an equal share of what two runs of `width` parts become.
    parallel_parts(threads, parts, [&](std::int64_t p) {
      const std::int64_t first = p / (2 * width) * 2 * width;
      const T* a = keys + bound(first);
      const T* b = keys + bound(first + width);
      const std::int64_t na = b - a, nb = bound(first + 2 * width) - bound(first + width);
      const std::int64_t k0 = (na + nb) * (p - first) / (2 * width), k1 = (na + nb) * (p - first + 1) / (2 * width);
      const std::int64_t i0 = from_first(a, na, b, nb, k0), i1 = from_first(a, na, b, nb, k1);
      merge(a + i0, a + i1, b + (k0 - i0), b + (k1 - i1), other + bound(first) + k0);
    });
    std::swap(keys, other);
  }
  return keys;
}

// --- Values

/// Writes the elements of x that `wanted` accepts, in their order.
template <typename Bits, typename Wanted>
void copy_those(const Bits* x, std::int64_t n, Bits* out, const Wanted& wanted) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (wanted(x[i])) *out++ = x[i];
  }
}

template <typename Key>
void sort_row(const KeyFns& fns, Key infinity, const Key* x, Key* out, std::int64_t n, bool descending, Key* other,
              int threads) {
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(Key));
  std::atomic<unsigned> special{0};
  parallel_for(threads, n, kParallelGrain / kBytes, [&](std::int64_t begin, std::int64_t end) {
    special |= fns.to_keys(reinterpret_cast<const std::byte*>(x + begin), end - begin, descending,
                           reinterpret_cast<std::byte*>(out + begin));
  });
  const Key* keys = sort_keys(out, n, other, threads);
  constexpr Key kTop = static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1));
  const Key flip = static_cast<Key>(descending ? ~Key{0} : Key{0});
  const std::int64_t zeros = std::lower_bound(keys, keys + n, static_cast<Key>(kTop ^ flip)) - keys;
  const std::int64_t nans = descending ? 0 : std::lower_bound(keys, keys + n, static_cast<Key>(~Key{0})) - keys;
  parallel_for(threads, n, kParallelGrain / kBytes, [&](std::int64_t begin, std::int64_t end) {
    fns.from_keys(reinterpret_cast<const std::byte*>(keys + begin), end - begin, descending,
                  reinterpret_cast<std::byte*>(out + begin));
  });
  const auto size = [](Key b) { return static_cast<Key>(b & (kTop - 1)); };
  if (special & kNegativeZero) copy_those(x, n, out + zeros, [&](Key b) { return size(b) == 0; });
  if (special & kNan) copy_those(x, n, out + nans, [&](Key b) { return size(b) > infinity; });
}

std::uint64_t infinity_of(DType dtype) {
  switch (dtype) {
    case DType::float16: return 0x7C00;
    case DType::bfloat16: return 0x7F80;
    case DType::float32: return 0x7F800000;
    default: return 0x7FF0000000000000;
  }
}

using Counts = std::array<std::uint32_t, 256>;

/// Bytes are counted. Gives where each key begins.
Counts count_bytes(const std::byte* x, std::int64_t n, std::uint8_t flip) {
  Counts counts{};
  for (std::int64_t i = 0; i < n; ++i) ++counts[std::to_integer<std::uint8_t>(x[i]) ^ flip];
  std::uint32_t sum = 0;
  for (std::uint32_t& c : counts) sum += std::exchange(c, sum);
  return counts;
}

/// What turns a byte into its key and back: a change of bits.
std::uint8_t byte_flip(DType dtype, bool descending) {
  return static_cast<std::uint8_t>((dtype == DType::int8 ? 0x80 : 0) ^ (descending ? 0xFF : 0));
}

void sort_bytes(const std::byte* x, std::byte* out, std::int64_t n, std::uint8_t flip) {
  const Counts starts = count_bytes(x, n, flip);
  for (std::size_t k = 0; k < starts.size(); ++k) {
    const std::size_t end = k + 1 < starts.size() ? starts[k + 1] : static_cast<std::size_t>(n);
    std::memset(out + starts[k], static_cast<int>(k) ^ flip, end - starts[k]);
  }
}

void argsort_bytes(const std::byte* x, std::uint32_t* out, std::int64_t n, std::uint8_t flip) {
  Counts next = count_bytes(x, n, flip);
  for (std::int64_t i = 0; i < n; ++i) {
    out[next[std::to_integer<std::uint8_t>(x[i]) ^ flip]++] = static_cast<std::uint32_t>(i);
  }
}

/// Calls put(i, position) for each place i of the row in order. `packed` has room for n, `other` too for long rows.
template <typename Packed, typename Put>
void positions_of_row(void (*pack)(const std::byte*, std::int64_t, std::int64_t, bool, std::byte*), const std::byte* x,
                      std::int64_t element_bytes, std::int64_t n, bool descending, std::byte* scratch, int threads,
                      const Put& put) {
  Packed* packed = reinterpret_cast<Packed*>(scratch);
  constexpr auto kGrain = kParallelGrain / static_cast<std::int64_t>(sizeof(Packed));
  parallel_for(threads, n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    pack(x + begin * element_bytes, begin, end - begin, descending, reinterpret_cast<std::byte*>(packed + begin));
  });
  const Packed* sorted = sort_keys(packed, n, packed + n, threads);
  parallel_for(threads, n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if constexpr (std::is_same_v<Packed, Wide>) {
        put(i, static_cast<std::uint32_t>(sorted[i].lo));
      } else {
        constexpr auto kMask = static_cast<Packed>((Packed{1} << (4 * sizeof(Packed))) - 1);
        put(i, static_cast<std::uint32_t>(sorted[i] & kMask));
      }
    }
  });
}

/// Bytes of a key with its position.
std::size_t packed_bytes(DType dtype, std::int64_t n) {
  switch (size_of(dtype)) {
    case 1: return 0;
    case 2: return n <= 0x10000 ? 4 : 8;
    case 4: return 8;
    default: return 16;
  }
}

template <typename Put>
void positions(DType dtype, const KeyFns& fns, const std::byte* x, std::int64_t n, bool descending, std::byte* scratch,
               int threads, const Put& put) {
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  switch (packed_bytes(dtype, n)) {
    case 4: return positions_of_row<std::uint32_t>(fns.pack_narrow, x, bytes, n, descending, scratch, threads, put);
    case 8: return positions_of_row<std::uint64_t>(fns.pack_wide, x, bytes, n, descending, scratch, threads, put);
    default: return positions_of_row<Wide>(fns.pack_wide, x, bytes, n, descending, scratch, threads, put);
  }
}

/// Calls row(r, scratch, threads) for each row: long ones one after the other, with all threads; else on threads that
/// have their own memory.
template <typename Row>
void for_each_row(std::int64_t rows, std::int64_t n, std::size_t short_row_bytes, std::byte* scratch, int threads,
                  const Row& row) {
  if (n > kLongRow) {
    for (std::int64_t r = 0; r < rows; ++r) row(r, scratch, threads);
    return;
  }
  // A comparison sort looks at each element a dozen times.
  const std::int64_t grain = std::max<std::int64_t>(1, kParallelGrain / 16 / n);
  parallel_for(threads, rows, grain, [&](std::int64_t begin, std::int64_t end) {
    thread_local std::vector<Wide> memory;
    const std::size_t wanted = short_row_bytes / sizeof(Wide) + 1;
    if (memory.size() < wanted) memory.resize(wanted);
    for (std::int64_t r = begin; r < end; ++r) row(r, reinterpret_cast<std::byte*>(memory.data()), 1);
  });
}

}  // namespace

std::size_t sort_scratch_bytes(DType dtype, std::int64_t n) {
  if (dtype == DType::complex64) return argsort_scratch_bytes(dtype, n);
  return n > kLongRow ? static_cast<std::size_t>(n) * size_of(dtype) : 0;
}

std::size_t argsort_scratch_bytes(DType dtype, std::int64_t n) {
  return n > kLongRow ? 2 * static_cast<std::size_t>(n) * packed_bytes(dtype, n) : 0;
}

void sort_rows(DType dtype, const std::byte* x, std::byte* out, std::int64_t rows, std::int64_t n, bool ascending,
               std::byte* scratch, int threads) {
  const KeyFns fns = HWY_DYNAMIC_DISPATCH(key_fns)(dtype);
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  const bool complex = dtype == DType::complex64;
  const std::size_t own = complex ? static_cast<std::size_t>(n) * sizeof(Wide) : 0;
  for_each_row(rows, n, own, scratch, threads, [&](std::int64_t r, std::byte* memory, int team) {
    const std::byte* from = x + r * n * bytes;
    std::byte* to = out + r * n * bytes;
    const auto row = [&](auto key) {
      using Key = decltype(key);
      sort_row<Key>(fns, static_cast<Key>(infinity_of(dtype)), reinterpret_cast<const Key*>(from),
                    reinterpret_cast<Key*>(to), n, !ascending, reinterpret_cast<Key*>(memory), team);
    };
    if (complex) {
      positions(dtype, fns, from, n, !ascending, memory, team, [&](std::int64_t i, std::uint32_t at) {
        std::memcpy(to + i * bytes, from + at * bytes, static_cast<std::size_t>(bytes));
      });
    } else if (bytes == 1) {
      sort_bytes(from, to, n, byte_flip(dtype, !ascending));
    } else if (bytes == 2) {
      row(std::uint16_t{});
    } else if (bytes == 4) {
      row(std::uint32_t{});
    } else {
      row(std::uint64_t{});
    }
  });
}

void argsort_rows(DType dtype, const std::byte* x, std::uint32_t* out, std::int64_t rows, std::int64_t n,
                  bool ascending, std::byte* scratch, int threads) {
  const KeyFns fns = HWY_DYNAMIC_DISPATCH(key_fns)(dtype);
  const auto bytes = static_cast<std::int64_t>(size_of(dtype));
  const std::size_t own = static_cast<std::size_t>(n) * packed_bytes(dtype, n);
  for_each_row(rows, n, own, scratch, threads, [&](std::int64_t r, std::byte* memory, int team) {
    const std::byte* from = x + r * n * bytes;
    std::uint32_t* to = out + r * n;
    if (bytes == 1) {
      argsort_bytes(from, to, n, byte_flip(dtype, !ascending));
    } else {
      positions(dtype, fns, from, n, !ascending, memory, team, [to](std::int64_t i, std::uint32_t at) { to[i] = at; });
    }
  });
}

}  // namespace reprise::native
#endif
