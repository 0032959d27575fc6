#include "stats/series.h"

#include <algorithm>

#include "stats/percentile.h"

namespace plimsoll::stats {
namespace {

constexpr Nanos kSecond = std::chrono::seconds(1);
constexpr Nanos kTick(1);  // what is done when a second ends is in that second

std::uint32_t saturated(std::uint64_t count) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(count, UINT32_MAX));
}

Histogram second_histogram() {
  return Histogram(100, Histogram::kHighest, 2);
}

}  // namespace

Series::Series() : latencies_(second_histogram()) {
  points_.reserve(kMaxPoints);
  reset(Instant());
}

void Series::reset(Instant start) {
  start_ = start;
  width_ = kSecond;
  points_.clear();
  cells_ = 0;
  latencies_.reset();
  open(0);
}

std::size_t Series::index_of(Instant time) const {
  return time <= start_ ? 0 : static_cast<std::size_t>((time - start_) / width_);
}

Series::Point& Series::at(Instant time) {
  if (time >= open_end_) {
    close();
    while (index_of(time) >= kMaxPoints || cells_ > kMaxCells) halve();
    open(index_of(time));
  }
  return points_.back();
}

void Series::open(std::size_t index) {
  points_.resize(index + 1);
  open_begin_ = start_ + width_ * static_cast<std::int64_t>(index);
  open_end_ = open_begin_ + width_;
}

void Series::close() {
  if (latencies_.count() == 0) return;
  Point closed;
  closed.min = latencies_.min();
  closed.max = latencies_.max();
  const std::size_t last = latencies_.bucket_of(closed.max);
  std::size_t used = 0;
  for (std::size_t i = latencies_.bucket_of(closed.min); i <= last; ++i)
    used += latencies_.count_at(i) > 0 ? 1 : 0;
  closed.cells.reserve(used + 1);
  for (std::size_t i = latencies_.bucket_of(closed.min); i <= last; ++i) {
    const std::uint64_t n =
        latencies_.count_at(i) + (i + 1 == latencies_.buckets() ? latencies_.overflowed() : 0);
    if (n > 0) closed.cells.push_back({static_cast<std::uint32_t>(i), saturated(n)});
  }
  fold(points_.back(), closed);
  latencies_.reset();
}

void Series::fold(Point& into, const Point& from) {
  into.ok += from.ok;
  into.failed += from.failed;
  into.bytes += from.bytes;
  into.min = std::min(into.min, from.min);
  into.max = std::max(into.max, from.max);
  std::vector<Cell> merged;
  merged.reserve(into.cells.size() + from.cells.size());
  auto a = into.cells.begin();
  auto b = from.cells.begin();
  while (a != into.cells.end() || b != from.cells.end()) {
    if (b == from.cells.end() || (a != into.cells.end() && a->bucket < b->bucket)) {
      merged.push_back(*a++);
    } else if (a == into.cells.end() || b->bucket < a->bucket) {
      merged.push_back(*b++);
    } else {
      merged.push_back({a->bucket, saturated(std::uint64_t{a->count} + b->count)});
      ++a, ++b;
    }
  }
  merged.shrink_to_fit();
  cells_ = cells_ - into.cells.size() + merged.size();
  into.cells = std::move(merged);
}

void Series::halve() {
  width_ *= 2;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (i % 2 == 0) {
      if (i > 0) points_[i / 2] = std::move(points_[i]);
    } else {
      cells_ -= points_[i].cells.size();
      fold(points_[i / 2], points_[i]);
    }
  }
  open((points_.size() - 1) / 2);
}

void Series::good(Instant done, Nanos latency) {
  ++at(done - kTick).ok;
  latencies_.record(static_cast<std::uint64_t>(std::max<std::int64_t>(latency.count(), 0)));
}

void Series::failed(Instant done) {
  ++at(done - kTick).failed;
}

