// What a GPU's graphs go through, MLX's graph compiler under ids of our own, tried out on the CPU.
#include "backends/mlx/graph_function.hpp"

#include "backends/mlx/worker.hpp"
#include "runtime/support.hpp"

namespace reprise::mlx_backend {
namespace {

using List = std::vector<double>;

template <typename F>
void on_worker(const F& f) {
  run_on_worker(Device::cpu(), f);
}

// A function of one f32[2]; a device that is not the CPU chooses MLX's compiler.
template <typename F>
std::unique_ptr<const GraphFunction> made(const WorkerContext& worker, const F& f) {
  const array x = placeholder({2}, mx::float32);
  return make_graph_function(Tape::record({x}, {f(x, worker.stream)}), Device::cuda(), worker.stream);
}

List result_of(const GraphFunction& function, const std::vector<float>& x) {
  std::vector<array> out = function.call({floats(x)});
  mx::eval(out);
  return values(out[0]);
}

array plus_one(const array& x, mx::Stream s) { return mx::add(mx::abs(x, s), array(1.0f), s); }
array times_ten(const array& x, mx::Stream s) { return mx::multiply(mx::abs(x, s), array(10.0f), s); }

TEST(GraphFunction, B103_IdsKeepFunctionsApart) {
  on_worker([](const WorkerContext& worker) {
    const auto live = live_compiled_graphs();
    {
      const auto a = made(worker, plus_one);
      const auto b = made(worker, times_ten);
      EXPECT_EQ(live_compiled_graphs(), live + 2);
      for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(result_of(*a, {2, 3}), (List{3, 4}));
        EXPECT_EQ(result_of(*b, {2, 3}), (List{20, 30}));
      }
    }
    EXPECT_EQ(live_compiled_graphs(), live);
  });
}

// The cache's entry holds the array that the function closes over; only erasing lets it go.
TEST(GraphFunction, B103_TheEntryGoesWithTheFunctionOnWhateverThread) {
  std::unique_ptr<const GraphFunction> function;
  std::weak_ptr<array::Data> closed_over;
  on_worker([&](const WorkerContext& worker) {
    array cap = floats({5, 6});
    cap.eval();
    function = made(worker, [&](const array& x, mx::Stream s) { return mx::add(mx::abs(x, s), cap, s); });
    closed_over = cap.data_shared_ptr();
    EXPECT_EQ(result_of(*function, {-1, 1}), (List{6, 7}));
    EXPECT_EQ(result_of(*function, {-2, 1}), (List{7, 7}));
  });
  EXPECT_FALSE(closed_over.expired());
  on_thread([&] { function.reset(); });
  EXPECT_TRUE(closed_over.expired());
}

TEST(GraphFunction, AFunctionMadeAfterAnotherIsGoneIsItself) {
  on_worker([](const WorkerContext& worker) {
    for (int i = 0; i < 20; ++i) {
      const auto function = made(worker, i % 2 == 0 ? plus_one : times_ten);
      EXPECT_EQ(result_of(*function, {4, 4})[0], i % 2 == 0 ? 5 : 40);
    }
  });
}

}  // namespace
}  // namespace reprise::mlx_backend
