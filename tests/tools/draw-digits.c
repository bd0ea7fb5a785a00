/* draw-digits: images of handwritten-like digits and their labels, for a model to learn.
 *
 *   draw-digits DIR RECORDS SEED
 *
 * writes DIR/images.npy (u8, [RECORDS, 28, 28, 1]), DIR/labels.npy (u8) and DIR/schema.json, which says
 * that images are read as value / 255. A digit is a few strokes of our own, drawn with a round pen: each
 * image has its own tilt, size, place, slant, pen width, wobble of every corner, and noise. The same
 * arguments draw the same images. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"

enum { SIDE = 28, MAX_POINTS = 24, PIXELS = SIDE * SIDE };

/* --- strokes: x and y in [0, 1], y down; a negative x lifts the pen --- */

typedef struct {
    int digit;
    double at[2 * MAX_POINTS];
    int n; /* points */
} glyph_t;

#define LIFT -1, 0
static const glyph_t glyphs[] = {
    {0, {.5, 0, .2, .12, .1, .5, .2, .88, .5, 1, .8, .88, .9, .5, .8, .12, .5, 0}, 9},
    {0, {.6, 0, .3, .1, .2, .5, .25, .9, .5, 1, .75, .8, .8, .4, .7, .08, .45, .04}, 9},
    {1, {.5, 0, .5, 1}, 2},
    {1, {.3, .2, .55, 0, .55, 1, LIFT, .3, 1, .8, 1}, 6},
    {2, {.15, .2, .35, .02, .65, .02, .82, .22, .7, .45, .1, 1, .9, 1}, 7},
    {2, {.12, .25, .4, 0, .78, .15, .72, .45, .3, .85, .18, .98, .35, .85, .9, 1}, 8},
    {3, {.15, .1, .5, 0, .8, .15, .75, .4, .4, .48, .8, .58, .85, .82, .55, 1, .12, .9}, 9},
    {3, {.15, 0, .85, 0, .45, .4, .8, .55, .82, .85, .5, 1, .12, .88}, 7},
    {4, {.65, 1, .65, 0, .1, .68, .92, .68}, 4},
    {4, {.25, 0, .15, .5, .85, .5, LIFT, .75, 0, .75, 1}, 6},
    {5, {.85, 0, .25, 0, .2, .42, .6, .38, .88, .62, .78, .9, .45, 1, .12, .9}, 8},
    {5, {.2, 0, .18, .45, .55, .4, .85, .65, .6, .98, .15, .95, LIFT, .2, 0, .82, 0}, 9},
    {6, {.75, 0, .35, .25, .15, .65, .3, .95, .65, 1, .85, .75, .65, .52, .3, .58, .18, .75}, 9},
    {6, {.45, 0, .2, .5, .25, .92, .6, 1, .82, .78, .6, .55, .25, .68}, 7},
    {7, {.1, 0, .9, 0, .4, 1}, 3},
    {7, {.1, .05, .88, .02, .5, .5, .38, 1, LIFT, .3, .5, .75, .5}, 7},
    {8,
     {.5,  .48, .2, .3,  .3,  .05, .7,  .05, .8, .3, .5,
      .48, .15, .7, .25, .96, .75, .96, .85, .7, .5, .48},
     11},
    {8, {.78, .12, .4, 0, .22, .25, .78, .72, .6, 1, .22, .9, .3, .65, .8, .25, .7, .06}, 9},
    {9, {.8, .3, .55, 0, .2, .15, .22, .45, .6, .52, .8, .3, .75, .7, .6, 1}, 8},
    {9, {.82, .12, .45, 0, .18, .25, .35, .5, .75, .4, .82, .12, .8, 1}, 7},
};
#undef LIFT

/* --- chance --- */

typedef struct {
    uint64_t stream, n;
} chance_t;

static double between(chance_t *c, double low, double high)
{
    return low + (high - low) * rng_uniform(c->stream, c->n++);
}

/* --- one image --- */

typedef struct {
    double x, y;
    bool lifted; /* no line leads here */
} point_t;

