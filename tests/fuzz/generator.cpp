#include "fuzz/generator.hpp"

#include <algorithm>
#include <stdexcept>

#include "program/array_access.hpp"

namespace reprise::fuzz {
namespace {

constexpr std::int64_t kMaxElements = 1500;
constexpr std::int64_t kMaxElementsOfLarge = 20000;
constexpr int kMaxInputs = 8;
constexpr int kMaxLoopDepth = 2;

}  // namespace

void Tally::add(const Tally& other) {
  for (std::size_t i = 0; i < kMaxOps; ++i) {
    tried[i] += other.tried[i];
    accepted[i] += other.accepted[i];
    too_large[i] += other.too_large[i];
  }
  refused_programs += other.refused_programs;
}

std::size_t op_index(const ops::OpDef& op) {
  const auto all = ops::all_defs();
  return static_cast<std::size_t>(std::find(all.begin(), all.end(), &op) - all.begin());
}

FuzzCase generate(const GenerateOptions& options, Tally& tally) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    // A refused program is a fault of the generator, which its count shows; the next attempt takes its place.
    GenerateOptions one = options;
    one.seed += attempt << 40;
    Tally counted;
    FuzzCase made = Generator(one, counted).run();
    const bool good = typed(made).ok();
    tally.add(counted);
    if (good) return made;
    ++tally.refused_programs;
    if (attempt == 20) throw std::logic_error("the generator makes no valid program: " + typed(made).error().message());
  }
}

Generator::Generator(const GenerateOptions& options, Tally& tally)
    : options_(options), tally_(tally), random_(options.seed, options.index) {
  wild_ = random_.percent(35);
  dims_ = {random_.pick({2, 3, 4}), random_.pick({1, 5, 7, 8, 9}), random_.pick({1, 2, 15, 16, 17, 31, 33})};
  max_elements_ = kMaxElements;
  if (random_.percent(4)) {
    // Around the sizes of tiles and blocks.
    max_elements_ = kMaxElementsOfLarge;
    dims_.push_back(random_.pick({255, 256, 257, 511, 512, 513, 1023, 1025, 2047, 2049}));
  }
  if (random_.percent(6)) dims_.push_back(0);
  allowed_ = ops::kAllDTypes;
  if (!options.float64 || random_.percent(75))
    allowed_ = static_cast<ops::DTypeSet>(allowed_ & ~ops::set_of(DType::float64));
  dtypes_ = {random_.percent(60) ? DType::float32 : dtype(ops::kFloats), dtype(ops::kAllDTypes)};
  if (random_.coin()) dtypes_.push_back(dtype(ops::kIntegers));
}

FuzzCase Generator::run() {
  Scope top;
  scope_ = &top;
  made_.data.num_inputs = 0;
  for (auto n = random_.between(1, 3); n > 0; --n) fresh({dtype(ops::kAllDTypes), shape(0, 3)});
  for (auto n = random_.between(1, options_.max_instructions); n > 0; --n) step();
  choose_outputs();
  made_.data.instructions = std::move(top.list);
  made_.data.num_inputs = static_cast<std::int32_t>(made_.inputs.size());
  scope_ = nullptr;
  return std::move(made_);
}

// One instruction of an op chosen at random; several attempts, since not every draw can be had.
void Generator::step() {
  const auto all = ops::all_defs();
  // One op in 135, and the one with the most machinery behind it.
  if (random_.percent(4) && add_loop()) return;
  for (int attempt = 0; attempt < 4; ++attempt) {
    const ops::OpDef& op = *random_.pick(all);
    if (has(op.traits, ops::Trait::control)) {
      if (add_loop()) return;
      continue;
    }
    // What a refused candidate brought along goes with it.
    const auto inputs = made_.inputs.size();
    const auto captures = made_.data.captures.size();
    const auto constants = made_.data.constants.size();
    const auto pool = scope_->pool.size();
    const auto list = scope_->list.size();
    const auto results = scope_->results;
    if (const auto draft = make(op, *this); draft && emit(op, *draft)) return;
    made_.inputs.resize(inputs);
    made_.data.captures.resize(captures);
    made_.capture_layouts.resize(captures);
    made_.data.constants.resize(constants);
    scope_->pool.resize(pool);
    scope_->list.resize(list);
    scope_->results = results;
  }
}

