/* Loops that are compiled several times, and chosen when it is known what they run on. */

#pragma once

#if defined(__GNUC__)
#define FETCH(start, size) \
    for (Py_ssize_t line = 0; line < (Py_ssize_t)(size); line += 64) __builtin_prefetch((const char *)(start) + line)
#else
#define FETCH(start, size)
#endif

/* Where a number stands, or would, among those that ascend from one place to another. They are whole numbers, so it is
   no further from the first than they differ; where none is missing it is just there. */
static inline Py_ssize_t place_among(const int64_t *numbers, Py_ssize_t low, Py_ssize_t high, int64_t wanted)
{
    if (low >= high || wanted <= numbers[low]) return low;
    const uint64_t apart = (uint64_t)wanted - (uint64_t)numbers[low];
    if (apart < (uint64_t)(high - low)) {
        high = low + (Py_ssize_t)apart;
        if (numbers[high] == wanted) return high;
    }
    while (low < high) {
        const Py_ssize_t middle = low + (high - low) / 2;
        if (numbers[middle] < wanted) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* A loop that is made for each kind of processor: `name` is the one for the processor that it runs on. */
#if defined(__x86_64__) && defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define FOR_EACH_PROCESSOR(result, name, parameters, arguments)                                                 \
    __attribute__((target("avx512vpopcntdq,avx512bw,avx512vl,avx2,fma"))) static result name##_512 parameters \
    { return name##_loop arguments; }                                                                           \
    __attribute__((target("avx2,popcnt"))) static result name##_256 parameters                                 \
    { return name##_loop arguments; }                                                                           \
    static result name##_any parameters { return name##_loop arguments; }                                       \
    static result (*name) parameters = name##_any;
#define CHOOSE(name)                                                                                            \
    if (__builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512bw")                         \
        && __builtin_cpu_supports("avx512vl"))                                                                  \
        name = name##_512;                                                                                      \
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt"))                                \
        name = name##_256;
#else
#define INLINE static inline
#define FOR_EACH_PROCESSOR(result, name, parameters, arguments)                                                 \
    static result name parameters { return name##_loop arguments; }
#define CHOOSE(name)
#endif
