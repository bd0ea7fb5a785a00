/* The table: keys and choices as text and as numbers, in a sorted array. */
#include "plan/kernel/tune.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

enum { KEY = 192, MAX_ROW = 1 << 16 };

typedef struct {
    char key[KEY];
    tile_choice_t choice;
} row_t;

struct tune {
    VEC(row_t) row;
};

tune_t *tune_new(void)
{
    return mem_calloc(1, sizeof(tune_t));
}

void tune_destroy(tune_t **self_p)
{
    if (*self_p) VEC_FREE(&(*self_p)->row);
    free(*self_p);
    *self_p = NULL;
}

static void key_of(const plan_gemm_step_t *s, char key[KEY])
{
    snprintf(key, KEY,
             "%s %c%c%s %" PRId64 "x%" PRId64 "x%" PRId64 " %" PRId64 "x%" PRId64 " %" PRId64
             ",%" PRId64 ",%" PRId64,
             s->woven  ? "woven"
             : s->bf16 ? "bf16"
                       : dtype_name(s->dtype),
             s->trans_a ? 't' : 'n', s->trans_b ? 't' : 'n', s->accumulate ? "+" : "", s->m, s->n,
             s->k, s->batch, s->inner, s->lda, s->ldb, s->ldc);
}

/* The first row that is not before the key. */
static size_t place(const tune_t *self, const char *key)
{
    size_t low = 0, high = self->row.n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(self->row.at[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool tune_find(const tune_t *self, const plan_gemm_step_t *step, tile_choice_t *choice)
{
    char key[KEY];
    if (!self) return false;
    key_of(step, key);
    size_t at = place(self, key);
    if (at == self->row.n || strcmp(self->row.at[at].key, key) != 0) return false;
    *choice = self->row.at[at].choice;
    return true;
}

static void set(tune_t *self, const char *key, const tile_choice_t *choice)
{
    size_t at = place(self, key);
    if (at == self->row.n || strcmp(self->row.at[at].key, key) != 0) {
        VEC_PUSH(&self->row, ((row_t){{0}, {0}}));
        memmove(&self->row.at[at + 1], &self->row.at[at],
                (self->row.n - 1 - at) * sizeof self->row.at[0]);
        self->row.at[at] = (row_t){{0}, {0}};
        snprintf(self->row.at[at].key, KEY, "%s", key);
    }
    self->row.at[at].choice = *choice;
}

void tune_set(tune_t *self, const plan_gemm_step_t *step, const tile_choice_t *choice)
{
    char key[KEY];
    key_of(step, key);
    set(self, key, choice);
}

int tune_count(const tune_t *self)
{
    return (int)self->row.n;
}

void tune_print(const tune_t *self, str_t *out)
{
    for (size_t i = 0; i < self->row.n; i++) {
        const tile_choice_t *c = &self->row.at[i].choice;
        str_addf(out, "%s : ", self->row.at[i].key);
        if (c->library)
            str_add(out, "library\n");
        else
            str_addf(out, "%d %d %" PRId64 " %" PRId64 "\n", c->rows, c->cols, c->sum_block,
                     c->parts);
    }
}

/* "KEY : library" or "KEY : ROWS COLS SUM_BLOCK PARTS"; what fits no product is ignored when the
 * table is used (tiles_cut_as). */
static int parse_line(tune_t *self, char *line, int number, err_t *err)
{
    tile_choice_t c = {0};
    char *colon = strstr(line, " : ");
    int end = 0;
    if (!colon || colon - line >= KEY || self->row.n == MAX_ROW)
        return err_set(err, ERR_PARSE, "line %d: want KEY : CHOICE, at most %d lines", number,
                       MAX_ROW);
    *colon = 0;
    c.library = strcmp(colon + 3, "library") == 0;
    if (!c.library &&
        (sscanf(colon + 3, "%5d %5d %9" SCNd64 " %9" SCNd64 "%n", &c.rows, &c.cols, &c.sum_block,
                &c.parts, &end) != 4 ||
         colon[3 + end] || c.rows < 0 || c.cols < 0 || c.sum_block < 0 || c.parts < 0))
        return err_set(err, ERR_PARSE, "line %d: \"%s\" is no choice", number, colon + 3);
    set(self, line, &c);
    return 0;
}

tune_t *tune_parse(const char *text, err_t *err)
{
    tune_t *self = tune_new();
    char *copy = mem_strdup(text), *rest = copy, *line;
    for (int number = 1; self && (line = strsep(&rest, "\n")); number++) {
        if (*line == 0 || *line == '#') continue;
        if (parse_line(self, line, number, err) < 0) tune_destroy(&self);
    }
    free(copy);
    return self;
}

void tune_hash(const tune_t *self, char hex[HASH_HEX])
{
    str_t text = {0};
    hex[0] = 0;
    if (!self) return;
    tune_print(self, &text);
    hash_content(str_text(&text), text.n, hex);
    str_fini(&text);
}
