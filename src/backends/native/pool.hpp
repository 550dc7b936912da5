// Objects that replays borrow, one at a time, without a lock.
#pragma once

#include <array>
#include <atomic>
#include <memory>

namespace reprise::native {

/// Keeps up to sixteen objects for the next who asks.
template <typename T>
class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (auto& place : places_) delete place.load();
  }

  /// Null when none is free.
  std::unique_ptr<T> take() {
    for (auto& place : places_) {
      if (place.load(std::memory_order_relaxed) == nullptr) continue;
      if (T* found = place.exchange(nullptr)) return std::unique_ptr<T>(found);
    }
    return nullptr;
  }

  void give_back(std::unique_ptr<T> object) {
    for (auto& place : places_) {
      T* none = nullptr;
      if (place.compare_exchange_strong(none, object.get())) {
        static_cast<void>(object.release());
        return;
      }
    }
  }

 private:
  std::array<std::atomic<T*>, 16> places_{};
};

}  // namespace reprise::native
