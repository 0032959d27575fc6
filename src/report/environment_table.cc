#include "report/environment_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "report/markdown.h"
#include "report/plain.h"

namespace plimsoll::report {
namespace {

using stats::Environment;
using stats::Record;

std::vector<const Environment*> machines(const Record& record) {
  std::vector<const Environment*> out = {&record.environment};
  for (const Environment& machine : record.machines) out.push_back(&machine);
  return out;
}

std::string machine_name(const Environment& machine) {
  const std::string role = machine.role.empty() ? "machine" : machine.role;
  return machine.host.empty() ? role : fmt::format("{} ({})", role, machine.host);
}

std::string positive(double value, std::string_view unit) {
  return value > 0 ? fmt::format("{:.6g}{}", value, unit) : "";
}

std::string interfaces(const Environment& machine) {
  std::vector<std::string> parts;
  for (const stats::Interface& card : machine.network) {
    std::vector<std::string> words = {card.name};
    for (const std::string& word : {card.vendor_model, card.speed, join(card.addresses, " ")}) {
      if (!word.empty()) words.push_back(word);
    }
    parts.push_back(join(words, ", "));
  }
  return join(parts, "; ");
}

std::string disks(const Environment& machine) {
  std::vector<std::string> parts;
  for (const stats::Disk& disk : machine.disks) {
    std::vector<std::string> words = {disk.name};
    for (const std::string& word : {disk.vendor_model, disk.kind}) {
      if (!word.empty()) words.push_back(word);
    }
    if (disk.bytes > 0) words.push_back(human_size(static_cast<double>(disk.bytes)));
    parts.push_back(join(words, ", "));
  }
  return join(parts, "; ");
}

std::string limits(const Environment& machine) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : machine.limits) parts.push_back(fmt::format("{} {}", name, value));
  return join(parts, "; ");
}

struct Property {
  const char* label;
  std::function<std::string(const Environment&)> value;
};

std::vector<Property> properties() {
  return {{"vendor, model", [](const auto& m) { return m.vendor_model; }},
          {"operating system", [](const auto& m) { return m.operating_system; }},
          {"kernel", [](const auto& m) { return m.kernel; }},
          {"architecture", [](const auto& m) { return m.architecture; }},
          {"CPU", [](const auto& m) { return m.cpu; }},
          {"processors", [](const auto& m) { return positive(m.processors, ""); }},
          {"cores", [](const auto& m) { return positive(m.cores, ""); }},
          {"frequency", [](const auto& m) { return positive(m.frequency_mhz, " MHz"); }},
          {"governor", [](const auto& m) { return m.governor; }},
          {"memory",
           [](const auto& m) {
             return m.memory_bytes > 0 ? binary_size(static_cast<double>(m.memory_bytes)) : "";
           }},
          {"network", interfaces},
          {"storage", disks},
          {"limits", limits},
          {"congestion control", [](const auto& m) { return m.congestion_control; }},
          {"input and output", [](const auto& m) { return m.io; }}};
}

EnvironmentTable table(const Record& record) {
  EnvironmentTable out;
  out.machines.emplace_back("");
  for (const Environment* machine : machines(record)) out.machines.push_back(machine_name(*machine));
  return out;
}

void add_row(EnvironmentTable& out, std::vector<std::string> row) {
  const bool filled =
      std::any_of(row.begin() + 1, row.end(), [](const std::string& cell) { return !cell.empty(); });
  if (filled) out.rows.push_back(std::move(row));
}

std::string as_markdown(const EnvironmentTable& table) {
  if (table.rows.empty()) return "";
  std::vector<std::string> header;
  for (const std::string& name : table.machines) header.push_back(markdown_text(name));
  std::vector<std::vector<std::string>> rows;
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (const std::string& cell : row) cells.push_back(markdown_text(cell));
    rows.push_back(std::move(cells));
  }
  return markdown_table(header, rows, header.size()) + "\n";
}

std::string targets_markdown(const Record& record) {
  std::vector<std::vector<std::string>> rows;
  for (const stats::Target& target : record.targets) {
    std::vector<std::string> addresses;
    for (const stats::Address& address : target.addresses) {
      const std::string use =
          address.problem.empty() ? fmt::format("{} connections", address.connections) : address.problem;
      addresses.push_back(fmt::format("{} ({})", address.address, use));
    }
    rows.push_back({markdown_text(target.name), markdown_text(target.url),
                    markdown_text(join(addresses, ", ")), markdown_text(target.protocol),
                    markdown_text(target.tls), markdown_text(target.server)});
  }
  if (rows.empty()) return "";
  return markdown_table({"Target", "URL", "Addresses", "Protocol", "TLS", "Server"}, rows, 6);
}

