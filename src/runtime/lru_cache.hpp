// A bounded map that forgets the least recently used entry.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <optional>
#include <utility>

namespace reprise {

/// Few entries are expected (tens), so look-up is a scan. Not thread-safe.
template <typename Key, typename Value>
class LruCache {
 public:
  explicit LruCache(std::size_t capacity) : capacity_(std::max<std::size_t>(capacity, 1)) {}

  std::optional<Value> find(const Key& key) {
    const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e.first == key; });
    if (it == entries_.end()) return std::nullopt;
    entries_.splice(entries_.begin(), entries_, it);
    return it->second;
  }

  /// Inserts in front; gives back what had to go, so that the caller can destroy it outside its lock.
  std::optional<Value> insert(Key key, Value value) {
    entries_.emplace_front(std::move(key), std::move(value));
    if (entries_.size() <= capacity_) return std::nullopt;
    std::optional<Value> evicted = std::move(entries_.back().second);
    entries_.pop_back();
    return evicted;
  }

  std::size_t size() const { return entries_.size(); }

 private:
  std::size_t capacity_;
  std::list<std::pair<Key, Value>> entries_;
};

}  // namespace reprise
