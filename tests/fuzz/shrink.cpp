#include "fuzz/shrink.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

namespace reprise::fuzz {
namespace {

using Path = std::vector<std::pair<std::size_t, std::size_t>>;  // (instruction, sub-program) down to a list

struct ListView {
  std::vector<Instruction>* instructions;
  std::vector<Ref>* outputs;
};

ListView list_at(ProgramData& data, const Path& path) {
  ListView at{&data.instructions, &data.outputs};
  for (const auto& [i, s] : path) {
    SubProgram& sub = (*at.instructions)[i].subprograms[s];
    at = {&sub.instructions, &sub.outputs};
  }
  return at;
}

// All lists of the program, inner ones first.
void all_paths(const std::vector<Instruction>& list, const Path& path, std::vector<Path>& out) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (std::size_t s = 0; s < list[i].subprograms.size(); ++s) {
      Path inner = path;
      inner.emplace_back(i, s);
      all_paths(list[i].subprograms[s].instructions, inner, out);
    }
  }
  out.push_back(path);
}

void each_use(std::vector<Instruction>& list, std::vector<Ref>& outputs, const std::function<void(Ref&)>& f) {
  for (Instruction& i : list) std::for_each(i.operands.begin(), i.operands.end(), f);
  std::for_each(outputs.begin(), outputs.end(), f);
}

class Shrinker {
 public:
  Shrinker(FuzzCase one, const Fails& fails, const ShrinkOptions& options)
      : best_(std::move(one)), fails_(fails), evaluate_(options.evaluate), left_(options.max_tries) {}

  FuzzCase run() {
    keep(without_dead_parts(best_));
    for (bool better = true; better && left_ > 0;) {
      better = false;
      better |= fewer_outputs();
      better |= cut_values();
      better |= unroll_loops();
      better |= fewer_slots();
      better |= drop_operands();
      better |= merge_operands();
      better |= smaller_dimensions();
      better |= plainer_arrays();
      better |= plainer_dtypes();
      better |= smaller_attributes();
    }
    return best_;
  }

 private:
  // Takes the candidate over if it is valid, differs and still fails.
  bool keep(FuzzCase candidate) {
    if (left_ <= 0 || !typed(candidate)) return false;
    candidate = without_dead_parts(candidate);
    if (candidate.data == best_.data && same_inputs(candidate.inputs, best_.inputs)) return false;
    --left_;
    if (!fails_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  static bool same_inputs(const std::vector<ArraySpec>& a, const std::vector<ArraySpec>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const ArraySpec& x, const ArraySpec& y) {
      return x.type == y.type && x.bytes == y.bytes && x.layout == y.layout;
    });
  }

  static void set_outputs(FuzzCase& one, std::vector<Ref> outputs) {
    one.data.outputs = std::move(outputs);
    one.data.num_real_outputs = static_cast<std::int32_t>(one.data.outputs.size());
  }

  bool fewer_outputs() {
    bool better = false;
    for (const Ref& ref : std::vector<Ref>(best_.data.outputs)) {
      if (best_.data.outputs.size() < 2) break;
      FuzzCase c = best_;
      set_outputs(c, {ref});
      if (keep(std::move(c))) return true;
    }
    for (std::size_t k = best_.data.outputs.size(); k-- > 0;) {
      FuzzCase c = best_;
      c.data.outputs.erase(c.data.outputs.begin() + static_cast<std::ptrdiff_t>(k));
      c.data.num_real_outputs = std::min(c.data.num_real_outputs, static_cast<std::int32_t>(c.data.outputs.size()));
      better |= keep(std::move(c));
    }
    return better;
  }

  // Each value of each list: an operand of its instruction or an array stands for it, and what made it goes.
  bool cut_values() {
    bool better = false;
    for (bool again = true; again;) {
      again = false;
      std::vector<Path> paths;
      all_paths(best_.data.instructions, {}, paths);
      for (auto path = paths.rbegin(); path != paths.rend() && !again; ++path) {
        const TypedProgram types = typed(best_).value();
        const VerifiedList* verified = &types.verified().list();
        const TypedList* list = &types.types();
        for (const auto& [i, s] : *path) {
          list = &list->subprograms[i][s];
          verified = &verified->instructions[i].subprograms[s];
        }
        for (std::size_t i = list->results.empty() ? 0 : verified->instructions.size(); i-- > 0 && !again;) {
          const VerifiedInstruction& instruction = verified->instructions[i];
          for (std::size_t r = instruction.first_result + instruction.result_count;
               r-- > instruction.first_result && !again;) {
            again = cut(*path, r, list->results[r], instruction.operands);
          }
        }
      }
      better |= again;
    }
    return better;
  }

