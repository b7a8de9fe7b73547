// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The threads that a source of perf events watches. A thread only adds its id when it begins or
// ends; the helper thread opens, reads and closes its events at the next drain.
#pragma once

#include <algorithm>
#include <mutex>
#include <sys/types.h>
#include <vector>

namespace omptier {

// Rings: the events of one thread; movable.
template <typename Rings> class ThreadRings {
public:
  void note(pid_t thread, bool begins) { // any thread
    std::lock_guard guard(lock_);
    changes_.push_back({thread, begins});
  }

  // Helper thread. open(thread, rings) returns whether there is something to watch. drain(rings) is
  // called for every thread, and a last time for one that has ended.
  template <typename Open, typename Drain> void drain(Open open, Drain drain) {
    std::lock_guard draining(draining_);
    std::vector<Change> changes;
    {
      std::lock_guard guard(lock_);
      changes.swap(changes_);
    }
    for (auto change = changes.begin(); change != changes.end(); ++change) {
      forget(change->thread, drain); // also for a new thread, which may have got a reused id
      const bool ended_already = std::any_of(change, changes.end(), [&](const Change& later) {
        return later.thread == change->thread && !later.begins;
      });
      Rings rings;
      if (!ended_already && open(change->thread, rings))
        watched_.push_back({change->thread, std::move(rings)});
    }
    for (Watched& watched : watched_)
      drain(watched.rings);
  }

  // Number of watched threads. Helper thread, also from within open().
  std::size_t watched() const { return watched_.size(); }

  // In a forked child, which has no helper thread: abandon(rings) for all threads, unless the
  // parent was changing them when it forked (their descriptors close at exec).
  template <typename Abandon> void forked_child(Abandon abandon) {
    if (!draining_.try_lock()) return;
    for (Watched& watched : watched_)
      abandon(watched.rings);
  }

private:
  struct Change {
    pid_t thread;
    bool begins;
  };
  struct Watched {
    pid_t thread;
    Rings rings;
  };
  template <typename Drain> void forget(pid_t thread, Drain drain) {
    auto found = std::find_if(watched_.begin(), watched_.end(),
                              [&](const Watched& w) { return w.thread == thread; });
    if (found == watched_.end()) return;
    drain(found->rings);
    if (found != watched_.end() - 1) *found = std::move(watched_.back());
    watched_.pop_back();
  }

  std::mutex lock_;
  std::vector<Change> changes_; // under lock_
  std::mutex draining_;
  std::vector<Watched> watched_; // used by the draining thread only
};

} // namespace omptier
