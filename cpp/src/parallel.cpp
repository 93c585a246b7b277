#include "idm/parallel.hpp"

#include <condition_variable>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#define IDM_HAS_FORK
#endif

namespace idm {
namespace {

std::atomic<bool> forked{false};

#ifdef IDM_HAS_FORK
// Registered when the library is loaded, so that no fork goes unseen.
const int fork_watch = pthread_atfork(nullptr, nullptr, [] { forked = true; });
#endif

// Whether n threads more can exist at the same time.
bool can_start(int n) {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    std::vector<std::thread> threads;
    const auto wait = [&] {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [&] { return done; });
    };
    bool started = true;
    try {
        threads.reserve(n);
        for (int t = 0; t < n; ++t) threads.emplace_back(wait);
    } catch (...) {  // std::system_error, or std::bad_alloc
        started = false;
    }
    {
        const std::lock_guard<std::mutex> lock(mutex);
        done = true;
    }
    changed.notify_all();
    for (std::thread& thread : threads) thread.join();
    return started;
}

}  // namespace

// Tried once per calling thread and number: OpenMP has a pool of threads for each that calls it.
int startable_threads(int n) {
    thread_local int proven = 1;
    if (n > proven && !can_start(n - 1)) return 1;
    proven = std::max(proven, n);
    return n;
}

bool in_forked_child() { return forked; }

int max_threads() {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

}  // namespace idm
