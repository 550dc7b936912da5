// docs_generator [--check] DOCS: writes the pages into the folder DOCS, or fails when one there is not as it would be
// written.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "conformance/case_folder.hpp"
#include "docs/pages.hpp"

namespace {

namespace fs = std::filesystem;
using namespace reprise;

std::string read(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

docs::Records read_records(const fs::path& folder) {
  std::vector<fs::path> files;
  if (fs::exists(folder)) {
    for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  docs::Records out;
  for (const fs::path& file : files) {
    auto record = nlohmann::json::parse(read(file), nullptr, false);
    if (!record.is_object() || !record.contains("device") || !record.contains("backends")) {
      fmt::print(stderr, "{}: not a record of support\n", file.string());
      std::exit(1);
    }
    out.push_back(std::move(record));
  }
  return out;
}

// Pages that are missing or differ, and pages of families that are gone.
std::vector<std::string> stale(const fs::path& folder, const docs::Pages& pages) {
  std::vector<std::string> out;
  for (const auto& [name, text] : pages) {
    if (read(folder / name) != text) out.push_back(name);
  }
  if (fs::exists(folder / "ops")) {
    for (const auto& entry : fs::directory_iterator(folder / "ops")) {
      const std::string name = "ops/" + entry.path().filename().string();
      if (!pages.contains(name)) out.push_back(name);
    }
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const bool check = argc == 3 && std::string_view(argv[1]) == "--check";
  if (argc != 2 && !check) {
    fmt::print(stderr, "usage: docs_generator [--check] DOCS\n");
    return 2;
  }
  const fs::path folder = argv[argc - 1];
  const auto cases = conformance::all_cases();
  if (!cases) {
    fmt::print(stderr, "{}\n", cases.error().message());
    return 1;
  }
  const docs::Records records = read_records(folder / "support");
  docs::Pages pages = docs::manual(*cases, records);
  pages.merge(docs::support_page(records));
  const auto changed = stale(folder, pages);
  for (const std::string& name : changed) {
    if (check) {
      fmt::print(stderr, "docs/{} is stale; ./dev docs makes it again\n", name);
    } else if (!pages.contains(name)) {
      fs::remove(folder / name);
    } else {
      fs::create_directories((folder / name).parent_path());
      std::ofstream out(folder / name);
      out << pages.at(name);
      if (!out.flush()) {
        fmt::print(stderr, "{} cannot be written\n", (folder / name).string());
        return 1;
      }
      fmt::print("docs/{}\n", name);
    }
  }
  return check && !changed.empty() ? 1 : 0;
}
