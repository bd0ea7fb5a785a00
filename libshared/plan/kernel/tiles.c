/* The choice of tiles: a small model of what a register tile costs, tried over all of them. */
#include "plan/kernel/tiles.h"

enum {
    SUM_BLOCK = 256,    /* terms: a packed panel of B of this height fits the first-level cache */
    MOST_SUM = 512,     /* a choice may ask for */
    MATRIX_BLOCK = 256, /* pairs: the same for a matrix unit, from the second-level cache ... */
    MATRIX_PANELS = 512 * 256, /* ... which holds so many pairs of B */
    SPLIT_BLOCK = 128, /* pairs: the same for operands of f32 in pieces, three times as large */
    SPLIT_PANELS = 512 * 128,
    WOVEN_BLOCK = 128, /* pairs of a woven B: rows of A stay in the first-level cache ... */
    WOVEN_ROWS = 256,  /* ... and of C so many ... */
    WOVEN_COLS = 384,  /* ... by so many in the second-level one, over all blocks */
    LEAST_COLS = 64,   /* of a part */
    MATRIX_TILE = 32,  /* rows and columns: two by two of its registers */
    MATRIX_PAIRS = 16, /* terms at a time; the rest is filled up where operands are copied */
    PART_COLS = 256,   /* columns of a part at most: B's panels fit the second-level cache */
    WANTED_PARTS = 32, /* of a product that has so many */
    FEWEST_PARTS = 8,  /* of a product of a sweep, where each packs its part of B */
    FEW_ROWS = 8,      /* that do not pay for packing B */
    MOST_PARTS = 64,   /* rows of tiles beyond these come together: the pool joins parts anyway */
    CACHE_LINES_APART = 1024, /* floats: rows this far apart compete for few places of a cache */
    COPY_ROWS = 512,          /* that pay for copies of A and of B there, with ... */
    COPY_COLS = 256,          /* ... so many columns ... */
    COPY_VECTORS = 2, /* ... in panels of B that stay in the first-level cache: 32 KiB of 48 */
    SHORT_SUM = 128, /* terms: in shorter sums what is asked for ahead is mostly of another panel */
    COPY_APART = 256, /* floats: rows of B this far apart, or more, are copied for such sums */
};

/* Of operands in pieces: terms of C in a cycle, cycles to pack a number. */
static const double SPLIT_TERMS = 70, SPLIT_PACK = 0.7;

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Half cycles for one term of the sum on a machine that multiplies and loads two vectors a cycle:
 * limited by arithmetic, by loads, or by the latency of four cycles. */
static double term_cost(int rows, int vectors)
{
    double arithmetic = rows * vectors, loads = rows + vectors, latency = 8;
    double cost = arithmetic > loads ? arithmetic : loads;
    return (cost > latency ? cost : latency) + 0.1 * loads;
}

/* A tile: its terms, reading and writing C, the call. */
static double tile_cost(int rows, int vectors, int64_t k)
{
    return (double)k * term_cost(rows, vectors) + 3.0 * rows * vectors + 24;
}

static double column_cost(int64_t m, int rows, int vectors, int64_t k)
{
    int64_t whole = m / rows;
    int rest = (int)(m % rows);
    return (double)whole * tile_cost(rows, vectors, k) + (rest ? tile_cost(rest, vectors, k) : 0);
}

static double product_cost(int64_t m, int64_t n, int64_t k, int rows, int vectors, int lanes)
{
    int64_t whole = n / (vectors * lanes), rest = n % (vectors * lanes);
    double cost = (double)whole * column_cost(m, rows, vectors, k);
    if (rest) cost += column_cost(m, rows, (int)ceil_div(rest, lanes), k);
    return cost;
}

static void choose_registers(tiles_t *self, int64_t m, int64_t n, int64_t k, int most_vectors)
{
    const caps_t *caps = &self->caps;
    double best = -1;
    k = k < SUM_BLOCK ? k : SUM_BLOCK;
    for (int vectors = 1; vectors <= most_vectors; vectors++) {
        for (int rows = 1; rows * vectors + vectors + 2 <= caps->registers; rows++) {
            double cost = product_cost(m, n, k, rows, vectors, caps->lanes);
            if (best >= 0 && cost > best) continue;
            best = cost;
            self->rows = rows;
            self->cols = vectors * caps->lanes;
        }
    }
}

void tiles_choose_registers(tiles_t *self, int64_t m, int64_t n, int64_t k)
{
    choose_registers(self, m, n, k, 4);
}

