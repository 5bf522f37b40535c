/* Loops that are compiled several times, and chosen when it is known what they run on. */

#pragma once

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
