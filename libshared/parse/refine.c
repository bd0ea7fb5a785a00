/* `?` in shapes, where the caller says what the entry's are (--shape x=8x128): arguments of the entry
 * have the shapes they are given, arguments of other functions those of a call before; results follow
 * by the ops' type rules, or from shapes that are computed. What does not follow is refused. While the
 * text is read an open dimension is REFINE_ANY; no value has such a type. */
#include "parse/refine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse/wide.h"

#define HINT "export the model with static shapes, or say more with --shape NAME=8x128"

bool refine_is_open(const ir_type_t *type)
{
    for (int d = 0; !wide_is(type) && d < type->rank; d++)
        if (type->dim[d] == REFINE_ANY) return true;
    return false;
}

bool refine_fits(const ir_type_t *is, const ir_type_t *written)
{
    if (!refine_is_open(written)) return ir_type_equal(is, written);
    if (wide_is(is) || is->dtype != written->dtype || is->rank != written->rank) return false;
    for (int d = 0; d < is->rank; d++)
        if (written->dim[d] != REFINE_ANY && written->dim[d] != is->dim[d]) return false;
    return true;
}

/* As it was written. */
static const char *open_text(const parser_t *p, const ir_type_t *type, char buf[IR_TYPE_TEXT])
{
    parse_type_text(p, type, buf);
    for (char *at = buf; (at = strstr(at, "-1x")) != NULL;) {
        *at++ = '?';
        memmove(at, at + 1, strlen(at));
    }
    return buf;
}

int refine_static(parser_t *p, const ir_type_t *type, const char *at)
{
    char text[IR_TYPE_TEXT];
    if (!refine_is_open(type)) return 0;
    return parse_fail(p, at, ERR_UNSUPPORTED, "a dimension of %s is not known here; " HINT,
                      open_text(p, type, text));
}

/* --- arguments --- */

/* Rule k of `NAME=8x128,OTHER=4`: its name and the text of its dimensions; false: there is none. */
typedef struct {
    const char *name, *dims;
    size_t n_name, n_dims;
} rule_t;

static bool rule_at(const char *rules, int k, rule_t *out)
{
    for (; k > 0 && rules; k--) {
        rules = strchr(rules, ',');
        if (rules) rules++;
    }
    if (!rules || !*rules) return false;
    size_t n = strcspn(rules, ","), equal = strcspn(rules, "=");
    if (equal > n) equal = n;
    size_t behind = equal < n ? equal + 1 : n;
    *out = (rule_t){rules, rules + behind, equal, n - behind};
    return true;
}

static bool is_called(const rule_t *rule, const char *name)
{
    return name && strlen(name) == rule->n_name && memcmp(name, rule->name, rule->n_name) == 0;
}

static int bad_rule(parser_t *p, const rule_t *rule, const ir_type_t *type)
{
    char text[IR_TYPE_TEXT];
    return err_set(p->err, ERR_ARG,
                   "--shape %.*s=%.*s: the argument is %s: give all its dimensions, such as "
                   "8x128",
                   (int)rule->n_name, rule->name, (int)rule->n_dims, rule->dims,
                   open_text(p, type, text));
}

static int apply_rule(parser_t *p, const rule_t *rule, ir_type_t *type)
{
    ir_type_t made = {.dtype = type->dtype};
    for (const char *at = rule->dims, *end = at + rule->n_dims; at < end;) {
        char *behind;
        long long dim = *at >= '0' && *at <= '9' ? strtoll(at, &behind, 10) : -1;
        if (dim < 0 || made.rank == IR_MAX_RANK) return bad_rule(p, rule, type);
        made.dim[made.rank++] = dim;
        at = behind;
        if (at < end && (*at++ != 'x' || at == end)) return bad_rule(p, rule, type);
    }
    if (!refine_fits(&made, type)) return bad_rule(p, rule, type);
    if (ir_type_check(&made, p->err) < 0) return -1;
    *type = made;
    return 0;
}

