/* einsum and unary_einsum as sums, a dot_general and a transpose. The configuration has a letter
 * per dimension, "..." for leading ones that broadcast, and the result behind "->". */
#include <string.h>

#include "parse/other_op.h"

/* Letters stand for themselves; the dimensions of "..." are numbered from the last one on. */
enum { LABEL_DOTS = 128 };

typedef struct {
    ir_val_t x;
    int n;
    int label[IR_MAX_RANK];
} term_t;

typedef struct {
    parser_t *p;
    const draft_t *d;
    int n_term;
    term_t term[2], result; /* result: only the labels */
    int n_dots;             /* dimensions that "..." stands for in the result */
} einsum_t;

/* einsum %a, %b, config = "ab,bc->ac" : fn */
int form_einsum(parser_t *p, draft_t *d)
{
    const char *config;
    if (parse_operands(p, &d->in) < 0 || parse_expect(p, ',', ",") < 0) return -1;
    if (parse_expect_word(p, "config") < 0 || parse_expect(p, '=', "=") < 0) return -1;
    if (p->tok.kind != TOK_STRING) return parse_expected(p, "a string");
    if (parse_string(p, &config) < 0) return -1;
    attr_set_text(p->arena, &d->attrs, "einsum_config", ATTR_STRING, config);
    return parse_optional_attributes(p, &d->attrs) < 0 ? -1 : parse_signature(p, d);
}

/* --- reading the configuration --- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Letters and dots up to one of `stop` or the end; "..." stands for n_dots dimensions. */
static bool read_labels(const char **at_p, int n_dots, term_t *term)
{
    const char *at = *at_p;
    for (bool dots = false; *at != '\0' && *at != ',' && *at != '-'; at++) {
        int n = 1, label = *at;
        if (*at == ' ') continue;
        if (strncmp(at, "...", 3) == 0 && !dots) {
            dots = true;
            at += 2;
            n = n_dots;
            label = LABEL_DOTS + n_dots - 1;
        } else if (!is_letter(*at)) {
            return false;
        }
        if (term->n + n > IR_MAX_RANK) return false;
        for (int i = 0; i < n; i++) term->label[term->n++] = label - i;
    }
    *at_p = at;
    return true;
}

static int letters(const char *at)
{
    int n = 0;
    for (; *at != '\0' && *at != ',' && *at != '-'; at++) n += is_letter(*at);
    return n;
}

/* One side of "->": false when it does not fit the operands. */
static bool read_operands(einsum_t *e, const char **at_p)
{
    for (int t = 0; t < e->n_term; t++) {
        term_t *term = &e->term[t];
        term->x = e->d->in.at[t];
        int rank = ir_type_of(e->p->fn, term->x)->rank, n_dots = rank - letters(*at_p);
        if (n_dots < 0 || !read_labels(at_p, n_dots, term) || term->n != rank) return false;
        if (n_dots > e->n_dots) e->n_dots = n_dots;
        if (t + 1 < e->n_term && *(*at_p)++ != ',') return false;
    }
    return true;
}

static int fail(const einsum_t *e, const char *what)
{
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT] = "";
    const char *config = attr_text(&e->d->attrs, "einsum_config", "");
    ir_type_text(ir_type_of(e->p->fn, e->d->in.at[0]), a);
    if (e->n_term > 1) ir_type_text(ir_type_of(e->p->fn, e->d->in.at[1]), b);
    return other_fail(e->p, e->d, ERR_SHAPE, "einsum_config \"%.64s\" %s %s%s%s", config, what, a,
                      e->n_term > 1 ? ", " : "", b);
}

static int read_config(einsum_t *e)
{
    const char *at = attr_text(&e->d->attrs, "einsum_config", NULL);
    if (!at) return other_fail(e->p, e->d, ERR_ARG, "attribute einsum_config is missing");
    if (!read_operands(e, &at) || strncmp(at, "->", 2) != 0) return fail(e, "does not fit");
    at += 2;
    if (!read_labels(&at, e->n_dots, &e->result) || *at) return fail(e, "does not fit");
    return 0;
}

/* --- labels --- */

static int place_of(const term_t *term, int label)
{
    for (int i = 0; i < term->n; i++)
        if (term->label[i] == label) return i;
    return -1;
}

static int64_t dim_of(const einsum_t *e, const term_t *term, int place)
{
    if (term->x == IR_NONE) return 1; /* the builder has failed */
    return ir_type_of(e->p->fn, term->x)->dim[place];
}

static void drop(term_t *term, int place)
{
    term->n--;
    for (int i = place; i < term->n; i++) term->label[i] = term->label[i + 1];
}

/* Sum over a dimension. */
static void sum_out(einsum_t *e, term_t *term, int place)
{
    int64_t dim = place;
    term->x = ir_reduce(e->p->fn, OP_add, term->x, &dim, 1);
    drop(term, place);
}