std::optional<std::vector<Operand>> Generator::emit(const ops::OpDef& op, const Draft& draft) {
  const std::size_t at = op_index(op);
  ++tally_.tried[at];
  Instruction instruction{std::string(op.name), {}, {}, {}};
  std::vector<TensorType> types;
  for (const Operand& operand : draft.operands) {
    instruction.operands.push_back(operand.ref);
    types.push_back(operand.type);
  }
  ops::AttrBox attrs;
  if (op.attrs) {
    auto positional = ops::attrs_from_named(*op.attrs, draft.attrs);
    if (!positional) return {};
    instruction.attrs = *std::move(positional);
    auto decoded = ops::decode_attrs(*op.attrs, instruction.attrs);
    if (!decoded) return {};
    attrs = *std::move(decoded);
  }
  const ops::InferContext context{op, types};
  for (std::size_t k = 0; k < types.size(); ++k) {
    if (!context.require_dtype(k, op.dtypes_of(op.operand(k)))) return {};
  }
  const auto results = op.infer(context, attrs.get());
  if (!results) return {};
  const bool small = std::all_of(results->begin(), results->end(),
                                 [&](const TensorType& t) { return fits(t.shape) && t.shape.size() <= 6; });
  if (!small) {
    ++tally_.too_large[at];
    return {};
  }
  ++tally_.accepted[at];
  return append(std::move(instruction), *results);
}

std::optional<Operand> Generator::emit(std::string_view op, std::vector<Operand> operands,
                                       std::vector<std::pair<std::string, ops::Value>> attrs) {
  const auto out = emit(*ops::find_def(op), {std::move(operands), std::move(attrs)});
  if (!out) return {};
  return out->front();
}

std::vector<Operand> Generator::append(Instruction instruction, const std::vector<TensorType>& types) {
  scope_->list.push_back(std::move(instruction));
  std::vector<Operand> out;
  for (const TensorType& type : types) {
    out.push_back({result(scope_->results++), type});
    scope_->pool.push_back(out.back());
  }
  return out;
}

Operand Generator::any(const Want& want) {
  const auto fits = [&](const TensorType& t) {
    return (want.dtypes & ops::set_of(t.dtype)) != 0 && t.rank() >= want.min_rank && t.rank() <= want.max_rank &&
           (!want.also || want.also(t));
  };
  if (random_.percent(80)) {
    std::vector<const Operand*> found;
    for (const Operand& o : scope_->pool) {
      if (fits(o.type)) found.push_back(&o);
    }
    // The younger half twice as often: long chains find more than wide programs.
    if (!found.empty()) {
      const auto n = static_cast<std::int64_t>(found.size());
      return *found[static_cast<std::size_t>(random_.coin() ? random_.below(n) : random_.between(n / 2, n - 1))];
    }
  }
  for (int attempt = 0; attempt < 20; ++attempt) {
    const TensorType type{dtype(want.dtypes), shape(want.min_rank, want.max_rank)};
    if (fits(type)) return fresh(type);
  }
  Shape ones(static_cast<std::size_t>(want.min_rank), 1);
  return fresh({dtype(want.dtypes), std::move(ones)});
}

Operand Generator::like(const TensorType& type, const Values& values) {
  const bool general = values.purpose == Purpose::general;
  if (random_.percent(general ? 60 : 10)) {
    std::vector<const Operand*> found;
    for (const Operand& o : scope_->pool) {
      if (o.type == type) found.push_back(&o);
    }
    if (!found.empty()) return *random_.pick(found);
  }
  if (general && random_.percent(35)) return as_type(type);
  return fresh(type, values);
}

// From a value of the pool with as many elements, or from a scalar; else a new value.
Operand Generator::as_type(const TensorType& type) {
  const auto wanted = element_count(type.shape);
  std::vector<Operand> found;
  for (const Operand& o : scope_->pool) {
    const bool complex_lost = is_complex(o.type.dtype) && !is_complex(type.dtype);
    if (!complex_lost && (o.type.shape.empty() || element_count(o.type.shape) == wanted)) found.push_back(o);
  }
  if (found.empty()) return fresh(type);
  std::optional<Operand> x = random_.pick(found);
  if (x->type.dtype != type.dtype) x = emit("astype", {*x}, {{"dtype", type.dtype}});
  if (x && x->type.shape != type.shape) {
    x = element_count(x->type.shape) == wanted
            ? emit("reshape", {*x}, {{"shape", ops::Ints(type.shape)}})
            : emit("broadcast", {*x}, {{"shape", ops::Ints(type.shape)}, {"axes", ops::Ints{}}});
  }
  return x ? *x : fresh(type);
}