void Series::bytes(Instant from, Instant to, std::uint64_t n) {
  to -= kTick;
  Point& last = at(to);
  if (from >= open_begin_ || to <= from) {
    last.bytes += n;
    return;
  }
  from = std::max(from, start_);
  const auto whole = static_cast<double>((to - from).count());
  std::uint64_t left = n;
  const std::size_t end = std::min(index_of(to), points_.size() - 1);
  for (std::size_t i = index_of(from); i < end; ++i) {
    const Instant begin = std::max(from, start_ + width_ * static_cast<std::int64_t>(i));
    const Instant next = start_ + width_ * static_cast<std::int64_t>(i + 1);
    const double share = static_cast<double>((next - begin).count()) / whole;
    const std::uint64_t part = std::min(left, static_cast<std::uint64_t>(static_cast<double>(n) * share));
    points_[i].bytes += part;
    left -= part;
  }
  points_[end].bytes += left;
}

void Series::merge(const Series& other) {
  Series copy = other;
  close();
  copy.close();
  if (start_ == Instant()) {
    start_ = copy.start_;
    open(points_.size() - 1);
  }
  while (width_ < copy.width_) halve();
  while (copy.width_ < width_) copy.halve();
  if (copy.points_.size() > points_.size()) open(copy.points_.size() - 1);
  for (std::size_t i = 0; i < copy.points_.size(); ++i) fold(points_[i], copy.points_[i]);
  while (cells_ > kMaxCells && points_.size() > 1) halve();
}

SeriesPoint Series::summary(std::size_t index) const {
  const Point& point = points_[index];
  SeriesPoint out;
  out.t_s = seconds(width_) * static_cast<double>(index);
  out.ok = point.ok;
  out.failed = point.failed;
  out.bytes = point.bytes;
  std::uint64_t n = 0;
  for (const Cell& cell : point.cells) n += cell.count;
  if (n == 0) return out;
  const auto quantile = [&](double p) {
    const std::uint64_t rank = nearest_rank(n, p);
    std::uint64_t seen = 0;
    for (const Cell& cell : point.cells) {
      seen += cell.count;
      if (seen > rank) return std::clamp(latencies_.bucket_high(cell.bucket), point.min, point.max);
    }
    return point.max;
  };
  out.p50_s = static_cast<double>(quantile(0.5)) * 1e-9;
  out.p99_s = static_cast<double>(quantile(0.99)) * 1e-9;
  return out;
}

std::vector<SeriesPoint> Series::points(Instant end) const {
  Series copy = *this;
  if (end > start_) copy.at(end - kTick);
  copy.close();
  std::vector<SeriesPoint> out;
  out.reserve(copy.points_.size());
  for (std::size_t i = 0; i < copy.points_.size(); ++i) out.push_back(copy.summary(i));
  const SeriesPoint& last = out.back();
  const bool nothing_in_it = last.ok + last.failed + last.bytes == 0;
  if (nothing_in_it && start_ + from_seconds(last.t_s) >= end) out.pop_back();
  return out;
}

SeriesPoint Series::last_complete(Instant at) const {
  const std::size_t now_index = index_of(at);
  if (now_index > 0 && now_index - 1 < points_.size()) {
    if (now_index < points_.size() || latencies_.count() == 0) return summary(now_index - 1);
    Series copy = *this;
    copy.close();
    return copy.summary(now_index - 1);
  }
  SeriesPoint nothing;
  nothing.t_s = now_index == 0 ? 0 : seconds(width_) * static_cast<double>(now_index - 1);
  return nothing;
}

void Series::add_last_complete(Instant at, Histogram& latencies) const {
  const std::size_t now_index = index_of(at);
  if (now_index == 0 || now_index > points_.size()) return;
  for (const Cell& cell : points_[now_index - 1].cells)
    latencies.record(latencies_.bucket_high(cell.bucket), cell.count);
  if (now_index == points_.size()) latencies.merge(latencies_);
}

}  // namespace plimsoll::stats