/* Are both operands copied because their terms lie apart, and large enough to pay for it? bench-gemm, a
 * Xeon: 3 to 19 % more than reading A in place, in narrower panels of B. */
static bool copies_terms(const plan_gemm_step_t *s, caps_t caps)
{
    return caps.wide && !s->bf16 && s->trans_a && s->m >= COPY_ROWS && s->n >= COPY_COLS;
}

static int64_t round_up(int64_t size, int64_t unit)
{
    return ceil_div(size, unit) * unit;
}

/* Parts of at most PART_COLS columns, with fewer while there are too few parts to go round, and of
 * few rows of tiles, so that threads end together. */
static void choose_parts(tiles_t *self, const plan_gemm_step_t *s)
{
    int64_t wanted = self->wanted_parts > 0 ? self->wanted_parts : WANTED_PARTS;
    int64_t entries = s->batch * s->inner, tiles = ceil_div(s->m, self->rows);
    int64_t joined = entries >= wanted ? tiles : tiles < MOST_PARTS ? 1 : tiles / MOST_PARTS;
    self->part_rows = joined * self->rows;
    self->n_part_row = ceil_div(s->m, self->part_rows);
    int64_t n_col = ceil_div(s->n, PART_COLS), most = ceil_div(s->n, self->cols);
    while (n_col < most && entries * self->n_part_row * n_col < wanted) n_col++;
    self->part_cols = round_up(ceil_div(s->n, n_col), self->cols);
    self->n_part_col = ceil_div(s->n, self->part_cols);
}

/* Is a product of f32 computed by a matrix unit of bf16, as six of its products (codegen/prelude/prelude_split.h)? In
 * cycles, bench-gemm on a Xeon: vectors add some 26 terms in one, the unit 70; to split and pack a number takes
 * 0.7. Tiles take the time of whole ones. What would gain less than three tenths stays as it is: beside
 * a busy neighbour on its core the unit loses more than vectors do. */
static bool splits(const plan_gemm_step_t *s, caps_t caps)
{
    const double vectors = 1.0 / 26, unit = 1.0 / SPLIT_TERMS, pack = SPLIT_PACK;
    if (s->bf16 || !caps.matrix) return false;
    double m = (double)round_up(s->m, MATRIX_PAIRS), n = (double)round_up(s->n, MATRIX_PAIRS);
    double terms = (double)round_up(s->k, 2 * MATRIX_PAIRS);
    double own = (double)(s->m * s->n * s->k) * vectors;
    return m * n * terms * unit + (m + n) * terms * pack < 0.7 * own;
}

/* How often A and B are copied by parts in `cols` columns and `rows` rows, of which a thread takes `ranges` one
 * after another. */
typedef struct {
    double a, b;
} copies_t;

static copies_t matrix_copies(double rows, double cols)
{
    enum { RANGES = 6 }; /* the pool's long ones */
    double ranges = rows * cols < RANGES ? rows * cols : RANGES;
    double a = rows > 1 || cols < ranges ? cols : ranges;
    return (copies_t){a, rows > 1 && ranges > cols ? ranges / cols : 1};
}

/* Of operands in pieces: whole columns of a range share their copy of A while they are no wider than `widest`; a
 * range that ends within a column leaves its copy of B to be made again. */
static copies_t split_copies(const plan_gemm_step_t *s, double rows, double cols, double widest)
{
    enum { RANGES = 6 }; /* the pool's long ones */
    double n = (double)s->n, ranges = rows * cols < RANGES ? rows * cols : RANGES;
    double a = ranges > n / widest ? ranges : n / widest;
    if (a > cols || 2 * n > widest * cols) a = cols;
    return (copies_t){a, rows > 1 ? 1 + (ranges - 1) / cols : 1};
}

/* The same for the matrix unit, where packing takes as long as multiplying short sums or few columns:
 * the cut that packs and reads least, in cycles. Few parts of an entry, each long enough to be
 * worth a thread's while; the pool halves what is left of a thread's stretch, so that a product of
 * many parts goes in so many ranges, which pack what they need. */
