#include "arrays.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif

namespace idm::bindings {
namespace {

#define IDM_TEXT_OF(x) #x
#define IDM_TEXT(x) IDM_TEXT_OF(x)

const char* compiler() {
#if defined(__clang__)
    return "Clang " __clang_version__;
#elif defined(__GNUC__)
    return "GCC " __VERSION__;
#elif defined(_MSC_VER)
    return "MSVC " IDM_TEXT(_MSC_VER);
#else
    return "unknown";
#endif
}

// Whether this machine can run the x86-64-v3 variant. The compiler's own test covers what needs the operating
// system's support for AVX registers; the three older extensions are read from CPUID.
bool cpu_has_v3() {
#if defined(__x86_64__) && defined(__GNUC__)
    unsigned int a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
    const bool movbe_f16c = (c & bit_MOVBE) && (c & bit_F16C);
    if (!__get_cpuid(0x80000001, &a, &b, &c, &d)) return false;
    constexpr unsigned int lzcnt = 1u << 5;
    return movbe_f16c && (c & lzcnt) && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}

py::dict build_info() {
    py::dict info;
    info["compiler"] = compiler();
    info["eigen"] = IDM_TEXT(EIGEN_WORLD_VERSION) "." IDM_TEXT(EIGEN_MAJOR_VERSION) "." IDM_TEXT(EIGEN_MINOR_VERSION);
    info["eigen_simd"] = Eigen::SimdInstructionSetsInUse();
#ifdef _OPENMP
    info["openmp"] = IDM_TEXT(_OPENMP);
#else
    info["openmp"] = "none: one thread";
#endif
    return info;
}

}  // namespace

void register_config(py::module_& module) {
    module.def("cpu_has_v3", &cpu_has_v3);
    module.def("build_info", &build_info);
}

}  // namespace idm::bindings
