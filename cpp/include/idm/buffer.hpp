// Large arrays whose size is known late. Not initialised, so that the threads that fill them touch their pages first.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>

#include "idm/eigen.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace idm {

inline void release(void* data) { std::free(data); }

struct Release {
    void operator()(void* data) const { release(data); }
};

template <class T>
using Buffer = std::unique_ptr<T[], Release>;

// Huge pages where the system has them on request: scattered writes then meet the translation cache, and there are 512
// times fewer pages to fault in.
template <class T>
Buffer<T> make_buffer(Index size) {
    const std::size_t bytes = static_cast<std::size_t>(size) * sizeof(T);
    void* data = nullptr;
#ifdef MADV_HUGEPAGE
    constexpr std::size_t huge = std::size_t{1} << 21;
    if (bytes >= 2 * huge) {
        if (posix_memalign(&data, huge, bytes) != 0) throw std::bad_alloc();
        madvise(data, bytes, MADV_HUGEPAGE);  // a wish: whether it is granted changes nothing but the speed
        return Buffer<T>(static_cast<T*>(data));
    }
#endif
    data = std::malloc(bytes > 0 ? bytes : 1);
    if (data == nullptr) throw std::bad_alloc();
    return Buffer<T>(static_cast<T*>(data));
}

}  // namespace idm
