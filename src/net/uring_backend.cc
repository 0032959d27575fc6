#include "net/uring_backend.h"

#include <poll.h>

#include <utility>

#include "net/loop.h"
#include "net/uring_socket.h"

namespace plimsoll::net {

std::unique_ptr<Stream> UringBackend::adopt(Loop& loop, int socket, bool connecting) {
  return std::make_unique<UringSocket>(loop, *this, socket, connecting);
}

UringKey UringBackend::take_slot() {
  if (free_slots_.empty()) {
    slots_.emplace_back();
    return {static_cast<std::uint32_t>(slots_.size() - 1), 0, UringOp::none};
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return {slot, slots_[slot].generation, UringOp::none};
}

void UringBackend::release_slot(std::uint32_t slot) {
  slots_[slot] = {.generation = slots_[slot].generation + 1};
  free_slots_.push_back(slot);
}

UringBackend::Slot* UringBackend::find(UringKey key) {
  if (key.slot >= slots_.size() || slots_[key.slot].generation != key.generation) return nullptr;
  return &slots_[key.slot];
}

UringKey UringBackend::add(UringSocket& socket) {
  const UringKey key = take_slot();
  slots_[key.slot].socket = &socket;
  return key;
}

void UringBackend::remove(UringKey key) {
  release_slot(key.slot);
}

void UringBackend::watch(int fd, ReadyWatch& watch) {
  UringKey key = take_slot();
  key.op = UringOp::watch;
  slots_[key.slot].watch = &watch;
  slots_[key.slot].watched = fd;
  watches_[&watch] = key;
  poll_watch(key);
}

void UringBackend::unwatch(int /*fd*/, ReadyWatch& watch) {
  const auto at = watches_.find(&watch);
  if (at == watches_.end()) return;
  // -1 while it is being told: nothing is under way then.
  if (slots_[at->second.slot].watched >= 0) ring_->cancel(at->second);
  release_slot(at->second.slot);
  watches_.erase(at);
}

// One shot, armed anew after each call: level-triggered, as the interface promises.
void UringBackend::poll_watch(UringKey key) {
  io_uring_sqe& entry = ring_->next(key);
  const std::uint64_t user_data = entry.user_data;
  io_uring_prep_poll_add(&entry, slots_[key.slot].watched, POLLIN);
  entry.user_data = user_data;
}

void UringBackend::wait(Loop& loop, Instant until) {
  if (std::exchange(short_of_buffers_, false)) ring_->add_buffers();
  ring_->submit_and_wait(next_ < inbox_.size() ? loop.now() : until);
  loop.tick();
  collect();
  while (next_ < inbox_.size()) {
    const UringCompletion completion = inbox_[next_++];
    dispatch(completion);
  }
  inbox_.clear();
  next_ = 0;
}

void UringBackend::settle() {
  ring_->submit();
  collect();
}

void UringBackend::collect() {
  const std::size_t first = inbox_.size();
  ring_->collect(inbox_);
  for (std::size_t i = first; i < inbox_.size(); ++i) {
    const Slot* slot = find(inbox_[i].key);
    if (slot == nullptr || slot->socket == nullptr) continue;
    if (inbox_[i].key.op == UringOp::receive) slot->socket->receive_collected();
    // At once, before anything else is sent after it.
    if (inbox_[i].key.op == UringOp::small_send) slot->socket->on_small_send_failed(inbox_[i].result);
  }
}

void UringBackend::dispatch(const UringCompletion& completion) {
  Slot* slot = completion.key.op == UringOp::none ? nullptr : find(completion.key);
  if (slot != nullptr && slot->socket != nullptr) return deliver(*slot->socket, completion);
  if (completion.has_buffer()) ring_->recycle(completion);
  if (slot == nullptr || slot->watch == nullptr) return;
  const int fd = std::exchange(slot->watched, -1);
  slot->watch->ready();
  // Still wanted?
  slot = find(completion.key);
  if (slot == nullptr) return;
  slot->watched = fd;
  poll_watch(completion.key);
}

void UringBackend::deliver(UringSocket& socket, const UringCompletion& completion) {
  switch (completion.key.op) {
    case UringOp::receive:
      if (completion.result == -ENOBUFS) short_of_buffers_ = true;
      socket.on_receive(completion,
                        completion.has_buffer() ? ring_->received(completion) : std::string_view());
      socket.wake_receiver();
      if (find(completion.key) != nullptr) socket.keep_rest();
      if (completion.has_buffer()) ring_->recycle(completion);
      return;
    case UringOp::poll_in:
      socket.on_readable();
      return socket.wake_receiver();
    case UringOp::poll_out:
      socket.on_writable();
      return socket.wake_sender();
    case UringOp::small_send:
      // Whoever waits for the rest of it, or will be told of the failure.
      return socket.wake_sender();
    case UringOp::watch:
    case UringOp::none:
      return;
  }
}

Checked<std::unique_ptr<Backend>> make_uring_backend(UringRing::QueueInit queue_init) {
  auto ring = UringRing::open(queue_init);
  if (!ring) return Refusal{ring.error()};
  return std::make_unique<UringBackend>(std::move(*ring));
}

Checked<std::unique_ptr<Backend>> make_uring_backend() {
  return make_uring_backend(&io_uring_queue_init_params);
}

}  // namespace plimsoll::net