  bool cut(const Path& path, std::size_t r, const TensorType& type, const std::vector<Ref>& operands) {
    const auto replace_by = [&](FuzzCase& c, const Ref& by) {
      const ListView at = list_at(c.data, path);
      each_use(*at.instructions, *at.outputs, [&](Ref& ref) {
        if (ref == result(static_cast<std::int64_t>(r))) ref = by;
      });
    };
    for (const Ref& operand : operands) {
      FuzzCase c = best_;
      replace_by(c, operand);
      if (keep(std::move(c))) return true;
    }
    if (!path.empty()) {
      // A slot of the loop, then an array.
      const auto& slots = slots_of(path);
      for (std::size_t i = 0; i < slots.size(); ++i) {
        if (slots[i] != type) continue;
        FuzzCase c = best_;
        replace_by(c, carry(static_cast<std::int64_t>(i)));
        if (keep(std::move(c))) return true;
      }
    }
    std::vector<ArraySpec> values;
    if (path.empty()) {
      if (auto value = value_of(r)) values.push_back(*std::move(value));
    }
    values.push_back(filled(type, 1));
    for (ArraySpec& spec : values) {
      FuzzCase c = best_;
      Ref by;
      if (path.empty()) {
        by = input(static_cast<std::int64_t>(c.inputs.size()));
        c.inputs.push_back(std::move(spec));
        c.data.num_inputs = static_cast<std::int32_t>(c.inputs.size());
      } else {
        by = capture(static_cast<std::int64_t>(c.data.captures.size()));
        c.data.captures.push_back(make_capture(make_dense(spec)).value());
        c.capture_layouts.push_back(Layout::dense);
      }
      replace_by(c, by);
      if (keep(std::move(c))) return true;
    }
    return false;
  }

  std::vector<TensorType> slots_of(const Path& path) const {
    const TypedProgram types = typed(best_).value();
    const TypedList* list = &types.types();
    for (const auto& [i, s] : path) list = &list->subprograms[i][s];
    return list->carries;
  }

  std::optional<ArraySpec> value_of(std::size_t r) const {
    if (!evaluate_) return {};
    FuzzCase c = best_;
    set_outputs(c, {result(static_cast<std::int64_t>(r))});
    auto values = evaluate_->run(without_dead_parts(c));
    if (!values) return {};
    return std::move(values->front());
  }

  // A loop becomes its body, run once.
  bool unroll_loops() {
    bool better = false;
    std::vector<Path> paths;
    all_paths(best_.data.instructions, {}, paths);
    for (const Path& path : paths) {
      FuzzCase probe = best_;
      const std::size_t n = list_at(probe.data, path).instructions->size();
      for (std::size_t i = n; i-- > 0;) {
        FuzzCase c = best_;
        if (unroll(c, path, i) && keep(std::move(c))) return true;
      }
    }
    return better;
  }

