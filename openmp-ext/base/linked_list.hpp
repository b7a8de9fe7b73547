// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Doubly linked lists through members `previous` and `next`. The owner's lock protects them.
#pragma once

namespace omptier {

template <typename T> void push(T*& head, T* node) {
  node->previous = nullptr;
  node->next = head;
  if (head != nullptr) head->previous = node;
  head = node;
}

template <typename T> void remove(T*& head, T* node) {
  (node->previous != nullptr ? node->previous->next : head) = node->next;
  if (node->next != nullptr) node->next->previous = node->previous;
  node->previous = node->next = nullptr;
}

} // namespace omptier
