// What content costs: a unique layer or image, whatever its size, and the hashing of what is pulled.
#include <benchmark/benchmark.h>

#include <optional>
#include <string>

#include "oci/image.h"

namespace plimsoll::oci {
namespace {

const Pattern& pattern() {
  static const Checked<Pattern> kPattern = Pattern::make(Pattern::kLargest, 1);
  return *kPattern;
}

void unique_layer(benchmark::State& state) {
  const auto shape = LayerShape::make(pattern(), static_cast<std::uint64_t>(state.range(0)));
  LayerSource source(1, 0);
  Layer layer;
  for (auto _ : state) {
    source.next(*shape, layer);
    benchmark::DoNotOptimize(layer.digest());
  }
}
BENCHMARK(unique_layer)->Arg(1 << 20)->Arg(100 << 20);

void unique_image(benchmark::State& state) {
  const auto shape = ImageShape::make(
      pattern(), std::vector<std::uint64_t>(static_cast<std::size_t>(state.range(0)), 1 << 20));
  LayerSource source(1, 0);
  Image image;
  for (auto _ : state) {
    next_image(source, *shape, image);
    benchmark::DoNotOptimize(image.manifest_digest);
  }
}
BENCHMARK(unique_image)->Arg(1)->Arg(10);

void verify(benchmark::State& state) {
  const std::string bytes(1 << 20, 'x');
  for (auto _ : state) {
    DigestVerifier verifier(Digest{});
    verifier.update(bytes);
    benchmark::DoNotOptimize(verifier.matches());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK(verify);

}  // namespace
}  // namespace plimsoll::oci
