// What a token is good for: "repository:team/app:pull,push" (distribution project, token scope specification).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::oci {

// One resource and what may be done with it. The name may hold colons (a host with a port), the type a class in
// parentheses. What is not of this form (some registries use single words) is kept whole as `type`.
struct Scope {
  std::string type;
  std::string name;
  std::vector<std::string> actions;  // sorted, each once

  static Scope parse(std::string_view text);
  std::string text() const;
  friend auto operator<=>(const Scope&, const Scope&) = default;
};

// A set of scopes, kept sorted and merged, so that equal sets have equal text whatever the order they came in.
class ScopeSet {
 public:
  ScopeSet() = default;
  // Separated by spaces, as in a challenge.
  static ScopeSet parse(std::string_view text);

  void add(const Scope& scope);
  void add(const ScopeSet& other);
  bool covers(const ScopeSet& other) const;
  const std::vector<Scope>& scopes() const { return scopes_; }
  bool empty() const { return scopes_.empty(); }
  // Canonical, separated by spaces: part of a token's cache key, and OAuth2's `scope`.
  std::string text() const;
  friend auto operator<=>(const ScopeSet&, const ScopeSet&) = default;

 private:
  std::vector<Scope> scopes_;
};

}  // namespace plimsoll::oci