/* A label that stands twice: what lies off the diagonal becomes zero, and one of the two goes. */
static int take_diagonals(einsum_t *e, term_t *term)
{
    ir_fn_t *fn = e->p->fn;
    for (int i = 0; i < term->n; i++) {
        for (int j = i + 1; j < term->n; j++) {
            if (term->label[i] != term->label[j] || term->x == IR_NONE) continue;
            if (dim_of(e, term, i) != dim_of(e, term, j)) return fail(e, "has unequal dimensions:");
            ir_type_t index = ir_type_with(*ir_type_of(fn, term->x), DT_I64);
            ir_val_t same = ir_compare(fn, "EQ", ir_iota(fn, &index, i), ir_iota(fn, &index, j));
            term->x = ir_select(fn, same, term->x, ir_scalar_like(fn, term->x, 0));
            sum_out(e, term, j--);
        }
    }
    return 0;
}

/* Dimensions of one that broadcast along the other operand's go. */
static void squeeze(einsum_t *e, term_t *term, const term_t *other)
{
    for (int i = 0; i < term->n; i++) {
        int j = place_of(other, term->label[i]);
        if (term->label[i] < LABEL_DOTS || j < 0 || dim_of(e, term, i) != 1) continue;
        if (dim_of(e, other, j) == 1) continue;
        ir_type_t type = *ir_type_of(e->p->fn, term->x);
        type.rank--;
        for (int k = i; k < type.rank; k++) type.dim[k] = type.dim[k + 1];
        type.dim[type.rank] = 0;
        term->x = ir_reshape(e->p->fn, term->x, &type);
        drop(term, i--);
    }
}

static void sum_alone(einsum_t *e, term_t *term, const term_t *other)
{
    for (int i = 0; i < term->n && term->x != IR_NONE; i++)
        if (place_of(&e->result, term->label[i]) < 0 &&
            (!other || place_of(other, term->label[i]) < 0))
            sum_out(e, term, i--);
}

/* The product of both, the result's dimensions in its order: batch, lhs, rhs. */
static int product(einsum_t *e, term_t *y)
{
    term_t *a = &e->term[0], *b = &e->term[1];
    ir_dot_t dot = {0};
    *y = (term_t){0};
    for (int i = 0; i < a->n; i++) {
        int j = place_of(b, a->label[i]);
        if (j < 0) continue;
        if (dim_of(e, a, i) != dim_of(e, b, j)) return fail(e, "has unequal dimensions:");
        if (place_of(&e->result, a->label[i]) < 0) {
            dot.lhs_contract[dot.n_contract] = i;
            dot.rhs_contract[dot.n_contract++] = j;
        } else {
            dot.lhs_batch[dot.n_batch] = i;
            dot.rhs_batch[dot.n_batch++] = j;
            y->label[y->n++] = a->label[i];
        }
    }
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < e->term[t].n; i++) {
            int label = e->term[t].label[i];
            if (place_of(&e->term[1 - t], label) >= 0) continue;
            if (y->n == IR_MAX_RANK) return fail(e, "has too many dimensions:");
            y->label[y->n++] = label;
        }
    y->x = ir_dot(e->p->fn, a->x, b->x, &dot, e->d->out.at[0].dtype);
    return 0;
}

/* The result's order of dimensions. */
static ir_val_t ordered(einsum_t *e, const term_t *y)
{
    int64_t order[IR_MAX_RANK];
    bool same = true, fits = y->n == e->result.n;
    for (int i = 0; fits && i < y->n; i++) {
        order[i] = place_of(y, e->result.label[i]);
        fits = order[i] >= 0 && place_of(&e->result, e->result.label[i]) == i;
        same = same && order[i] == i;
    }
    if (!fits) {
        fail(e, "names a dimension of the result that is not there once:");
        return IR_NONE;
    }
    return same ? y->x : ir_transpose(e->p->fn, y->x, order);
}

static ir_val_t build_einsum(parser_t *p, const draft_t *d)
{
    einsum_t e = {.p = p, .d = d, .n_term = (int)d->in.n};
    if (read_config(&e) < 0) return IR_NONE;
    for (int t = 0; t < e.n_term; t++)
        if (take_diagonals(&e, &e.term[t]) < 0) return IR_NONE;
    if (e.n_term == 1) {
        sum_alone(&e, &e.term[0], NULL);
        return p->fn->err.code ? IR_NONE : ordered(&e, &e.term[0]);
    }
    squeeze(&e, &e.term[0], &e.term[1]);
    squeeze(&e, &e.term[1], &e.term[0]);
    sum_alone(&e, &e.term[0], &e.term[1]);
    sum_alone(&e, &e.term[1], &e.term[0]);
    term_t y;
    if (p->fn->err.code || product(&e, &y) < 0 || p->fn->err.code) return IR_NONE;
    return ordered(&e, &y);
}

int finish_einsum(parser_t *p, draft_t *d, ir_region_t *into, ir_val_t *first)
{
    return other_build(p, d, into, first, build_einsum);
}