Operand Generator::constant(const TensorType& scalar, const Values& values) {
  const ArraySpec spec = random_array(random_, scalar, values);
  Constant c;
  c.dtype = scalar.dtype;
  if (is_integer(scalar.dtype) && size_of(scalar.dtype) == 8) {
    std::uint64_t bits = 0;
    std::copy_n(spec.bytes.data(), 8, reinterpret_cast<char*>(&bits));
    if (scalar.dtype == DType::uint64) {
      c.value = bits;
    } else {
      c.value = static_cast<std::int64_t>(bits);
    }
  } else if (const auto value = numbers(scalar, spec.bytes)[0]; is_complex(scalar.dtype)) {
    c.value = value;
  } else if (is_integer(scalar.dtype) && random_.coin()) {
    c.value = static_cast<std::int64_t>(value.real());
  } else {
    c.value = value.real();
  }
  made_.data.constants.push_back(c);
  return {reprise::constant(static_cast<std::int64_t>(made_.data.constants.size()) - 1), scalar};
}

Operand Generator::fresh(const TensorType& type, const Values& given) {
  Values values = given;
  values.wild = values.wild || wild_;
  Operand out{{}, type};
  const bool scalar = type.shape.empty();
  const auto way = random_.below(100);
  if (scalar && way < 40) {
    out = constant(type, values);
  } else if (!scalar && way < 10 && values.purpose == Purpose::general) {
    const Operand one = constant({type.dtype, {}}, values);
    if (const auto x = emit("broadcast", {one}, {{"shape", ops::Ints(type.shape)}, {"axes", ops::Ints{}}})) return *x;
    return fresh(type, given);
  } else if (scope_->depth == 0 && way < 85 && made_.inputs.size() < kMaxInputs) {
    made_.inputs.push_back(random_array(random_, type, values));
    out.ref = input(static_cast<std::int64_t>(made_.inputs.size()) - 1);
  } else {
    ArraySpec spec = random_array(random_, type, values);
    made_.data.captures.push_back(make_capture(make_dense(spec), random_.coin() ? "w" : "").value());
    made_.capture_layouts.push_back(spec.layout);
    out.ref = capture(static_cast<std::int64_t>(made_.data.captures.size()) - 1);
  }
  scope_->pool.push_back(out);
  return out;
}

DType Generator::dtype(ops::DTypeSet set) {
  const auto usable = static_cast<ops::DTypeSet>(set & allowed_);
  if (!dtypes_.empty() && random_.percent(60)) {
    const DType d = random_.pick(dtypes_);
    if ((usable & ops::set_of(d)) != 0) return d;
  }
  std::vector<DType> all;
  for (int i = 0; i < kDTypeCount; ++i) {
    if ((usable & ops::set_of(static_cast<DType>(i))) != 0) all.push_back(static_cast<DType>(i));
  }
  if (all.empty()) throw std::logic_error("no dtype is left");
  return random_.pick(all);
}

std::int64_t Generator::dim() {
  if (random_.percent(4)) return 0;
  return random_.percent(85) ? random_.pick(dims_) : random_.between(1, 6);
}

Shape Generator::shape(int min_rank, int max_rank) {
  const auto rank = std::min(random_.between(min_rank, max_rank), random_.between(min_rank, max_rank));
  Shape out;
  std::int64_t total = 1;
  for (std::int64_t i = 0; i < rank; ++i) {
    std::int64_t n = dim();
    if (total * n > max_elements_ / 2) n = random_.between(1, 2);
    total *= std::max<std::int64_t>(n, 1);
    out.push_back(n);
  }
  random_.shuffle(out);
  return out;
}

bool Generator::fits(const Shape& shape) const {
  const auto count = element_count(shape);
  return count && *count <= max_elements_;
}

Shape Generator::broadcasting(const Shape& given) {
  Shape out = given;
  if (random_.percent(55)) return out;
  for (auto& n : out) {
    if (random_.percent(30)) n = n == 1 ? dim() : 1;
  }
  if (!out.empty() && random_.percent(30)) {
    out.erase(out.begin(), out.begin() + random_.between(1, static_cast<std::int64_t>(out.size())));
  } else if (out.size() < 4 && random_.percent(10)) {
    out.insert(out.begin(), random_.between(1, 3));
  }
  return fits(out) ? out : given;
}

ops::Ints Generator::axes(int rank, const std::function<bool(std::size_t)>& allowed) {
  ops::Ints out;
  for (int a = 0; a < rank; ++a) {
    if ((!allowed || allowed(static_cast<std::size_t>(a))) && random_.percent(55)) out.push_back(a);
  }
  if (random_.percent(30)) random_.shuffle(out);
  for (auto& a : out) {
    if (random_.percent(20)) a -= rank;
  }
  return out;
}

