// The tokenizer that a GGUF file carries.
#pragma once

#include "io/gguf/gguf.hpp"
#include "models/tokenizer/tokenizer.hpp"

namespace reprise {

/// Errors: no vocabulary, another tokenizer model than byte-level BPE ("gpt2"), malformed arrays.
Result<TokenizerSpec> tokenizer_spec(const gguf::File& file);

}  // namespace reprise
