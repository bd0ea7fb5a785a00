/* Tiles for devices of threads without number: a model of what a tile costs its eight threads, tried
 * over a few. */
#include "plan/kernel/tiles.h"

enum {
    ENOUGH = 64,        /* tiles that keep a device busy: larger ones only where there are more */
    MOST_NUMBERS = 128, /* of C that a thread holds in registers */
    USUAL_NUMBERS = 64, /* ... and where there are not enough tiles */
};

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t n_tile(const plan_gemm_step_t *s, int rows, int groups)
{
    return s->batch * s->inner * ceil_div(s->m, rows) * ceil_div(s->n, groups * TILES_LANES);
}

/* Of all tiles: loads and multiply-adds of each term, then what is stored. The weights are those of
 * a processor that loads thread by thread (lavapipe); a GPU has the same order. */
static double cost(const plan_gemm_step_t *s, int rows, int groups)
{
    enum { LOAD = 40, ADD = 4, STORE = 60 };
    double numbers = rows * groups, loads = (double)ceil_div(rows, TILES_LANES) + groups;
    return (double)n_tile(s, rows, groups) *
           ((double)s->k * (LOAD * loads + ADD * numbers) + STORE * numbers);
}

void tiles_choose_many(tiles_t *self, const plan_gemm_step_t *s)
{
    double best = -1;
    int least = s->m < TILES_LANES ? (int)s->m : TILES_LANES;
    *self = (tiles_t){0};
    for (int rows = least; rows <= 4 * least; rows *= 2) {
        for (int groups = 1; groups <= 8; groups *= 2) {
            int most = n_tile(s, rows, groups) >= ENOUGH ? MOST_NUMBERS : USUAL_NUMBERS;
            double now = cost(s, rows, groups);
            if (rows * groups > most || (best >= 0 && now >= best)) continue;
            best = now;
            self->rows = rows;
            self->cols = groups * TILES_LANES;
        }
    }
}

int64_t tiles_n_many(const product_t *product)
{
    return n_tile(&product->step, product->tiles.rows, product->tiles.cols / TILES_LANES);
}

int64_t tiles_n_group(const plan_gemm_step_t *s, int side)
{
    return s->batch * s->inner * ceil_div(s->m, side) * ceil_div(s->n, side);
}

/* The largest that leaves a tile for each of a device's processors, or so, and is not mostly edge. */
int tiles_group_side(const plan_gemm_step_t *s)
{
    enum { LARGE = 128, MIDDLE = 64, SMALL = 32, WANTED = 120 };
    for (int side = LARGE; side >= MIDDLE; side /= 2)
        if (s->m > side / 2 && s->n > side / 2 && tiles_n_group(s, side) >= WANTED) return side;
    return s->m > SMALL && s->n > SMALL && tiles_n_group(s, SMALL) > 4 * WANTED ? MIDDLE : SMALL;
}
