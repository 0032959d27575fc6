#include "oci/scope.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"

namespace plimsoll::oci {
namespace {

void insert_action(std::vector<std::string>& actions, std::string_view action) {
  const auto at = std::ranges::lower_bound(actions, action);
  if (at == actions.end() || *at != action) actions.emplace(at, action);
}

auto key(const Scope& scope) {
  return std::tie(scope.type, scope.name);
}

}  // namespace

Scope Scope::parse(std::string_view text) {
  const auto first = text.find(':');
  const auto last = text.rfind(':');
  if (first == std::string_view::npos || first == last) return {std::string(text), {}, {}};
  Scope scope{std::string(text.substr(0, first)), std::string(text.substr(first + 1, last - first - 1)), {}};
  for (const auto action : split(text.substr(last + 1), ',')) {
    if (!action.empty()) insert_action(scope.actions, action);
  }
  return scope;
}

std::string Scope::text() const {
  if (name.empty() && actions.empty()) return type;
  std::string out = type + ":" + name + ":";
  for (std::size_t i = 0; i < actions.size(); ++i) out += (i > 0 ? "," : "") + actions[i];
  return out;
}

ScopeSet ScopeSet::parse(std::string_view text) {
  ScopeSet set;
  for (const auto word : split(text, ' ')) {
    if (!word.empty()) set.add(Scope::parse(word));
  }
  return set;
}

void ScopeSet::add(const Scope& scope) {
  const auto at = std::ranges::lower_bound(scopes_, key(scope), {}, key);
  if (at == scopes_.end() || key(*at) != key(scope)) {
    scopes_.insert(at, scope);
  } else {
    for (const auto& action : scope.actions) insert_action(at->actions, action);
  }
}

void ScopeSet::add(const ScopeSet& other) {
  for (const auto& scope : other.scopes_) add(scope);
}

bool ScopeSet::covers(const ScopeSet& other) const {
  return std::ranges::all_of(other.scopes_, [&](const Scope& wanted) {
    const auto at = std::ranges::lower_bound(scopes_, key(wanted), {}, key);
    return at != scopes_.end() && key(*at) == key(wanted) &&
           (std::ranges::includes(at->actions, wanted.actions) ||
            std::ranges::binary_search(at->actions, std::string_view("*")));
  });
}

std::string ScopeSet::text() const {
  std::string out;
  for (const auto& scope : scopes_) {
    if (!out.empty()) out += ' ';
    out += scope.text();
  }
  return out;
}

}  // namespace plimsoll::oci