// Steps that go to a part other than the one measured.
bool goes_to(const std::string& step, std::string_view part) {
  if (part == "token" || part == "storage" || part == "redirect") return step == part;
  return part == "upstream" ? false : step != "token" && step != "storage" && step != "redirect";
}

// Of the measure phases; of a peer that is several parts, all of them.
stats::Bytes measured_bytes(const Record& record, const stats::Peer& peer) {
  stats::Bytes sum;
  for (const stats::TestRecord& test : record.tests) {
    if (test.target != peer.target) continue;
    for (const stats::StepRecord& step : test.steps) {
      const auto parts = split(peer.part, '+');
      const bool here =
          std::ranges::any_of(parts, [&](std::string_view part) { return goes_to(step.name, part); });
      if (!here) continue;
      sum.sent += step.bytes.sent;
      sum.received += step.bytes.received;
    }
  }
  return sum;
}

std::string round_trip_text(const stats::RoundTrip& time) {
  if (time.count == 0) return "";
  return fmt::format("{} ({} to {})", human_duration(time.mean), human_duration(time.min),
                     human_duration(time.max));
}

// The table of who talked to whom; the page draws it.
std::string peers_markdown(const Record& record) {
  std::vector<std::vector<std::string>> rows;
  std::set<std::pair<std::string, std::string>>
      counted;  // bytes are known by target and part, not by address
  for (const stats::Peer& peer : record.peers) {
    const bool first = counted.emplace(peer.target, peer.part).second;
    const stats::Bytes bytes = measured_bytes(record, peer);
    const auto size = [&](std::uint64_t value) {
      return first ? human_size(static_cast<double>(value)) : std::string("in the figures above");
    };
    rows.push_back({markdown_text(peer.part), markdown_text(peer.target), markdown_text(peer.origin),
                    markdown_text(peer.address), markdown_text(join(peer.from, ", ")),
                    markdown_text(peer.proxy), fmt::format("{}", peer.connections), size(bytes.sent),
                    size(bytes.received), round_trip_text(peer.round_trip_s)});
  }
  if (rows.empty()) return "";
  return "\nWho talked to whom (bytes: of the measured operations; round trips: of handshakes)\n\n" +
         markdown_table({"Part", "Target", "Origin", "Address", "From", "Proxy", "Connections", "Sent",
                         "Received", "Round trip"},
                        rows, 6);
}

// What one operation moves, where the tests say it.
std::string data_size_markdown(const Record& record) {
  std::set<std::uint64_t> sizes;
  for (const stats::TestRecord& test : record.tests) {
    const auto found = test.details.find("data_size");
    if (const auto size = found == test.details.end() ? std::nullopt : parse_u64(found->second))
      sizes.insert(*size);
  }
  std::vector<std::string> words;
  for (const std::uint64_t size : sizes) words.push_back(human_size(static_cast<double>(size)));
  return words.empty() ? "" : fmt::format("DATA_SIZE: {}\n\n", join(words, ", "));
}

}  // namespace

EnvironmentTable hardware(const Record& record) {
  EnvironmentTable out = table(record);
  for (const Property& property : properties()) {
    std::vector<std::string> row = {property.label};
    for (const Environment* machine : machines(record)) row.push_back(property.value(*machine));
    add_row(out, std::move(row));
  }
  return out;
}

EnvironmentTable versions(const Record& record) {
  EnvironmentTable out = table(record);
  std::set<std::string> names;
  for (const Environment* machine : machines(record)) {
    for (const auto& [name, version] : machine->versions) names.insert(name);
  }
  for (const std::string& name : names) {
    std::vector<std::string> row = {name};
    for (const Environment* machine : machines(record)) {
      const auto found = machine->versions.find(name);
      row.push_back(found == machine->versions.end() ? "" : found->second);
    }
    add_row(out, std::move(row));
  }
  return out;
}

std::string environment_markdown(const Record& record) {
  return as_markdown(hardware(record)) + as_markdown(versions(record)) + data_size_markdown(record) +
         targets_markdown(record) + peers_markdown(record);
}

}  // namespace plimsoll::report
