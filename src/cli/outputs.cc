#include "cli/outputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "report/ci_cd.h"
#include "report/csv.h"
#include "report/github_benchmark.h"
#include "report/junit.h"
#include "report/markdown.h"
#include "report/openmetrics.h"
#include "stats/record_json.h"

namespace plimsoll::cli {
namespace {

Refusal cannot_write(const std::string& file) {
  return {fmt::format("cannot write '{}': {}", file, std::strerror(errno))};
}

Checked<std::string> render(const std::string& format, const stats::Record& record) {
  if (format == "json") return stats::to_json(record);
  if (format == "ci-cd") return report::ci_cd(record);
  if (format == "csv") return report::csv(record);
  if (format == "md") return report::markdown(record);
  if (format == "openmetrics") return report::openmetrics(record);
  if (format == "junit") return report::junit(record);
  if (format == "bench-bigger") return report::bench_bigger(record);
  if (format == "bench-smaller") return report::bench_smaller(record);
  return Refusal{fmt::format("no renderer for '{}'", format)};
}

// Where a format has a file of its own that its readers expect.
std::string usual_file(const std::string& format) {
  if (format == "ci-cd") return report::kCiCdFile;
  if (format == "bench-bigger") return report::kBenchBiggerFile;
  if (format == "bench-smaller") return report::kBenchSmallerFile;
  return {};
}

Checked<void> write_all(int fd, std::string_view text, const std::string& file) {
  while (!text.empty()) {
    const auto written = ::write(fd, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return cannot_write(file);
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

Checked<OutputFiles> OutputFiles::open(const std::vector<Output>& outputs, const std::string& result_file,
                                       bool quiet) {
  OutputFiles files;
  files.text_ = !quiet;
  for (const Output& output : outputs) {
    if (output.format == "text" || output.format == "stdout") continue;
    const std::string file = output.file.empty() ? usual_file(output.format) : output.file;
    // Two reports on one stdout would be read by nobody.
    if (file.empty()) files.text_ = false;
    files.destinations_.push_back({output.format, file, false});
  }
  if (!result_file.empty()) files.destinations_.push_back({"json", result_file, false});
  for (Destination& destination : files.destinations_) {
    if (destination.file.empty()) continue;
    destination.created = access(destination.file.c_str(), F_OK) != 0;
    const int fd = ::open(destination.file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
      const Refusal refusal = cannot_write(destination.file);
      destination.created = false;
      for (const Destination& made : files.destinations_) {
        if (made.created) unlink(made.file.c_str());
      }
      return refusal;
    }
    close(fd);
  }
  return files;
}

void OutputFiles::print(std::string_view text) const {
  if (!text_) return;
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

Checked<void> OutputFiles::write(const stats::Record& record) const {
  for (const Destination& destination : destinations_) {
    auto text = render(destination.format, record);
    if (!text) return text.error();
    if (destination.file.empty()) {
      if (auto written = write_all(STDOUT_FILENO, *text, "stdout"); !written) return written;
      continue;
    }
    // zb's file is for its owner alone.
    const mode_t mode = destination.format == "ci-cd" ? 0600 : 0644;
    const int fd = ::open(destination.file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd < 0) return cannot_write(destination.file);
    if (destination.format == "ci-cd" && destination.created) fchmod(fd, mode);
    auto written = write_all(fd, *text, destination.file);
    if (close(fd) != 0 && written) written = cannot_write(destination.file);
    if (!written) return written;
  }
  return {};
}

Exit OutputFiles::refuse_before_run(std::string_view message) const {
  for (const Destination& destination : destinations_) {
    if (destination.created) unlink(destination.file.c_str());
  }
  return refuse(message);
}

}  // namespace plimsoll::cli
