/* What estimates say of that which they estimate, by a sample of both. */

#pragma once

#include <math.h>

/* How estimates go together with what they estimate: what is so near is estimated as `base` and `slope` times that, and
   seldom as less by more than `far`. */
typedef struct {
    float base, slope, far;
} Tendency;

static const Tendency UNKNOWN = {-INFINITY, 0, 0};

/* What is known of it so far, by sums over a sample. */
typedef struct {
    double count, estimates, scores, estimates_squared, scores_squared, products;
} Sums;

static void note(Sums *sums, float estimate, float score)
{
    sums->count++;
    sums->estimates += estimate;
    sums->scores += score;
    sums->estimates_squared += (double)estimate * estimate;
    sums->scores_squared += (double)score * score;
    sums->products += (double)estimate * score;
}

static Tendency tendency_of(const Sums *sums)
{
    const double estimate = sums->estimates / sums->count, score = sums->scores / sums->count;
    const double varies = sums->scores_squared / sums->count - score * score;
    const double slope = varies > 1e-20 ? (sums->products / sums->count - estimate * score) / varies : 0;
    const double left = sums->estimates_squared / sums->count - estimate * estimate - slope * slope * varies;
    return (Tendency){(float)(estimate - slope * score), (float)slope, 2 * (float)sqrt(left > 0 ? left : 0)};
}

/* What is estimated of somebody so near; less than anything if that is not known. */
static float estimated(const Tendency *tendency, float score)
{
    return score > -INFINITY ? tendency->base + tendency->slope * score : -INFINITY;
}