  static bool unroll(FuzzCase& c, const Path& path, std::size_t at) {
    const ListView list = list_at(c.data, path);
    if (at >= list.instructions->size() || (*list.instructions)[at].subprograms.size() != 2) return false;
    const Instruction loop = (*list.instructions)[at];
    const auto types = typed(c);
    if (!types) return false;
    const VerifiedList* verified = &types->verified().list();
    for (const auto& [i, s] : path) verified = &verified->instructions[i].subprograms[s];
    const auto first = static_cast<std::int64_t>(verified->instructions[at].first_result);
    const auto slots = static_cast<std::int64_t>(loop.operands.size());
    const auto inner = static_cast<std::int64_t>(verified->instructions[at].subprograms[1].result_count);
    SubProgram body = loop.subprograms[1];
    const auto lift = [&](Ref& ref) {
      if (ref.kind == RefKind::carry) {
        ref = loop.operands[static_cast<std::size_t>(ref.index)];
      } else if (ref.kind == RefKind::result) {
        ref.index += first;
      }
    };
    each_use(body.instructions, body.outputs, lift);
    const auto renumber = [&](Ref& ref) {
      if (ref.kind != RefKind::result || ref.index < first) return;
      ref = ref.index < first + slots ? body.outputs[static_cast<std::size_t>(ref.index - first)]
                                      : result(ref.index - slots + inner);
    };
    for (std::size_t i = at + 1; i < list.instructions->size(); ++i) {
      auto& operands = (*list.instructions)[i].operands;
      std::for_each(operands.begin(), operands.end(), renumber);
    }
    std::for_each(list.outputs->begin(), list.outputs->end(), renumber);
    const auto where = list.instructions->erase(list.instructions->begin() + static_cast<std::ptrdiff_t>(at));
    list.instructions->insert(where, body.instructions.begin(), body.instructions.end());
    return true;
  }

  // Loop slots that nothing outside the body's own slot needs.
  bool fewer_slots() {
    std::vector<Path> paths;
    all_paths(best_.data.instructions, {}, paths);
    for (const Path& path : paths) {
      FuzzCase probe = best_;
      const ListView list = list_at(probe.data, path);
      for (std::size_t i = 0; i < list.instructions->size(); ++i) {
        if ((*list.instructions)[i].subprograms.size() != 2) continue;
        for (std::size_t slot = (*list.instructions)[i].operands.size(); slot-- > 0;) {
          FuzzCase c = best_;
          if (drop_slot(c, path, i, slot) && keep(std::move(c))) return true;
        }
      }
    }
    return false;
  }

  static bool drop_slot(FuzzCase& c, const Path& path, std::size_t at, std::size_t slot) {
    const auto types = typed(c);
    if (!types) return false;
    const VerifiedList* verified = &types->verified().list();
    for (const auto& [i, s] : path) verified = &verified->instructions[i].subprograms[s];
    const ListView list = list_at(c.data, path);
    const auto gone = result(static_cast<std::int64_t>(verified->instructions[at].first_result + slot));
    bool used = false;
    each_use(*list.instructions, *list.outputs, [&](Ref& ref) {
      used |= ref == gone;
      if (ref.kind == RefKind::result && ref.index > gone.index) --ref.index;
    });
    if (used) return false;
    Instruction& loop = (*list.instructions)[at];
    loop.operands.erase(loop.operands.begin() + static_cast<std::ptrdiff_t>(slot));
    SubProgram& body = loop.subprograms[1];
    body.outputs.erase(body.outputs.begin() + static_cast<std::ptrdiff_t>(slot));
    for (SubProgram& sub : loop.subprograms) {
      each_use(sub.instructions, sub.outputs, [&](Ref& ref) {
        used |= ref == carry(static_cast<std::int64_t>(slot));
        if (ref.kind == RefKind::carry && ref.index > static_cast<std::int64_t>(slot)) --ref.index;
      });
    }
    return !used;
  }

  bool each_instruction(const std::function<bool(FuzzCase, const Path&, std::size_t)>& attempt) {
    std::vector<Path> paths;
    all_paths(best_.data.instructions, {}, paths);
    bool better = false;
    for (const Path& path : paths) {
      FuzzCase probe = best_;
      for (std::size_t i = list_at(probe.data, path).instructions->size(); i-- > 0;) {
        // An attempt that succeeds changes what there is: the caller comes again.
        if (attempt(best_, path, i)) return true;
      }
    }
    return better;
  }

  static Instruction& at(FuzzCase& c, const Path& path, std::size_t i) {
    return (*list_at(c.data, path).instructions)[i];
  }

