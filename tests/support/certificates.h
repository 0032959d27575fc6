// Certificates for tests, made as they are needed: authorities, servers' and clients' certificates, expired ones.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

struct evp_pkey_st;
struct x509_st;

namespace plimsoll::test {

// A folder that goes with its object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }
  // The path of a file in it that holds `text`.
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

// PEM files of a certificate and its key.
struct CertificateFiles {
  std::string certificate;
  std::string key;
};

// A certificate authority whose files live as long as it does.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name = "Test Authority");
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;
  ~TestAuthority();

  // The authority's own certificate, for --cacert.
  const std::string& ca_file() const { return ca_file_; }
  // For `names` (DNS names and IP literals), from a day before until `valid_for` after now; negative is expired.
  CertificateFiles issue(const std::vector<std::string>& names,
                         std::chrono::seconds valid_for = std::chrono::hours(24)) const;

 private:
  TemporaryFolder folder_;
  std::string ca_file_;
  std::shared_ptr<evp_pkey_st> key_;
  std::shared_ptr<x509_st> certificate_;
  mutable int issued_ = 0;
};

}  // namespace plimsoll::test
