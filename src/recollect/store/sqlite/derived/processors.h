/* What the inner loops over words and over vectors share. */

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
