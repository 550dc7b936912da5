// A decode program replayed again and again: no memory gained, nothing made anew, caches where they were.
#include <gtest/gtest.h>

#include "base/machine.hpp"
#include "models/loaded.hpp"
#include "models/tiny_llama.hpp"

namespace reprise {
namespace {

namespace mx = mlx::core;
using testing::Loaded;
using testing::TempFolder;
using testing::TinyLlama;

std::vector<const void*> addresses(const std::vector<mx::array>& arrays) {
  std::vector<const void*> out;
  for (const mx::array& a : arrays) out.push_back(a.data<void>());
  return out;
}

void replay(const Loaded& model, std::int64_t runs, std::int64_t warm_up) {
  const Executable decode = model.compile(Logits::last, runs);
  std::vector<mx::array> caches = model.caches(runs);
  const std::vector<const void*> first = addresses(caches);
  std::int64_t memory = 0;
  for (std::int64_t i = 0; i < runs; ++i) {
    const auto position = static_cast<std::int32_t>(i);
    std::vector<mx::array> inputs{mx::array({position % 250}, {1, 1}), mx::array({position}, {1, 1}), mx::array(0)};
    std::move(caches.begin(), caches.end(), std::back_inserter(inputs));
    caches.clear();
    auto outputs = decode.run(std::move(inputs)).value();
    caches.assign(std::make_move_iterator(outputs.begin() + 1), std::make_move_iterator(outputs.end()));
    ASSERT_EQ(addresses(caches), first) << "run " << i;
    if (i + 1 == warm_up) memory = resident_bytes();
  }
  EXPECT_LT(resident_bytes() - memory, std::int64_t{2} << 20);
  EXPECT_EQ(decode.stats().runs, static_cast<std::uint64_t>(runs));
  EXPECT_EQ(decode.stats().specialisations, 1U);
  EXPECT_EQ(decode.stats().misses, 1U);
  EXPECT_EQ(decode.stats().evictions, 0U);
}

TEST(Replay, TinyModelAThousandTimes) {
  const TempFolder folder;
  replay(Loaded(TinyLlama().write(folder, "tiny.gguf")), 1000, 200);
}

TEST(Replay, SmolLM2) { replay(Loaded(REPRISE_SMOLLM2_GGUF), 40, 10); }

// Whoever still holds a cache keeps what it was: only arrays given away may be written over.
TEST(Replay, CachesThatAreKeptStay) {
  const TempFolder folder;
  const Loaded model(TinyLlama().write(folder, "tiny.gguf"));
  const Executable decode = model.compile(Logits::last, 8);
  const std::vector<mx::array> kept = model.caches(8);
  std::vector<mx::array> inputs{mx::array({5}, {1, 1}), mx::array({0}, {1, 1}), mx::array(0)};
  inputs.insert(inputs.end(), kept.begin(), kept.end());
  const auto outputs = decode.run(std::move(inputs)).value();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_NE(outputs[i + 1].data<void>(), kept[i].data<void>());
    for (std::size_t k = 0; k < kept[i].size(); ++k) ASSERT_EQ(kept[i].data<float>()[k], 0.0F);
  }
}

}  // namespace
}  // namespace reprise
