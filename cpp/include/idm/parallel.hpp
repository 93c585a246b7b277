// The only header that knows OpenMP: loops over blocks of rows, and how they end.
//
// Every step runs as parallel_for over blocks whose size does not depend on the number of threads.
// A block writes only its own rows, so the result is the same to the bit for every thread count.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "idm/eigen.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace idm {

// How a step runs. `interrupted` is polled about every 50 ms, by the calling thread only.
struct Execution {
    int n_threads = 1;
    bool (*interrupted)() = nullptr;
};

// Thrown by a step whose Execution::interrupted returned true.
struct Interrupted : std::runtime_error {
    Interrupted() : std::runtime_error("interrupted") {}
};

// The limit that OMP_NUM_THREADS, omp_set_num_threads and threadpoolctl set, read anew at each call.
int max_threads();

// True in a child made by fork after this library was loaded: OpenMP's threads stayed in the parent,
// and waiting for them would never end.
bool in_forked_child();

// n, or 1 if the system does not let the calling thread start n - 1 others: OpenMP would end the process.
int startable_threads(int n);

// What the blocks of one loop share: the first exception, and the wish to stop.
class Region {
  public:
    explicit Region(const Execution& execution) : execution_(execution) {}

    // Leaves the block (by an exception that parallel_for understands) if the loop is to stop. Called
    // before every block; blocks that can take longer than 0.1 s call it inside as well. Serial work has a Region
    // of its own, from which Interrupted goes straight to the caller.
    void checkpoint() {
        if (stop_.load(std::memory_order_relaxed)) throw Stopped{};
        if (execution_.interrupted == nullptr || std::this_thread::get_id() != caller_) return;
        const auto now = std::chrono::steady_clock::now();
        if (now - last_poll_ < std::chrono::milliseconds(50)) return;
        last_poll_ = now;
        if (execution_.interrupted()) throw Interrupted{};
    }

    // The same after each turn of a loop inside a step, unless the turn was so short that a look at the clock would
    // slow it down.
    void checkpoint_after(Index operations) {
        if (operations >= 65536) checkpoint();
    }

    // Runs work(), keeping the first exception of all threads for rethrow().
    template <class Work>
    void guard(Work&& work) noexcept {
        try {
            work();
        } catch (const Stopped&) {
            // Another thread's exception is kept already.
        } catch (const Interrupted&) {
            // Goes before any exception of a block: the caller's signal is consumed.
            const std::lock_guard<std::mutex> lock(mutex_);
            first_ = std::current_exception();
            stop_ = true;
        } catch (...) {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (!first_) first_ = std::current_exception();
            stop_ = true;
        }
    }

    void rethrow() const {
        if (first_) std::rethrow_exception(first_);
    }

  private:
    struct Stopped {};

    const Execution& execution_;
    const std::thread::id caller_ = std::this_thread::get_id();
    std::chrono::steady_clock::time_point last_poll_ = std::chrono::steady_clock::now();
    std::atomic<bool> stop_{false};
    std::mutex mutex_;
    std::exception_ptr first_;
};

// body(begin, end, workspace, region) for the blocks [0, block), [block, 2 block), ... of [0, n).
// Each thread makes one workspace and has a range of the blocks; when it is done with that, it helps others. So blocks
// that follow each other share a cache, and threads seldom fault in the same page.
template <class MakeWorkspace, class Body>
void parallel_for(Index n, Index block, const Execution& execution, MakeWorkspace&& make_workspace, Body&& body) {
    const Index n_blocks = (n + block - 1) / block;
    Region region(execution);
    int n_threads = 1;
#ifdef _OPENMP
    const Index wanted = in_forked_child() ? 1 : execution.n_threads;
    n_threads = startable_threads(static_cast<int>(std::max<Index>(1, std::min(wanted, n_blocks))));
#endif
    struct alignas(64) Range {
        std::atomic<Index> next{0};
        Index end = 0;
    };
    std::vector<Range> ranges(n_threads);
    for (int t = 0; t < n_threads; ++t) {
        ranges[t].next = t * n_blocks / n_threads;
        ranges[t].end = (t + 1) * n_blocks / n_threads;
    }
    const auto work = [&](int thread) {
        region.guard([&] {
            const auto left = [](const Range& range) { return range.next.load() < range.end; };
            if (std::none_of(ranges.begin(), ranges.end(), left)) return;
            auto workspace = make_workspace();
            for (int t = 0; t < n_threads; ++t) {
                Range& range = ranges[(thread + t) % n_threads];
                for (Index b = range.next++; b < range.end; b = range.next++) {
                    region.checkpoint();
                    body(b * block, std::min(n, (b + 1) * block), workspace, region);
                }
            }
        });
    };
#ifdef _OPENMP
    if (n_threads > 1) {
        std::atomic<int> busy{0};
#pragma omp parallel num_threads(n_threads)
        {
            ++busy;
            work(omp_get_thread_num());
            --busy;
            // The calling thread is the only one that may poll, so it goes on polling while others work. To sleep takes
            // longer than most last blocks do.
            if (omp_get_thread_num() == 0) {
                const auto done = std::chrono::steady_clock::now();
                while (busy.load() > 0) {
                    if (std::chrono::steady_clock::now() - done < std::chrono::microseconds(500)) {
                        std::this_thread::yield();
                    } else {
                        std::this_thread::sleep_for(std::chrono::microseconds(100));
                    }
                    region.guard([&] { region.checkpoint(); });
                }
            }
        }
        region.rethrow();
        return;
    }
#endif
    work(0);
    region.rethrow();
}

}  // namespace idm
