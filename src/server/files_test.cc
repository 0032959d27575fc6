// Static files: nothing outside the directory, validators, ranges, codings.
#include <gtest/gtest.h>

#include <fstream>

#include "server/static_files.h"
#include "server/test_client.h"

namespace plimsoll::server {
namespace {

namespace fs = std::filesystem;

class FilesTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(directory_.path() + "/public/sub");
    write("public/hello.txt", "hello, world\n");
    write("public/big.txt", std::string(100'000, 'a'));
    write("public/sub/index.html", "<p>sub");
    write("secret.txt", "secret");
    fs::create_symlink("../secret.txt", directory_.path() + "/public/out.txt");
    fs::create_symlink("hello.txt", directory_.path() + "/public/in.txt");
    files_ = std::move(*StaticFiles::open("/", directory_.path() + "/public", caller_.workers));
  }
  void write(const std::string& name, std::string_view bytes) {
    std::ofstream(directory_.path() + "/" + name, std::ios::binary) << bytes;
  }
  Reply get(const std::string& target, std::string_view fields = {}) {
    return caller_.call(*files_, "GET", target, fields);
  }

  TemporaryDirectory directory_;
  Caller caller_;
  std::unique_ptr<StaticFiles> files_;
};

TEST_F(FilesTest, ServesAFile) {
  const Reply reply = get("/hello.txt?ignored=1");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "hello, world\n");
  EXPECT_EQ(reply.field("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(get("/in.txt").body, "hello, world\n");
  EXPECT_EQ(get("//./hello.txt").status, 200);
}

TEST_F(FilesTest, SeesChangesAtOnce) {
  EXPECT_EQ(get("/hello.txt").body, "hello, world\n");
  write("public/hello.txt", "changed");
  EXPECT_EQ(get("/hello.txt").body, "changed");
  fs::remove(directory_.path() + "/public/hello.txt");
  EXPECT_EQ(get("/hello.txt").status, 404);
}

TEST_F(FilesTest, NothingOutsideIsServed) {
  for (const char* target :
       {"/../secret.txt", "/%2e%2e/secret.txt", "/sub/..%2f..%2fsecret.txt", "/out.txt", "/..%5csecret.txt",
        "/hello.txt%00.html", "/%2e%2e%2fsecret.txt", "/absent", "/%zz"}) {
    const Reply reply = get(target);
    EXPECT_EQ(reply.status, 404) << target;
    EXPECT_FALSE(reply.body.contains("secret")) << target;
  }
}

TEST_F(FilesTest, ValidatorsSaveTheBody) {
  const Reply first = get("/hello.txt");
  const std::string etag = first.field("ETag");
  EXPECT_EQ(get("/hello.txt", "If-None-Match: " + etag + "\r\n").status, 304);
  EXPECT_EQ(get("/hello.txt", "If-None-Match: \"x\", W/" + etag + "\r\n").status, 304);
  EXPECT_EQ(get("/hello.txt", "If-None-Match: \"x\"\r\n").status, 200);
  EXPECT_EQ(get("/hello.txt", "If-Modified-Since: " + first.field("Last-Modified") + "\r\n").status, 304);
  EXPECT_EQ(get("/hello.txt", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n").status, 200);
}

TEST_F(FilesTest, Ranges) {
  const Reply part = get("/big.txt", "Range: bytes=99990-\r\nAccept-Encoding: gzip\r\n");
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.field("Content-Range"), "bytes 99990-99999/100000");
  EXPECT_EQ(part.body, std::string(10, 'a'));
  EXPECT_EQ(get("/big.txt", "Range: bytes=100000-\r\n").status, 416);
  EXPECT_EQ(get("/big.txt", "Range: bytes=0-1\r\nIf-Range: \"other\"\r\n").status, 200);
}

TEST_F(FilesTest, CodesWhatGainsByIt) {
  const Reply gzip = get("/big.txt", "Accept-Encoding: deflate;q=0.5, gzip\r\n");
  EXPECT_EQ(gzip.field("Content-Encoding"), "gzip");
  EXPECT_EQ(gzip.field("Vary"), "Accept-Encoding");
  EXPECT_LT(gzip.body.size(), 1000U);
  EXPECT_EQ(gzip.body.substr(0, 2), "\x1f\x8b");
  EXPECT_NE(gzip.field("ETag"), get("/big.txt").field("ETag"));
  EXPECT_EQ(get("/big.txt", "Accept-Encoding: deflate\r\n").field("Content-Encoding"), "deflate");
  EXPECT_EQ(get("/big.txt", "Accept-Encoding: gzip;q=0\r\n").field("Content-Encoding"), "");
  EXPECT_EQ(get("/hello.txt", "Accept-Encoding: gzip\r\n").field("Content-Encoding"), "");
}

TEST_F(FilesTest, DirectoriesHaveAnIndexOrAListing) {
  EXPECT_EQ(get("/sub").status, 301);
  EXPECT_EQ(get("/sub").field("Location"), "/sub/");
  EXPECT_EQ(get("/sub/").body, "<p>sub");
  const Reply listing = get("/");
  EXPECT_EQ(listing.status, 200);
  EXPECT_TRUE(listing.body.contains("href=\"./hello.txt\"") && listing.body.contains("href=\"./sub/\""));
}

TEST_F(FilesTest, OtherMethods) {
  const Reply options = caller_.call(*files_, "OPTIONS", "/hello.txt");
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.field("Allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(caller_.call(*files_, "PUT", "/hello.txt", {}, "x").status, 405);
}

TEST(HttpDate, ReadsAllThreeFormsAndWritesOne) {
  EXPECT_EQ(http::http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  for (const char* text :
       {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"}) {
    EXPECT_EQ(http::parse_http_date(text), 784111777) << text;
  }
  for (const char* text : {"", "Sun, 06 Nov 1994 08:49:37", "Sun, 99 Nov 1994 08:49:37 GMT", "x"}) {
    EXPECT_FALSE(http::parse_http_date(text)) << text;
  }
}

}  // namespace
}  // namespace plimsoll::server
