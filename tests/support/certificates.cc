#include "tests/support/certificates.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace plimsoll::test {

namespace {

std::shared_ptr<EVP_PKEY> make_key() {
  return {EVP_EC_gen("P-256"), &EVP_PKEY_free};
}

void require(bool good, const char* what) {
  if (!good) throw std::runtime_error(fmt::format("cannot make a certificate: {}", what));
}

void add_extension(X509* certificate, X509* issuer, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);  // NOLINT: OpenSSL's macro
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
  require(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1, value.c_str());
  X509_EXTENSION_free(extension);
}

// Version 3, a day old, without extensions and signature.
std::shared_ptr<X509> make_certificate(const std::string& name, EVP_PKEY* key, long serial,
                                       std::chrono::seconds valid_for) {
  std::shared_ptr<X509> certificate(X509_new(), &X509_free);
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -86400);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), valid_for.count());
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

template <class Write>
std::string pem(Write write) {
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> memory(BIO_new(BIO_s_mem()), &BIO_free_all);
  require(write(memory.get()) == 1, "PEM");
  BUF_MEM* text = nullptr;
  BIO_get_mem_ptr(memory.get(), &text);  // NOLINT: OpenSSL's macro
  return {text->data, text->length};
}

std::string pem_of(X509* certificate) {
  return pem([&](BIO* out) { return PEM_write_bio_X509(out, certificate); });
}

std::string pem_of(EVP_PKEY* key) {
  return pem(
      [&](BIO* out) { return PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

// "DNS:a.example,IP:127.0.0.1"
std::string alternative_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    in6_addr parsed{};
    const bool is_ip =
        inet_pton(AF_INET, name.c_str(), &parsed) == 1 || inet_pton(AF_INET6, name.c_str(), &parsed) == 1;
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", is_ip ? "IP" : "DNS", name);
  }
  return text;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "plimsoll-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& text) const {
  const std::string path = (path_ / name).string();
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TestAuthority::TestAuthority(const std::string& name)
    : key_(make_key()), certificate_(make_certificate(name, key_.get(), 1, std::chrono::hours(240))) {
  X509* certificate = certificate_.get();
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign");
  add_extension(certificate, certificate, NID_subject_key_identifier, "hash");
  require(X509_sign(certificate, key_.get(), EVP_sha256()) > 0, "signature");
  ca_file_ = folder_.write("ca.pem", pem_of(certificate));
}

TestAuthority::~TestAuthority() = default;

CertificateFiles TestAuthority::issue(const std::vector<std::string>& names,
                                      std::chrono::seconds valid_for) const {
  ++issued_;
  const auto key = make_key();
  const auto certificate = make_certificate(names.at(0), key.get(), issued_ + 1, valid_for);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate_.get()));
  add_extension(certificate.get(), certificate_.get(), NID_subject_alt_name, alternative_names(names));
  add_extension(certificate.get(), certificate_.get(), NID_ext_key_usage, "serverAuth,clientAuth");
  add_extension(certificate.get(), certificate_.get(), NID_authority_key_identifier, "keyid");
  require(X509_sign(certificate.get(), key_.get(), EVP_sha256()) > 0, "signature");
  return {folder_.write(fmt::format("{}.pem", issued_), pem_of(certificate.get())),
          folder_.write(fmt::format("{}.key", issued_), pem_of(key.get()))};
}

}  // namespace plimsoll::test