int refine_argument(parser_t *p, const refine_argument_t *arg, ir_type_t *type)
{
    char place[16], number[20];
    rule_t rule;
    if (!p->options->shapes) return 0;
    snprintf(place, sizeof place, "%d", arg->number);
    snprintf(number, sizeof number, "arg%d", arg->number);
    for (int k = 0; !arg->is_private && k < 64 && rule_at(p->options->shapes, k, &rule); k++) {
        if (!is_called(&rule, arg->spoken) && !is_called(&rule, arg->exported) &&
            !is_called(&rule, place) && !is_called(&rule, number))
            continue;
        p->shapes_used |= (uint64_t)1 << k;
        return apply_rule(p, &rule, type);
    }
    for (size_t i = 0; refine_is_open(type) && i < p->uses.n; i++) {
        const use_t *use = &p->uses.at[i];
        bool called = strcmp(use->callee, arg->function) == 0 && arg->number < use->n_in;
        if (called && refine_fits(&use->types[arg->number], type)) *type = use->types[arg->number];
    }
    if (!refine_is_open(type)) return 0;
    char text[IR_TYPE_TEXT];
    const char *name = arg->exported ? arg->exported : arg->spoken ? arg->spoken : number;
    return parse_fail(p, arg->at, ERR_UNSUPPORTED,
                      "argument %.80s of @%.80s is %s, and its shape is not known%s", name,
                      arg->function, open_text(p, type, text),
                      arg->is_private ? ": nothing calls it before" : "; say --shape NAME=8x128");
}

int refine_check_used(parser_t *p)
{
    rule_t rule;
    for (int k = 0; p->options->shapes && k < 64 && rule_at(p->options->shapes, k, &rule); k++)
        if (!(p->shapes_used >> k & 1))
            return err_set(p->err, ERR_ARG, "--shape %.*s: no argument of the entry is called so",
                           (int)rule.n_name, rule.name);
    return 0;
}

/* --- integers that calls hand over: jax.export computes sizes once, and its private functions take
 * them as arguments --- */

enum { KNOWN_MOST = 16 }; /* of one operand: the dimensions of a shape */

const known_operand_t *refine_operands(parser_t *p, const draft_t *d)
{
    if (!p->options->shapes) return NULL;
    for (size_t i = 0; i < d->in.n; i++) /* a tuple is not one argument */
        if (wide_is(ir_type_of(p->fn, d->in.at[i]))) return NULL;
    known_operand_t *known = ARENA_ARRAY(p->arena, known_operand_t, d->in.n + 1);
    for (size_t i = 0; i < d->in.n; i++) {
        int64_t value[KNOWN_MOST];
        const ir_type_t *type = ir_type_of(p->fn, d->in.at[i]);
        int64_t n = dtype_is_int(type->dtype) ? ir_type_count(type) : -1;
        known[i] = (known_operand_t){0};
        if (n < 0 || n > KNOWN_MOST || !static_known_ints(p, d->in.at[i], n, value)) continue;
        int64_t *kept = ARENA_ARRAY(p->arena, int64_t, n + 1);
        memcpy(kept, value, (size_t)n * sizeof *kept);
        known[i] = (known_operand_t){kept, ARENA_ARRAY(p->arena, bool, 1)};
        *known[i].asked = false;
    }
    return known;
}

const int64_t *refine_known_argument(const parser_t *p, ir_val_t value)
{
    const ir_region_t *body = p->fn->body;
    ir_val_t number = value - body->arg; /* large where the value stands before the arguments */
    if (!p->fn->is_private || number >= (ir_val_t)body->n_arg) return NULL;
    for (size_t i = 0; i < p->uses.n; i++) {
        const use_t *use = &p->uses.at[i];
        if (!use->known || use->n_in != body->n_arg || strcmp(use->callee, p->fn->name) != 0)
            continue;
        const known_operand_t *known = &use->known[number];
        if (!known->value || !ir_type_equal(&use->types[number], ir_type_of(p->fn, value)))
            return NULL;
        *known->asked = true;
        return known->value;
    }
    return NULL;
}

static bool same_integers(const use_t *a, const use_t *b, int i)
{
    size_t n = (size_t)ir_type_count(&a->types[i]);
    return b->n_in == a->n_in && b->known && b->known[i].value &&
           memcmp(a->known[i].value, b->known[i].value, n * sizeof *a->known[i].value) == 0;
}

int refine_check_calls(parser_t *p)
{
    for (size_t i = 0; i < p->uses.n; i++) {
        const use_t *first = &p->uses.at[i], *end = p->uses.at + p->uses.n;
        for (int k = 0; first->known && k < first->n_in; k++) {
            if (!first->known[k].value || !*first->known[k].asked) continue;
            const use_t *other = first + 1;
            while (other < end &&
                   (strcmp(other->callee, first->callee) != 0 || same_integers(first, other, k)))
                other++;
            if (other == end) continue;
            return parse_fail(p, other->at, ERR_UNSUPPORTED,
                              "@%.64s: shapes in it follow from operand %d, which is not the same "
                              "in all calls; export the model with static shapes",
                              first->callee, k);
        }
    }
    return 0;
}