static void choose_matrix_parts(tiles_t *self, const plan_gemm_step_t *s)
{
    const double part = 30e3, turn = self->split ? SPLIT_PACK : 0.75;
    const double weave = self->split ? SPLIT_PACK : 0.2, dot = self->split ? SPLIT_TERMS : 512;
    double a = (double)(s->m * s->k) * turn, b = (double)(s->n * s->k) * weave, best = -1;
    int64_t entries = s->batch * s->inner, tiles = ceil_div(s->m, self->rows);
    int64_t most = ceil_div(s->n, self->cols);
    int64_t widest = (self->split ? SPLIT_PANELS : MATRIX_PANELS) / self->sum_block;
    widest = widest / self->cols * self->cols;
    if (!self->split && !s->trans_a && tiles <= 2)
        widest = self->cols; /* read soon, and little more than once */
    double work = ((double)(s->m * s->n * s->k) / dot + a + b) * (double)entries / part;
    int64_t usual = work < WANTED_PARTS ? (int64_t)work : WANTED_PARTS;
    int64_t wanted = self->wanted_parts > 0 ? self->wanted_parts : usual;
    wanted = wanted > entries ? ceil_div(wanted, entries) : 1;
    for (int64_t n_col = ceil_div(s->n, widest); n_col <= most; n_col++) {
        int64_t part_rows = ceil_div(tiles, ceil_div(wanted, n_col)) * self->rows;
        int64_t n_row = ceil_div(s->m, part_rows);
        copies_t copies = self->split
                              ? split_copies(s, (double)n_row, (double)n_col, (double)widest)
                              : matrix_copies((double)n_row, (double)n_col);
        double cost = copies.a * a + copies.b * b;
        if (best >= 0 && (cost >= best || n_col > wanted)) continue;
        best = cost;
        self->part_rows = part_rows;
        self->n_part_row = n_row;
        self->part_cols = round_up(ceil_div(s->n, n_col), self->cols);
        self->n_part_col = ceil_div(s->n, self->part_cols);
    }
    self->joined_cols = widest / self->part_cols; /* 0 is as good as 1 */
}

/* A woven B is read as it lies, so that a part costs no more than its sums: parts whose C stays in the second-level
 * cache from block to block, and enough of them. */
static void choose_woven_parts(tiles_t *self, const plan_gemm_step_t *s)
{
    const double part = 30e3, dot = 512;
    int64_t entries = s->batch * s->inner;
    double work = (double)(s->m * s->n * s->k) * (double)entries / dot / part;
    int64_t usual = work < WANTED_PARTS ? (int64_t)work : WANTED_PARTS;
    int64_t wanted = self->wanted_parts > 0 ? self->wanted_parts : usual;
    wanted = wanted > entries ? ceil_div(wanted, entries) : 1;
    int64_t n_row = ceil_div(s->m, WOVEN_ROWS), n_col = ceil_div(s->n, WOVEN_COLS);
    while (n_row * n_col < wanted && s->n >= (n_col + 1) * LEAST_COLS) n_col++;
    self->part_rows = round_up(ceil_div(s->m, n_row), self->rows);
    self->n_part_row = ceil_div(s->m, self->part_rows);
    self->part_cols = round_up(ceil_div(s->n, n_col), self->cols);
    self->n_part_col = ceil_div(s->n, self->part_cols);
    self->joined_cols = WOVEN_COLS / self->part_cols; /* 0 is as good as 1 */
}

/* Short sums of rows that compete in the first-level cache: bench-gemm, a Xeon: 8 to 17 % more. */
static bool packs_short(const tiles_t *self, const plan_gemm_step_t *s, int64_t m)
{
    return self->caps.wide && !s->trans_a && s->k <= SHORT_SUM && s->ldb >= COPY_APART &&
           m >= 4 * self->rows;
}

/* Is B copied into panels for blocks of m rows? */
static bool packs_b(const tiles_t *self, const plan_gemm_step_t *s, int64_t m)
{
    if (s->woven) return false;
    return packs_short(self, s, m) || s->bf16 || s->trans_b ||
           (m >= 4 * self->rows && s->ldb % CACHE_LINES_APART == 0);
}

/* Does C go past the caches? Where they cannot hold it and a tile of it is written once, in whole lines. pcp profile,
 * a Xeon: gradients of large weights 15 to 20 % sooner, since no line of them is read before it is written. */
static bool streams_c(const tiles_t *self, const plan_gemm_step_t *s, int64_t terms)
{
    enum { LINE = 16, LARGE = 1 << 20 }; /* floats */
    bool lines = s->n % LINE == 0 && s->ldc % LINE == 0 && self->caps.lanes == LINE;
    return self->caps.wide && !self->split && !s->accumulate && lines && terms <= self->sum_block &&
           s->m * s->n * s->batch * s->inner >= LARGE;
}

/* Does the choice fit the registers of the target? */
static bool choice_fits(const tile_choice_t *c, caps_t caps)
{
    int vectors = c->cols / caps.lanes;
    return c->rows > 0 && c->cols > 0 && c->cols % caps.lanes == 0 &&
           c->rows * vectors + vectors + 2 <= caps.registers;
}

