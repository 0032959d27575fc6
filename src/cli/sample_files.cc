#include "cli/sample_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iterator>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "stats/hdr_log.h"
#include "stats/histogram.h"
#include "stats/percentile.h"

namespace plimsoll::cli {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdout) std::fclose(file);
  }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

File open_file(const std::string& path, const char* mode) {
  return File(path.empty() ? stdout : std::fopen(path.c_str(), mode));
}

Refusal cannot_write(const Output& output) {
  return {fmt::format("cannot write '{}': {}", output.file, std::strerror(errno))};
}

Nanos latency_of(const load::SampleRow& row) {
  return row.done - row.due;
}

void write_rows(std::FILE* file, std::vector<load::SampleFile>& samples) {
  fmt::print(file, "{}\n", sample_csv_header());
  for (load::SampleFile& part : samples) {
    part.for_each([file](const load::SampleRow& row) { fmt::print(file, "{}\n", sample_csv_row(row)); });
  }
}

// ab's -g: sorted by the total time, in ms, times since the epoch in us.
void write_gnuplot(std::FILE* file, const stats::Record& record, std::vector<load::SampleFile>& samples) {
  std::tm started{};
  strptime(record.started.c_str(), "%Y-%m-%dT%H:%M:%SZ", &started);
  const std::time_t base = timegm(&started);
  std::vector<load::SampleRow> rows;
  for (load::SampleFile& part : samples) {
    part.for_each([&rows](const load::SampleRow& row) { rows.push_back(row); });
  }
  std::ranges::sort(rows, {}, latency_of);
  fmt::print(file, "starttime\tseconds\tctime\tdtime\tttime\twait\n");
  for (const load::SampleRow& row : rows) {
    const std::time_t second = base + static_cast<std::time_t>(seconds(row.sent));
    char text[40];
    std::tm parts{};
    localtime_r(&second, &parts);
    std::strftime(text, sizeof text, "%a %b %d %H:%M:%S %Y", &parts);
    const double total = seconds(latency_of(row)) * 1e3;
    const double connect = seconds(row.connect) * 1e3;
    const double wait =
        row.first_byte == Nanos{} ? 0 : seconds(row.first_byte - row.sent - row.connect) * 1e3;
    fmt::print(file, "{}\t{}\t{:.0f}\t{:.0f}\t{:.0f}\t{:.0f}\n", text, second, connect, total - connect,
               total, std::max(0.0, wait));
  }
}

Checked<stats::Histogram> histogram_of(const stats::TestRecord& test, const std::string& which) {
  const auto at = test.histograms.find(which);
  if (at == test.histograms.end()) return stats::Histogram();
  return stats::Histogram::decode_v2(at->second);
}

// ab's -e: the time within which each per cent of the requests was served, failures included.
Checked<void> write_percentages(std::FILE* file, const stats::TestRecord& test) {
  auto all = histogram_of(test, "latency");
  if (!all) return all.error();
  auto failed = histogram_of(test, "failed_latency");
  if (!failed) return failed.error();
  all->merge(*failed);
  fmt::print(file, "Percentage served,Time in ms\n");
  for (int percent = 0; percent <= 100; ++percent) {
    fmt::print(file, "{},{:.3f}\n", percent, static_cast<double>(all->percentile(percent / 100.0)) * 1e-6);
  }
  return {};
}

Checked<void> write_hgrm(std::FILE* file, const stats::Record& record) {
  for (const stats::TestRecord& test : record.tests) {
    auto histogram = histogram_of(test, "latency");
    if (!histogram) return histogram.error();
    fmt::print(file, "{}", stats::hgrm(*histogram));
  }
  return {};
}

void write_hlog(std::FILE* file, const stats::Record& record) {
  std::tm started{};
  strptime(record.started.c_str(), "%Y-%m-%dT%H:%M:%SZ", &started);
  stats::HistogramLog log(std::chrono::system_clock::from_time_t(timegm(&started)));
  double at = 0;
  for (const stats::TestRecord& test : record.tests) {
    for (const auto& [which, encoded] : test.histograms) {
      const double max = which == "failed_latency" ? test.failed_latency_s.max
                         : which == "service"      ? test.service_s.max
                                                   : test.latency_s.max;
      log.interval(fmt::format("{}:{}", test.name, which), at, test.phases_s.measure, max, encoded);
    }
    at += test.phases_s.measure;
  }
  fmt::print(file, "{}", log.text());
}

}  // namespace

std::string sample_csv_header() {
  return "sequence,due_s,sent_s,latency_s,service_s,first_byte_s,connect_s,bytes,status,error";
}

std::string sample_csv_row(const load::SampleRow& row) {
  const double first_byte = row.first_byte == Nanos{} ? 0 : seconds(row.first_byte - row.sent);
  return fmt::format("{},{:.9f},{:.9f},{:.9f},{:.9f},{:.9f},{:.9f},{},{},{}", row.sequence, seconds(row.due),
                     seconds(row.sent), seconds(row.done - row.due), seconds(row.done - row.sent), first_byte,
                     seconds(row.connect), row.bytes, row.status,
                     row.error < 0 ? std::string_view() : name(static_cast<ErrorKind>(row.error)));
}

Checked<SampleOutputs> SampleOutputs::open(const std::vector<Output>& outputs) {
  SampleOutputs opened;
  opened.outputs_ = outputs;
  for (const Output& output : outputs) {
    if (output.file.empty()) continue;
    if (open_file(output.file, "a") == nullptr) return cannot_write(output);
  }
  return opened;
}

Checked<void> SampleOutputs::write(const stats::Record& record,
                                   std::vector<load::SampleFile>& samples) const {
  for (const Output& output : outputs_) {
    const File file = open_file(output.file, "w");
    if (file == nullptr) return cannot_write(output);
    Checked<void> done;
    if (output.format == "csv") {
      write_rows(file.get(), samples);
    } else if (output.format == "ab-gnuplot") {
      write_gnuplot(file.get(), record, samples);
    } else if (output.format == "ab-percentiles") {
      done = write_percentages(file.get(), record.tests.front());
    } else if (output.format == "hgrm") {
      done = write_hgrm(file.get(), record);
    } else {
      write_hlog(file.get(), record);
    }
    if (!done) return done;
    if (std::fflush(file.get()) != 0) return cannot_write(output);
  }
  return {};
}

}  // namespace plimsoll::cli
