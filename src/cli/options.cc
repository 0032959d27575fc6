#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/units.h"

namespace plimsoll::cli {
namespace {

// CLI11 prints "NAME: message"; what() of a ValidationError is the whole line.
template <class Value>
CLI::callback_t parsed_by(Checked<Value> (*parse)(std::string_view), Value& into, const std::string& names) {
  return [parse, &into, names](const CLI::results_t& values) {
    auto value = parse(values.back());
    if (!value) throw CLI::ValidationError(names, value.error().message);
    into = *value;
    return true;
  };
}

CLI::Option* add_parsed(CLI::App& app, const std::string& names, CLI::callback_t callback,
                        const std::string& help, const std::string& type) {
  CLI::Option* option = app.add_option(names, std::move(callback), help);
  option->type_name(type)->type_size(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  return option;
}

}  // namespace

CLI::Option* add_duration(CLI::App& app, const std::string& names, Nanos& into, const std::string& help) {
  return add_parsed(app, names, parsed_by(&parse_duration, into, names), help, "DURATION");
}

CLI::Option* add_duration(CLI::App& app, const std::string& names, std::optional<Nanos>& into,
                          const std::string& help) {
  return add_parsed(
      app, names,
      [&into, names](const CLI::results_t& values) {
        auto value = parse_duration(values.back());
        if (!value) throw CLI::ValidationError(names, value.error().message);
        into = *value;
        return true;
      },
      help, "DURATION");
}

CLI::Option* add_size(CLI::App& app, const std::string& names, std::uint64_t& into, const std::string& help) {
  return add_parsed(app, names, parsed_by(&parse_size, into, names), help, "SIZE");
}

CLI::Option* add_count(CLI::App& app, const std::string& names, std::uint64_t& into, std::uint64_t least,
                       const std::string& help) {
  return add_parsed(
      app, names,
      [&into, least, names](const CLI::results_t& values) {
        const auto value = parse_u64(values.back());
        if (!value || *value < least) {
          throw CLI::ValidationError(
              names, fmt::format("'{}' is not a whole number of at least {}", values.back(), least));
        }
        into = *value;
        return true;
      },
      help, "N");
}

CLI::Option* add_count(CLI::App& app, const std::string& names, int& into, int least,
                       const std::string& help) {
  return add_parsed(
      app, names,
      [&into, least, names](const CLI::results_t& values) {
        constexpr std::uint64_t kMost = 1'000'000;
        const auto value = parse_u64(values.back());
        if (!value || *value < static_cast<std::uint64_t>(least) || *value > kMost) {
          throw CLI::ValidationError(
              names, fmt::format("'{}' is not a whole number from {} to {}", values.back(), least, kMost));
        }
        into = static_cast<int>(*value);
        return true;
      },
      help, "N");
}

CLI::Option* add_rate(CLI::App& app, const std::string& names, std::optional<double>& into,
                      const std::string& help) {
  return add_parsed(
      app, names,
      [&into, names](const CLI::results_t& values) {
        const auto value = parse_double(values.back());
        if (!value || *value <= 0 || *value > 1e8) {
          throw CLI::ValidationError(
              names,
              fmt::format("'{}' is not a rate: expected a number a second, above 0 and at most 100000000",
                          values.back()));
        }
        into = value;
        return true;
      },
      help, "PER_SECOND");
}

void add_metrics(CLI::App& app, std::string& into) {
  app.add_option("--metrics", into,
                 "Serve the figures for Prometheus while it runs, at /metrics: ADDR:PORT, [V6]:PORT or PORT "
                 "(loopback); 0 picks one")
      ->type_name("ADDR:PORT");
}

CLI::Validator one_of(std::vector<std::string> words) {
  return {[words = std::move(words)](const std::string& given) {
            if (std::ranges::find(words, given) != words.end()) return std::string();
            return fmt::format("'{}' is not one of {}", given, fmt::join(words, ", "));
          },
          ""};
}

CLI::Option* add_outputs(CLI::App& app, const std::string& names, std::vector<Output>& into,
                         const std::vector<std::string>& formats, const std::string& help) {
  CLI::Option* option = app.add_option(
      names,
      [&into, formats, names](const CLI::results_t& values) {
        for (const std::string& value : values) {
          const auto equals = value.find('=');
          Output output{value.substr(0, equals), equals == std::string::npos ? "" : value.substr(equals + 1)};
          if (std::ranges::find(formats, output.format) == formats.end()) {
            throw CLI::ValidationError(names,
                                       fmt::format("'{}' is not an output format: expected one of {}, each "
                                                   "also as FORMAT=FILE",
                                                   output.format, fmt::join(formats, ", ")));
          }
          into.push_back(std::move(output));
        }
        return true;
      },
      help);
  option->type_name("FORMAT[=FILE]")
      ->type_size(1)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return option;
}

void add_io(CLI::App& app, net::IoKind& into) {
  add_parsed(
      app, "--io",
      [&into](const CLI::results_t& values) {
        const std::string& value = values.back();
        if (value == "auto") {
          into = net::IoKind::automatic;
        } else if (value == "uring") {
          into = net::IoKind::uring;
        } else if (value == "epoll") {
          into = net::IoKind::epoll;
        } else {
          throw CLI::ValidationError("--io", fmt::format("'{}' is not one of auto, uring, epoll", value));
        }
        return true;
      },
      "Event loop back end: auto (io_uring where the system allows it), uring or epoll", "KIND");
}

void add_connection_options(CLI::App& app, ConnectionSettings& into) {
  app.add_option("--cacert", into.cacert, "Verify the server's certificate against this file (PEM)")
      ->type_name("FILE");
  app.add_option("--cert", into.cert, "Client certificate (PEM)")->type_name("FILE");
  app.add_option("--key", into.key, "Key of the client certificate (PEM)")->type_name("FILE");
  app.add_flag("--insecure", into.insecure, "Do not verify the server's certificate");
  app.add_option("--connect-to", into.connect_to,
                 "Connect to HOST2:PORT2 in place of HOST1:PORT1 (as curl does)")
      ->type_name("HOST1:PORT1:HOST2:PORT2")
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_option("--congestion", into.congestion, "TCP congestion control of our sockets (cubic, reno, bbr)")
      ->type_name("NAME");
  app.add_option("-H,--header", into.headers, "Add a header to every request; repeatable")
      ->type_name("'NAME: VALUE'")
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_flag("--http2", into.http2,
               "Speak HTTP/2 and nothing else: over TLS by ALPN, in clear by prior knowledge");
  app.add_flag("--http1", into.http1, "Speak HTTP/1.1 and nothing else");
  add_io(app, into.io);
}

Checked<http::Protocols> protocols_of(const ConnectionSettings& settings, http::Protocols otherwise) {
  if (settings.http1 && settings.http2) return Refusal{"--http1 and --http2 exclude each other"};
  if (settings.streams > 1 && !settings.http2)
    return Refusal{"--streams: several requests at once on a connection need --http2"};
  if (settings.http1) return http::Protocols::http1;
  return settings.http2 ? http::Protocols::http2 : otherwise;
}

std::string masked_url(std::string_view url) {
  const auto scheme = url.find("://");
  if (scheme == std::string_view::npos) return std::string(url);
  const auto start = scheme + 3;
  const auto at = url.substr(0, url.find_first_of("/?#", start)).rfind('@');
  if (at == std::string_view::npos || at < start) return std::string(url);
  return fmt::format("{}***{}", url.substr(0, start), url.substr(at));
}

namespace {

// Options whose value is a secret; of a proxy's the part before its "@" is.
constexpr std::array<std::string_view, 9> kSecret{"-A",       "-P",           "-C", "--auth-creds", "--auth",
                                                  "--cookie", "--proxy-auth", "-X", "--proxy"};

// "user:***", "name=***", "***@proxy:3128".
std::string masked_value(std::string_view option, std::string_view value) {
  if (option == "-X" || option == "--proxy") {
    const auto at = value.rfind('@');
    return at == std::string_view::npos ? std::string(value) : fmt::format("***{}", value.substr(at));
  }
  const auto end = value.find_first_of(":=");
  return end == std::string_view::npos ? "***" : fmt::format("{}{}***", value.substr(0, end), value[end]);
}

// A header's value may be a secret: "Authorization: x", "-HCookie: x", "--header=Cookie: x".
std::string masked_header(const std::string& argument) {
  std::string_view name = argument;
  for (const std::string_view option : {"-H", "--header="}) {
    if (name.starts_with(option)) name.remove_prefix(option.size());
  }
  for (const std::string_view secret : {"authorization:", "proxy-authorization:", "cookie:"}) {
    if (istarts_with(name, secret)) return argument.substr(0, argument.find(':')) + ": ***";
  }
  return masked_url(argument);
}

// "-Auser:password", "--auth=user:password"; anything else as masked_header() has it.
std::string masked_argument(const std::string& argument) {
  for (const std::string_view option : kSecret) {
    if (!argument.starts_with(option) || argument.size() == option.size()) continue;
    std::string_view value = std::string_view(argument).substr(option.size());
    const bool is_long = option.starts_with("--");
    if (is_long && value.front() != '=') continue;
    if (is_long) value.remove_prefix(1);
    return fmt::format("{}{}{}", option, is_long ? "=" : "", masked_value(option, value));
  }
  return masked_header(argument);
}

}  // namespace

std::string masked_command_line(const std::vector<std::string>& arguments) {
  std::string line;
  std::string_view secret;  // the option whose value comes next
  for (const std::string& argument : arguments) {
    const std::string shown = secret.empty() ? masked_argument(argument) : masked_value(secret, argument);
    const auto* const option = std::ranges::find(kSecret, argument);
    secret = secret.empty() && option != kSecret.end() ? *option : std::string_view();
    const bool plain =
        !shown.empty() && shown.find_first_of(" \t\n\"'$&|;<>()*?[]{}\\`!#~") == std::string::npos;
    if (!line.empty()) line += ' ';
    if (plain) {
      line += shown;
    } else {
      std::string quoted;
      for (const char c : shown) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
      line += "'" + quoted + "'";
    }
  }
  return line;
}

}  // namespace plimsoll::cli
