#include "reprise/status.hpp"

namespace reprise {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::io: return "io";
    case ErrorCode::bad_file: return "bad_file";
    case ErrorCode::parse: return "parse";
    case ErrorCode::verify: return "verify";
    case ErrorCode::infer: return "infer";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::limit: return "limit";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::runtime: return "runtime";
    case ErrorCode::internal: return "internal";
  }
  return "unknown";
}

}  // namespace reprise
