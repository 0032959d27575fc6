// Option types that commands share: durations, sizes, lists, each refused in one line that names the option and the
// form that is accepted.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "http/protocols.h"
#include "net/backend.h"

namespace plimsoll::cli {

CLI::Option* add_duration(CLI::App& app, const std::string& names, Nanos& into, const std::string& help);
CLI::Option* add_duration(CLI::App& app, const std::string& names, std::optional<Nanos>& into,
                          const std::string& help);
CLI::Option* add_size(CLI::App& app, const std::string& names, std::uint64_t& into, const std::string& help);
// Whole numbers from `least` on.
CLI::Option* add_count(CLI::App& app, const std::string& names, std::uint64_t& into, std::uint64_t least,
                       const std::string& help);
CLI::Option* add_count(CLI::App& app, const std::string& names, int& into, int least,
                       const std::string& help);
// Operations or requests a second: above 0, at most 100 million.
CLI::Option* add_rate(CLI::App& app, const std::string& names, std::optional<double>& into,
                      const std::string& help);

// --metrics ADDR:PORT, where a run's figures are served while it runs.
void add_metrics(CLI::App& app, std::string& into);

// A check: one of these words.
CLI::Validator one_of(std::vector<std::string> words);

// "FORMAT" or "FORMAT=FILE", repeatable.
struct Output {
  std::string format;
  std::string file;  // empty: stdout
};
CLI::Option* add_outputs(CLI::App& app, const std::string& names, std::vector<Output>& into,
                         const std::vector<std::string>& formats, const std::string& help);

// Options of every command that opens connections.
struct ConnectionSettings {
  std::string cacert;
  std::string cert;
  std::string key;
  bool insecure = false;
  std::vector<std::string> connect_to;
  std::string congestion;
  std::vector<std::string> headers;
  net::IoKind io = net::IoKind::automatic;
  bool http1 = false;
  bool http2 = false;
  int streams = 1;
};
void add_connection_options(CLI::App& app, ConnectionSettings& into);
void add_io(CLI::App& app, net::IoKind& into);
// What the options ask for, or `otherwise`; a refusal where they contradict each other.
Checked<http::Protocols> protocols_of(const ConnectionSettings& settings, http::Protocols otherwise);

// A URL as it may be shown: user information in it is masked.
std::string masked_url(std::string_view url);

// A command line for the record, with what follows -A and Authorization masked.
std::string masked_command_line(const std::vector<std::string>& arguments);

}  // namespace plimsoll::cli