/* The glyph as this hand writes it, in pixels. */
static int write_glyph(const glyph_t *g, chance_t *c, point_t *to)
{
    double tilt = between(c, -.3, .3), slant = between(c, -.25, .25);
    double wide = between(c, 11, 17), high = between(c, 17, 21);
    double left = SIDE / 2. + between(c, -2.5, 2.5), top = SIDE / 2. + between(c, -2, 2);
    int n = 0;
    bool lifted = true;
    for (int i = 0; i < g->n; i++) {
        if (g->at[2 * i] < 0) {
            lifted = true;
            continue;
        }
        double x = (g->at[2 * i] - .5 + between(c, -.09, .09)) * wide;
        double y = (g->at[2 * i + 1] - .5 + between(c, -.08, .08)) * high;
        x -= slant * y;
        to[n++] = (point_t){left + x * cos(tilt) - y * sin(tilt),
                            top + x * sin(tilt) + y * cos(tilt), lifted};
        lifted = false;
    }
    return n;
}

/* From a place to the line between two points. */
static double distance(double x, double y, const point_t *a, const point_t *b)
{
    double dx = b->x - a->x, dy = b->y - a->y, length = dx * dx + dy * dy;
    double t = length > 0 ? ((x - a->x) * dx + (y - a->y) * dy) / length : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return hypot(x - a->x - t * dx, y - a->y - t * dy);
}

static void draw(const glyph_t *g, chance_t *c, uint8_t *pixels)
{
    point_t point[MAX_POINTS];
    int n = write_glyph(g, c, point);
    double pen = between(c, .9, 1.9), ink = between(c, .75, 1);
    for (int i = 0; i < PIXELS; i++) {
        double nearest = SIDE;
        for (int k = 1; k < n; k++)
            if (!point[k].lifted)
                nearest = fmin(nearest, distance(i % SIDE, i / SIDE, &point[k - 1], &point[k]));
        double v = ink * fmin(1, fmax(0, pen + .5 - nearest)) + between(c, -.06, .06);
        pixels[i] = (uint8_t)(255 * fmin(1, fmax(0, v)));
    }
}

/* --- files --- */

static int write_npy(const char *dir, const char *name, const char *shape, const void *data,
                     size_t n, err_t *err)
{
    enum { LINE = 118, BEGIN = 10 }; /* header and all are 128 bytes */
    char *path = mem_printf("%s/%s.npy", dir, name);
    uint8_t *bytes = mem_calloc(BEGIN + LINE + n, 1);
    char header[LINE + 1];
    snprintf(header, sizeof header, "{'descr': '|u1', 'fortran_order': False, 'shape': (%s), }",
             shape);
    memcpy(bytes, "\x93NUMPY\1\0", 8);
    bytes[8] = LINE;
    memset(bytes + BEGIN, ' ', LINE);
    memcpy(bytes + BEGIN, header, strlen(header));
    bytes[BEGIN + LINE - 1] = '\n';
    memcpy(bytes + BEGIN + LINE, data, n);
    int rc = file_write_atomic(path, bytes, BEGIN + LINE + n, err);
    free(bytes);
    free(path);
    return rc;
}

static int write_all(const char *dir, const uint8_t *images, const uint8_t *labels, size_t n,
                     err_t *err)
{
    static const char schema[] = "{\"images\": {\"scale\": 0.00392156862745098}}\n";
    char shape[64];
    snprintf(shape, sizeof shape, "%zu, %d, %d, 1", n, SIDE, SIDE);
    if (file_make_dirs(dir, err) < 0 ||
        write_npy(dir, "images", shape, images, n * PIXELS, err) < 0)
        return -1;
    snprintf(shape, sizeof shape, "%zu,", n);
    if (write_npy(dir, "labels", shape, labels, n, err) < 0) return -1;
    char *path = mem_printf("%s/schema.json", dir);
    int rc = file_write_atomic(path, schema, strlen(schema), err);
    free(path);
    return rc;
}

int main(int argc, char **argv)
{
    enum { MOST = 1000000, N_GLYPH = sizeof glyphs / sizeof *glyphs };
    long n = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
    if (n < 1 || n > MOST) {
        fprintf(stderr, "usage: draw-digits DIR RECORDS SEED\n");
        return 2;
    }
    chance_t chance = {.stream = rng_derive(strtoull(argv[3], NULL, 10), "digits")};
    uint8_t *images = mem_calloc((size_t)n * PIXELS, 1), *labels = mem_calloc((size_t)n, 1);
    for (long i = 0; i < n; i++) {
        const glyph_t *g = &glyphs[(size_t)between(&chance, 0, N_GLYPH) % N_GLYPH];
        labels[i] = (uint8_t)g->digit;
        draw(g, &chance, images + i * PIXELS);
    }
    err_t err = {0};
    int rc = write_all(argv[1], images, labels, (size_t)n, &err);
    if (rc < 0) fprintf(stderr, "draw-digits: %s\n", err.text);
    free(images);
    free(labels);
    return rc < 0;
}