bool tiles_cut_as(tiles_t *self, const plan_gemm_step_t *s, caps_t caps,
                  const tile_choice_t *choice)
{
    *self = (tiles_t){.caps = caps, .wanted_parts = choice->parts};
    if (s->dtype != DT_F32 || caps.lanes == 0 || s->m < 1 || s->n < 1 || s->k < 1) return false;
    if ((s->bf16 && !caps.bf16) || (s->woven && !caps.matrix)) return false;
    self->split = splits(s, caps);
    int64_t terms = s->bf16 || self->split ? ceil_div(s->k, 2) : s->k;
    bool matrix = (s->bf16 && caps.matrix) || self->split;
    int64_t block = self->split ? SPLIT_BLOCK
                    : s->woven  ? WOVEN_BLOCK
                    : matrix    ? MATRIX_BLOCK
                                : SUM_BLOCK;
    if (matrix)
        self->rows = self->cols = MATRIX_TILE;
    else if (choice_fits(choice, caps))
        self->rows = choice->rows, self->cols = choice->cols;
    else
        choose_registers(self, s->m, s->n, terms, copies_terms(s, caps) ? COPY_VECTORS : 4);
    if (choice->sum_block > 0 && choice->sum_block <= MOST_SUM) block = choice->sum_block;
    self->sum_block = ceil_div(terms, ceil_div(terms, block));
    if (matrix) self->sum_block = round_up(self->sum_block, MATRIX_PAIRS);
    if (s->woven)
        choose_woven_parts(self, s);
    else if (matrix)
        choose_matrix_parts(self, s);
    else
        choose_parts(self, s);
    self->stream_c = streams_c(self, s, terms);
    self->pack_b = self->split || packs_b(self, s, s->m) || copies_terms(s, caps);
    self->pack_a = self->split || copies_terms(s, caps);
    if (s->bf16) {
        bool filled = s->k % 2 || (matrix && terms > MATRIX_PAIRS && terms % MATRIX_PAIRS);
        bool compete = s->lda % CACHE_LINES_APART == 0 && self->rows > 4 && s->n > self->cols;
        self->pack_a = s->trans_a || filled || (compete && !s->woven);
    }
    return true;
}

bool tiles_cut(tiles_t *self, const plan_gemm_step_t *step, caps_t caps)
{
    return tiles_cut_as(self, step, caps, &(tile_choice_t){0});
}

int64_t tiles_n_part(const product_t *product)
{
    const plan_gemm_step_t *s = &product->step;
    return s->batch * s->inner * product->tiles.n_part_row * product->tiles.n_part_col;
}

/* bench-gemm: generated kernels lead on everything but a few rows times a transposed matrix, each
 * element of which is used too seldom to pay for its packing (4 x 1024 x 256 nt: 0.9 of OpenBLAS).
 * The library has no products of bf16. */
bool tiles_choose(tiles_t *self, const plan_gemm_step_t *step, caps_t caps)
{
    if (!step->bf16 && step->trans_b && step->m < FEW_ROWS) return false;
    return tiles_cut(self, step, caps);
}

bool tiles_choose_strips(tiles_t *self, const plan_gemm_step_t *s, caps_t caps, int64_t strips)
{
    if (!tiles_choose(self, s, caps)) return false;
    self->stream_c = false;                   /* the strip's next step reads C */
    if (s->batch * s->inner > 1) return true; /* entry by entry, each in the same number of parts */
    bool matrix = (s->bf16 && caps.matrix) || self->split;
    int64_t near = self->split ? SPLIT_PANELS
                   : matrix    ? MATRIX_PANELS
                               : PART_COLS * SUM_BLOCK; /* terms of B at a time */
    int64_t rows = s->m / strips, n_col = ceil_div(s->n * self->sum_block, near);
    if (!matrix) tiles_choose_registers(self, rows, s->n, s->bf16 ? ceil_div(s->k, 2) : s->k);
    self->by_rows = true;
    self->joined_cols = 0; /* of parts by columns */
    self->part_rows = rows;
    self->n_part_row = strips;
    int64_t most = ceil_div(s->n, self->cols);
    while (n_col < most && strips * n_col < FEWEST_PARTS) n_col++;
    self->part_cols = round_up(ceil_div(s->n, n_col), self->cols);
    self->n_part_col = ceil_div(s->n, self->part_cols);
    self->pack_b = self->split || packs_b(self, s, rows);
    self->pack_a = self->pack_a && (s->bf16 || self->split);
    return true;
}
