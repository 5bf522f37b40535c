/* What the inner loops over words and over vectors share. */

#pragma once

#include <Python.h>
#include <stdint.h>

#if defined(__GNUC__)
#define FETCH(start, size) \
    for (Py_ssize_t line = 0; line < (Py_ssize_t)(size); line += 64) __builtin_prefetch((const char *)(start) + line)
#else
#define FETCH(start, size)
#endif

/* Where a number stands, or would, among those that ascend from one place to another. They are spread evenly as a rule, so
   it is looked for around the place where it would be then, in steps that double. */
static inline Py_ssize_t place_among(const int64_t *numbers, Py_ssize_t low, Py_ssize_t high, int64_t wanted)
{
    if (low >= high) return low;
    const Py_ssize_t last = high - 1;
    const int64_t least = numbers[low], most = numbers[last];
    if (wanted <= least) return low;
    if (wanted > most) return high;
    const uint64_t first = (uint64_t)least; /* taken away before numbers become fractions, which would round them */
    const double share = (double)((uint64_t)wanted - first) / (double)((uint64_t)most - first);
    const Py_ssize_t guess = low + (Py_ssize_t)(share * (double)(last - low));
    Py_ssize_t step = 4;
    if (guess < last && numbers[guess] < wanted) {
        for (low = guess + 1; high - low > step && numbers[low + step] < wanted; step *= 2) low += step + 1;
        if (high - low > step) high = low + step;
    } else {
        for (high = guess < last ? guess : last; high - low > step && numbers[high - step] >= wanted; step *= 2) high -= step;
        if (high - low > step) low = high - step;
    }
    while (low < high) {
        const Py_ssize_t middle = low + (high - low) / 2;
        if (numbers[middle] < wanted) low = middle + 1;
        else high = middle;
    }
    return low;
}