  bool drop_operands() {
    return each_instruction([&](FuzzCase c, const Path& path, std::size_t i) {
      if (!at(c, path, i).subprograms.empty()) return false;
      for (std::size_t k = at(c, path, i).operands.size(); k-- > 0;) {
        FuzzCase d = c;
        auto& operands = at(d, path, i).operands;
        operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(k));
        if (keep(std::move(d))) return true;
      }
      return false;
    });
  }

  // One input less when two operands may be the same array.
  bool merge_operands() {
    for (std::size_t a = 0; a < best_.inputs.size(); ++a) {
      for (std::size_t b = a + 1; b < best_.inputs.size(); ++b) {
        if (best_.inputs[a].type != best_.inputs[b].type) continue;
        FuzzCase c = best_;
        each_use(c.data.instructions, c.data.outputs, [&](Ref& ref) {
          if (ref == input(static_cast<std::int64_t>(b))) ref = input(static_cast<std::int64_t>(a));
        });
        if (keep(std::move(c))) return true;
      }
    }
    return false;
  }

  static void each_attr(std::vector<Instruction>& list, const std::function<void(Attr&)>& f) {
    for (Instruction& i : list) {
      std::for_each(i.attrs.begin(), i.attrs.end(), f);
      for (SubProgram& sub : i.subprograms) each_attr(sub.instructions, f);
    }
  }

  // The first rows of an array of another shape, or ones where it has more.
  static ArraySpec resized(const ArraySpec& spec, std::int64_t from, std::int64_t to) {
    ArraySpec out = spec;
    for (auto& n : out.type.shape) n = n == from ? to : n;
    if (out.type.shape == spec.type.shape) return spec;
    out.bytes = spec.bytes.substr(0, byte_total(out.type));
    const std::size_t there = out.bytes.size() / size_of(out.type.dtype);
    for (std::size_t i = there; i < element_total(out.type); ++i) append(out.bytes, out.type.dtype, 1);
    out.layout = Layout::dense;
    return out;
  }

  // All axes of one size at once, and the attributes that speak of it.
  bool smaller_dimensions() {
    std::set<std::int64_t, std::greater<>> sizes;
    for (const ArraySpec& spec : best_.inputs) sizes.insert(spec.type.shape.begin(), spec.type.shape.end());
    for (const Capture& x : best_.data.captures) {
      const Shape shape = x.type().shape;
      sizes.insert(shape.begin(), shape.end());
    }
    for (const auto size : sizes) {
      std::set<std::int64_t> targets{0, 1, 2, size / 2, size - 1};
      for (const auto to : targets) {
        if (to >= size || to < 0) continue;
        for (const bool with_attributes : {true, false}) {
          FuzzCase c = best_;
          for (ArraySpec& spec : c.inputs) spec = resized(spec, size, to);
          for (std::size_t i = 0; i < c.data.captures.size(); ++i) {
            const ArraySpec old = spec_of(*c.data.captures[i].value);
            if (std::find(old.type.shape.begin(), old.type.shape.end(), size) == old.type.shape.end()) continue;
            c.data.captures[i] = make_capture(make_dense(resized(old, size, to)), c.data.captures[i].name).value();
          }
          if (with_attributes) {
            each_attr(c.data.instructions, [&](Attr& attr) {
              if (auto* v = std::get_if<std::int64_t>(&attr); v && *v == size) *v = to;
            });
          }
          if (keep(std::move(c))) return true;
        }
      }
    }
    return false;
  }

  bool plainer_arrays() {
    bool better = false;
    for (std::size_t i = 0; i < best_.inputs.size(); ++i) {
      for (const int what : {0, 1, 2, 3}) {
        if (i >= best_.inputs.size()) break;
        FuzzCase c = best_;
        ArraySpec& spec = c.inputs[i];
        if (what == 0) spec.layout = Layout::dense;
        if (what == 1) spec.bytes = filled(spec.type, 0).bytes;
        if (what == 2) spec.bytes = filled(spec.type, 1).bytes;
        if (what == 3) {
          if (!spec.type.shape.empty()) continue;
          const auto value = numbers(spec.type, spec.bytes)[0];
          c.data.constants.push_back(is_complex(spec.type.dtype) ? Constant::of(value, spec.type.dtype)
                                                                 : Constant::of(value.real(), spec.type.dtype));
          const Ref by = constant(static_cast<std::int64_t>(c.data.constants.size()) - 1);
          each_use(c.data.instructions, c.data.outputs, [&](Ref& ref) {
            if (ref == input(static_cast<std::int64_t>(i))) ref = by;
          });
        }
        // A plainer array that is not plainer than before would go on for ever.
        if (what == 2 && best_.inputs[i].bytes == filled(spec.type, 0).bytes) continue;
        better |= keep(std::move(c));
      }
    }
    for (std::size_t i = 0; i < best_.data.captures.size(); ++i) {
      for (const int what : {0, 1, 2}) {
        if (i >= best_.data.captures.size()) break;
        FuzzCase c = best_;
        const TensorType type = c.data.captures[i].type();
        if (what == 0) {
          if (best_.capture_layouts[i] == Layout::dense) continue;
          c.capture_layouts[i] = Layout::dense;
          // Layouts are not part of the program: compare by asking.
          if (left_ > 0 && (--left_, fails_(c))) {
            best_ = std::move(c);
            better = true;
          }
          continue;
        }
        if (what == 2 && spec_of(*best_.data.captures[i].value).bytes == filled(type, 0).bytes) continue;
        c.data.captures[i] = make_capture(make_dense(filled(type, what == 1 ? 0 : 1)), "").value();
        better |= keep(std::move(c));
      }
      if (i >= best_.data.captures.size()) break;
      // An input is easier to paste than a capture.
      FuzzCase c = best_;
      const Ref old = capture(static_cast<std::int64_t>(i));
      const Ref by = input(static_cast<std::int64_t>(c.inputs.size()));
      ArraySpec spec = spec_of(*c.data.captures[i].value);
      spec.layout = c.capture_layouts[i];
      c.inputs.push_back(std::move(spec));
      c.data.num_inputs = static_cast<std::int32_t>(c.inputs.size());
      each_use(c.data.instructions, c.data.outputs, [&](Ref& ref) {
        if (ref == old) ref = by;
      });
      better |= keep(std::move(c));
    }
    return better;
  }

  // Everything of one dtype as float32.
  bool plainer_dtypes() {
    std::set<DType> dtypes;
    for (const ArraySpec& spec : best_.inputs) dtypes.insert(spec.type.dtype);
    for (const DType d : dtypes) {
      if (d == DType::float32 || d == DType::bool_) continue;
      FuzzCase c = best_;
      for (ArraySpec& spec : c.inputs) {
        if (spec.type.dtype != d) continue;
        const auto values = numbers(spec.type, spec.bytes);
        spec.type.dtype = DType::float32;
        spec.bytes.clear();
        for (const auto& v : values) append(spec.bytes, DType::float32, v.real());
      }
      each_attr(c.data.instructions, [&](Attr& attr) {
        if (auto* n = std::get_if<Name>(&attr); n && n->text == name(d)) n->text = name(DType::float32);
      });
      for (Constant& constant : c.data.constants) {
        if (constant.dtype == d) constant.dtype = DType::float32;
      }
      if (keep(std::move(c))) return true;
    }
    return false;
  }

  bool smaller_attributes() {
    return each_instruction([&](FuzzCase c, const Path& path, std::size_t i) {
      for (std::size_t k = 0; k < at(c, path, i).attrs.size(); ++k) {
        FuzzCase shorter = c;
        auto& attrs = at(shorter, path, i).attrs;
        attrs.erase(attrs.begin() + static_cast<std::ptrdiff_t>(k));
        if (keep(std::move(shorter))) return true;
        const auto* value = std::get_if<std::int64_t>(&at(c, path, i).attrs[k]);
        // What is so large is the bits of a float.
        if (!value || std::abs(*value) > std::int64_t{1} << 40) continue;
        for (const std::int64_t to : {std::int64_t{0}, std::int64_t{1}, *value / 2, *value - 1}) {
          if (to == *value || (*value >= 0 && (to >= *value || to < 0)) || (*value < 0 && to < *value)) continue;
          FuzzCase d = c;
          at(d, path, i).attrs[k] = to;
          if (keep(std::move(d))) return true;
        }
      }
      return false;
    });
  }

  FuzzCase best_;
  const Fails& fails_;
  const Runner* evaluate_;
  int left_;
};

}  // namespace

FuzzCase shrink(const FuzzCase& one, const Fails& fails, const ShrinkOptions& options) {
  return Shrinker(one, fails, options).run();
}

}  // namespace reprise::fuzz