std::int64_t Generator::axis(int rank) {
  return random_.percent(25) ? random_.between(-rank, -1) : random_.below(rank);
}

// Counts in slot 0, up to 4 turns; the other slots are values of the pool that the body replaces.
bool Generator::add_loop() {
  if (scope_->depth >= kMaxLoopDepth) return false;
  const ops::OpDef& op = *ops::find_def("while");
  Scope& outer = *scope_;
  const DType counter =
      random_.percent(80) ? DType::int32 : dtype(static_cast<ops::DTypeSet>(ops::kIntegers | ops::kFloats));
  const auto scalar_constant = [&](double value) {
    made_.data.constants.push_back(Constant::of(value, counter));
    return reprise::constant(static_cast<std::int64_t>(made_.data.constants.size()) - 1);
  };
  const auto turns = static_cast<double>(random_.below(5));
  // Down to 0, the counter itself being the condition, or up to a bound.
  const bool down = random_.percent(25);
  std::vector<Operand> initial{{scalar_constant(down ? turns : 0), {counter, {}}}};
  for (auto n = random_.between(1, 3); n > 0; --n) initial.push_back(any({}));
  const Ref one = scalar_constant(1);
  const Ref bound = scalar_constant(turns);

  Instruction loop{std::string(op.name), {}, {}, {}};
  std::vector<TensorType> types;
  for (const Operand& o : initial) {
    loop.operands.push_back(o.ref);
    types.push_back(o.type);
  }
  const auto inside = [&](const std::function<std::vector<Ref>()>& fill) {
    Scope scope;
    scope.depth = outer.depth + 1;
    for (std::size_t i = 0; i < types.size(); ++i)
      scope.pool.push_back({carry(static_cast<std::int64_t>(i)), types[i]});
    scope_ = &scope;
    SubProgram sub;
    sub.outputs = fill();
    sub.instructions = std::move(scope.list);
    scope_ = &outer;
    loop.subprograms.push_back(std::move(sub));
  };
  inside([&]() -> std::vector<Ref> {
    if (down) return {carry(0)};
    const Operand limit{bound, {counter, {}}};
    const auto more =
        random_.coin() ? emit("less", {scope_->pool[0], limit}) : emit("not_equal", {scope_->pool[0], limit});
    return {more.value().ref};
  });
  inside([&] {
    for (auto n = random_.between(1, 4); n > 0; --n) step();
    const Operand step_by{one, {counter, {}}};
    std::vector<Ref> outputs{emit(down ? "subtract" : "add", {scope_->pool[0], step_by}).value().ref};
    for (std::size_t slot = 1; slot < types.size(); ++slot) outputs.push_back(slot_value(types[slot], slot).ref);
    return outputs;
  });
  ++tally_.tried[op_index(op)];
  ++tally_.accepted[op_index(op)];
  append(std::move(loop), types);
  return true;
}

// What a loop's body gives for a slot: the youngest result that fits, or anything brought to the type.
Operand Generator::slot_value(const TensorType& type, std::size_t slot) {
  std::vector<Operand> found;
  for (const Operand& o : scope_->pool) {
    if (o.type == type && o.ref.kind == RefKind::result) found.push_back(o);
  }
  if (!found.empty() && random_.percent(80)) return random_.coin() ? found.back() : random_.pick(found);
  if (random_.percent(60)) return as_type(type);
  return {carry(static_cast<std::int64_t>(slot)), type};
}

// Everything that nobody reads, and some of what is read; sometimes a bare input, a value twice, a kept value.
void Generator::choose_outputs() {
  ProgramData& data = made_.data;
  std::vector<bool> read(static_cast<std::size_t>(scope_->results), false);
  for (const Instruction& i : scope_->list) {
    for (const Ref& ref : i.operands) {
      if (ref.kind == RefKind::result) read[static_cast<std::size_t>(ref.index)] = true;
    }
  }
  for (std::int64_t i = 0; i < scope_->results; ++i) {
    if (read[static_cast<std::size_t>(i)] ? random_.percent(20) : random_.percent(97))
      data.outputs.push_back(result(i));
  }
  if (random_.percent(10)) data.outputs.push_back(random_.pick(scope_->pool).ref);
  if (!data.outputs.empty() && random_.percent(5)) data.outputs.push_back(data.outputs.front());
  data.num_real_outputs = static_cast<std::int32_t>(data.outputs.size());
  if (random_.percent(15)) data.outputs.push_back(random_.pick(scope_->pool).ref);
}

}  // namespace reprise::fuzz
