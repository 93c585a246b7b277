#include "idm/parallel.hpp"

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

}  // namespace

bool in_forked_child() { return forked; }

int max_threads() {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

}  // namespace idm
