#include "oci/content.h"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <set>
#include <string>

namespace plimsoll::oci {
namespace {

constexpr std::uint64_t kMiB = 1U << 20U;

Pattern pattern_of(std::uint64_t size, std::uint64_t seed = 1) {
  auto pattern = Pattern::make(size, seed);
  EXPECT_TRUE(pattern);
  return std::move(*pattern);
}

LayerShape shape_of(const Pattern& pattern, std::uint64_t size, std::uint64_t member = LayerShape::kMember) {
  auto shape = LayerShape::make(pattern, size, member);
  EXPECT_TRUE(shape);
  return std::move(*shape);
}

std::string whole(const Layer& layer) {
  std::string out;
  out.reserve(layer.size());
  for (auto piece = layer.piece(0); !piece.bytes.empty(); piece = layer.piece(out.size())) out += piece.bytes;
  return out;
}

// What `tar` prints of an archive given on its standard input; its exit status is appended.
std::string listed_by_tar(const std::string& archive) {
  const int in = memfd_create("archive", 0);
  const int out = memfd_create("listing", 0);
  for (std::size_t at = 0; at < archive.size();) {
    const auto written = write(in, archive.data() + at, archive.size() - at);
    if (written <= 0) return "write failed";
    at += static_cast<std::size_t>(written);
  }
  lseek(in, 0, SEEK_SET);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, out, 2);
  char name[] = "tar";
  char mode[] = "-tvf";
  char from[] = "-";
  char* arguments[] = {name, mode, from, nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, "tar", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  if (error == 0) waitpid(child, &status, 0);
  std::string text(65536, '\0');
  const auto size = pread(out, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  close(in);
  close(out);
  return text + "status " + std::to_string(status);
}

TEST(Layer, SizesAreExactAndDigestsAgree) {
  const Pattern pattern = pattern_of(kMiB);
  LayerSource source(7, 0);
  for (const std::uint64_t size : {2048UL, 2049UL, 2559UL, 2560UL, 4096UL, 100'000UL, 1024UL * 1023, kMiB,
                                   kMiB + 1, 3 * kMiB + 511, 10 * kMiB}) {
    const LayerShape shape = shape_of(pattern, size);
    Layer layer;
    for (int i = 0; i < 3; ++i) {
      source.next(shape, layer);
      const std::string bytes = whole(layer);
      ASSERT_EQ(bytes.size(), size);
      EXPECT_EQ(Digest::of(bytes), layer.digest()) << size;
      EXPECT_EQ(layer.size(), size);
    }
  }
}

TEST(Layer, PiecesAreTheSameBytesFromAnyOffset) {
  const Pattern pattern = pattern_of(8192);
  const LayerShape shape = shape_of(pattern, 30'000, 10'240);
  Layer layer;
  LayerSource(1, 2).next(shape, layer);
  const std::string bytes = whole(layer);
  for (std::uint64_t offset = 0; offset < bytes.size(); ++offset) {
    const auto piece = layer.piece(offset);
    ASSERT_FALSE(piece.bytes.empty());
    ASSERT_LE(offset + piece.bytes.size(), bytes.size());
    ASSERT_EQ(piece.bytes, std::string_view(bytes).substr(offset, piece.bytes.size())) << offset;
  }
  EXPECT_TRUE(layer.piece(bytes.size()).bytes.empty());
}

TEST(Layer, PiecesCanBeReadFromTheirFile) {
  const Pattern pattern = pattern_of(8192);
  const LayerShape shape = shape_of(pattern, 30'000);
  Layer layer;
  LayerSource(1, 2).next(shape, layer);
  std::uint64_t from_file = 0;
  for (std::uint64_t at = 0; at < layer.size();) {
    const auto piece = layer.piece(at);
    if (piece.file >= 0) {
      std::string read(piece.bytes.size(), '\0');
      ASSERT_EQ(pread(piece.file, read.data(), read.size(), static_cast<off_t>(piece.file_offset)),
                static_cast<ssize_t>(read.size()));
      EXPECT_EQ(read, piece.bytes);
      from_file += piece.bytes.size();
    }
    at += piece.bytes.size();
  }
  EXPECT_EQ(from_file, layer.size() - 512 - (layer.size() - shape.unique_offset()));
}

TEST(Layer, IsAnArchiveThatTarReads) {
  const Pattern pattern = pattern_of(kMiB);
  Layer layer;
  for (const std::uint64_t size : {2048UL, 2100UL, kMiB, kMiB + 700}) {
    const LayerShape shape = shape_of(pattern, size);
    LayerSource(1, 0).next(shape, layer);
    const std::string listing = listed_by_tar(whole(layer));
    EXPECT_TRUE(listing.ends_with("plimsoll/000000.bin\nstatus 0")) << listing;
    const auto data = size / 512 * 512 - 1536;
    EXPECT_NE(listing.find(" " + std::to_string(data) + " "), std::string::npos) << listing;
  }
}

TEST(Layer, LargeArchivesAreSplitIntoMembers) {
  const Pattern pattern = pattern_of(8192);
  // One block before, at and after each place where the last member would begin.
  for (const std::uint64_t blocks : {40UL, 41UL, 42UL, 43UL, 44UL, 60UL, 61UL, 62UL, 63UL, 64UL, 65UL}) {
    const LayerShape shape = shape_of(pattern, blocks * 512, 10'240);
    Layer layer;
    LayerSource(1, 0).next(shape, layer);
    const std::string bytes = whole(layer);
    EXPECT_EQ(bytes.size(), blocks * 512);
    EXPECT_EQ(Digest::of(bytes), layer.digest());
    const std::string listing = listed_by_tar(bytes);
    EXPECT_TRUE(listing.ends_with("status 0")) << listing;
    EXPECT_NE(listing.find("plimsoll/000001.bin"), std::string::npos) << listing;
    EXPECT_EQ(listing.find("tar: "), std::string::npos) << listing;
  }
}

TEST(Layer, EndsInTheUniqueBytes) {
  const Pattern pattern = pattern_of(kMiB);
  const LayerShape shape = shape_of(pattern, kMiB);
  LayerSource source(1, 0);
  Layer first;
  Layer second;
  source.next(shape, first);
  source.next(shape, second);
  const std::string a = whole(first);
  const std::string b = whole(second);
  EXPECT_EQ(a.substr(0, shape.unique_offset()), b.substr(0, shape.unique_offset()));
  EXPECT_NE(a.substr(shape.unique_offset()), b.substr(shape.unique_offset()));
  EXPECT_LE(kMiB - shape.unique_offset(), 4096U);
}

TEST(Layer, IsIncompressible) {
  const Pattern pattern = pattern_of(kMiB);
  const LayerShape shape = shape_of(pattern, kMiB);
  Layer layer;
  LayerSource(3, 0).next(shape, layer);
  const std::string bytes = whole(layer);
  uLongf packed = compressBound(bytes.size());
  std::string out(packed, '\0');
  ASSERT_EQ(compress2(reinterpret_cast<Bytef*>(out.data()), &packed,
                      reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), 9),
            Z_OK);
  EXPECT_GT(static_cast<double>(packed), 0.98 * static_cast<double>(bytes.size()));
}

TEST(Layer, PrefixDoesNotRepeatWithinEightMiB) {
  const Pattern pattern = pattern_of(100 * kMiB);
  EXPECT_EQ(pattern.memory(), 8 * kMiB);
  std::set<std::string_view> seen;
  const auto bytes = pattern.from(0).bytes;
  for (std::size_t at = 0; at < bytes.size(); at += 4096) {
    EXPECT_TRUE(seen.insert(bytes.substr(at, 64)).second);
  }
}

TEST(LayerSource, NeverRepeatsAmongSourcesAndShapes) {
  const Pattern pattern = pattern_of(8192);
  const LayerShape small = shape_of(pattern, 4096);
  const LayerShape large = shape_of(pattern, 8192);
  std::set<std::string> digests;
  Layer layer;
  for (std::uint64_t stream = 0; stream < 20; ++stream) {
    LayerSource source(5, stream);
    for (int i = 0; i < 50; ++i) {
      source.next(small, layer);
      EXPECT_TRUE(digests.insert(layer.digest().text()).second);
      source.next(large, layer);
      EXPECT_TRUE(digests.insert(layer.digest().text()).second);
    }
  }
}

TEST(LayerSource, IsDeterministic) {
  const Pattern pattern = pattern_of(8192, 9);
  const Pattern again = pattern_of(8192, 9);
  const Pattern other = pattern_of(8192, 10);
  const LayerShape shape = shape_of(pattern, 8192);
  const LayerShape shape_again = shape_of(again, 8192);
  const LayerShape shape_other = shape_of(other, 8192);
  Layer a;
  Layer b;
  Layer c;
  Layer d;
  LayerSource(1, 1).next(shape, a);
  LayerSource(1, 1).next(shape_again, b);
  LayerSource(1, 1).next(shape_other, c);
  LayerSource(2, 1).next(shape, d);
  EXPECT_EQ(a.digest(), b.digest());
  EXPECT_NE(a.digest(), c.digest());
  EXPECT_NE(a.digest(), d.digest());
}

TEST(LayerSource, SameContentIsTheSameEverywhere) {
  const Pattern pattern = pattern_of(8192);
  const LayerShape shape = shape_of(pattern, 8192);
  LayerSource first(4, 0, Uniqueness::same);
  LayerSource second(4, 9, Uniqueness::same);
  Layer a;
  Layer b;
  Layer c;
  first.next(shape, a);
  first.next(shape, b);
  second.next(shape, c);
  EXPECT_EQ(a.digest(), b.digest());
  EXPECT_EQ(a.digest(), c.digest());
  EXPECT_EQ(Digest::of(whole(c)), c.digest());
}

TEST(LayerShape, RefusesWhatIsNoArchive) {
  const Pattern pattern = pattern_of(8192);
  EXPECT_FALSE(LayerShape::make(pattern, 0));
  EXPECT_FALSE(LayerShape::make(pattern, 2047));
  EXPECT_TRUE(LayerShape::make(pattern, 2048));
  const auto refused = LayerShape::make(pattern, ~0ULL);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("2048 bytes to 1 TiB"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::oci