/* --- results --- */

static int shape_operand(op_code_t code)
{
    return code == OP_dynamic_iota                                             ? 0
           : code == OP_dynamic_broadcast_in_dim || code == OP_dynamic_reshape ? 1
                                                                               : -1;
}

/* By the operand that says it. */
static bool by_operand(parser_t *p, const draft_t *d, ir_type_t *out)
{
    int i = shape_operand(d->code);
    ir_type_t made = *out;
    if (i < 0 || (size_t)i >= d->in.n) return false;
    if (!static_known_ints(p, d->in.at[i], made.rank, made.dim)) return false;
    for (int k = 0; k < made.rank; k++)
        if (made.dim[k] < 0) return false;
    if (!refine_fits(&made, out)) return false;
    *out = made;
    return true;
}

/* Each open dimension is the first operand's of that rank. */
static ir_type_t like_operand(const parser_t *p, const draft_t *d, ir_type_t type)
{
    for (size_t i = 0; i < d->in.n; i++) {
        const ir_type_t *in = ir_type_of(p->fn, d->in.at[i]);
        if (wide_is(in) || in->rank != type.rank) continue;
        for (int k = 0; k < type.rank; k++)
            if (type.dim[k] == REFINE_ANY) type.dim[k] = in->dim[k];
        break;
    }
    return type;
}

/* By the op's own rule, which is asked with and without a guess. */
static bool by_rule(parser_t *p, const draft_t *d, const ir_type_t *guess, ir_type_t *out)
{
    ir_op_t op = {.code = d->code,
                  .n_in = (int)d->in.n,
                  .in = d->in.at,
                  .n_out = (int)d->out.n,
                  .n_region = (int)d->region.n,
                  .region = d->region.at,
                  .attrs = d->attrs,
                  .line = d->line};
    err_t none = {0};
    bool right = (d->def->n_in < 0 || d->in.n == (size_t)d->def->n_in) && d->def->infer;
    memcpy(out, guess, d->out.n * sizeof *out);
    if (!right || d->def->infer(p->fn, &op, out, &none) < 0) return false;
    for (size_t i = 0; i < d->out.n; i++)
        if (refine_is_open(&out[i]) || !refine_fits(&out[i], &d->out.at[i])) return false;
    return true;
}

/* Ops whose result only its own type tells: with an open one there is nothing to go by. */
static bool tells_itself(op_code_t code)
{
    return code == OP_broadcast_in_dim || code == OP_reshape || code == OP_iota ||
           code == OP_constant || code == OP_custom_call || code == OP_rng;
}

static bool find_results(parser_t *p, draft_t *d)
{
    size_t n = d->out.n;
    if (n == 1 && by_operand(p, d, &d->out.at[0])) return true;
    if (tells_itself(d->code) || shape_operand(d->code) >= 0) return false;
    ir_type_t *guess = ARENA_ARRAY(p->arena, ir_type_t, 2 * n), *made = guess + n;
    memset(guess, 0, n * sizeof *guess);
    bool found = by_rule(p, d, guess, made);
    for (size_t i = 0; !found && i < n; i++) guess[i] = like_operand(p, d, d->out.at[i]);
    bool calls = d->code == OP_call || d->code == OP_composite; /* checked when all are known */
    if (!found && calls) memcpy(made, guess, n * sizeof *made);
    found = found || calls || by_rule(p, d, guess, made);
    if (found) memcpy(d->out.at, made, n * sizeof *made);
    return found;
}

int refine_results(parser_t *p, draft_t *d)
{
    char text[IR_TYPE_TEXT];
    const ir_type_t *open = NULL;
    for (size_t i = 0; i < d->out.n; i++)
        if (refine_is_open(&d->out.at[i])) open = &d->out.at[i];
    if (!open) return 0;
    ir_type_t written = *open;
    if (find_results(p, d)) open = NULL;
    for (size_t i = 0; i < d->out.n; i++)
        if (refine_is_open(&d->out.at[i])) open = &written;
    if (!open) return 0;
    return parse_fail(p, d->name.at, ERR_UNSUPPORTED,
                      "%.*s: its result %s does not follow from the shapes that are known; " HINT,
                      (int)d->name.n, d->name.at, open_text(p, &written, text));
}
