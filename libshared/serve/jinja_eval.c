/* Expressions to values. */
#include <math.h>
#include <string.h>

#include "serve/jinja_in.h"

static int eval_list(run_t *run, const node_t *node, value_t *out)
{
    value_kind_t kind = node->kind == NODE_LIST && node->i ? VALUE_TUPLE : VALUE_LIST;
    if (value_new_list(run, kind, out) < 0) return -1;
    for (int i = 0; i < node->items.n; i++) {
        value_t v;
        if (run_eval(run, node->items.at[i], &v) < 0 || value_push(run, out->list, v) < 0)
            return -1;
    }
    return 0;
}

static int eval_dict(run_t *run, const node_t *node, value_t *out)
{
    if (value_new_dict(run, VALUE_DICT, out) < 0) return -1;
    for (int i = 0; i + 1 < node->items.n; i += 2) {
        value_t key, v;
        if (run_eval(run, node->items.at[i], &key) < 0 ||
            run_eval(run, node->items.at[i + 1], &v) < 0 || value_put(run, out->dict, key, v) < 0)
            return -1;
    }
    return 0;
}

/* --- calls --- */

typedef struct {
    value_t list, named;
} given_t;

static int eval_arguments(run_t *run, const node_t *node, given_t *given, args_t *args)
{
    int n = node->items.n - node->n_names;
    if (value_new_list(run, VALUE_LIST, &given->list) < 0 ||
        value_new_dict(run, VALUE_DICT, &given->named) < 0)
        return -1;
    for (int i = 0; i < node->items.n; i++) {
        value_t v;
        if (run_eval(run, node->items.at[i], &v) < 0) return -1;
        if (i < n) {
            if (value_push(run, given->list.list, v) < 0) return -1;
            continue;
        }
        const char *name = node->names[i - n];
        if (value_put(run, given->named.dict, value_text(name, strlen(name)), v) < 0) return -1;
    }
    *args = (args_t){given->list.list->at, given->list.list->n, given->named.dict};
    return 0;
}

const value_t *args_get(const args_t *args, size_t i, const char *name)
{
    if (i < args->n) return &args->at[i];
    for (size_t k = 0; args->named && name && k < args->named->keys.n; k++)
        if (value_says(&args->named->keys.at[k], name)) return &args->named->values.at[k];
    return NULL;
}

/* A member that is called is a method, unless it is a value of a namespace or an object. */
static int eval_method(run_t *run, const node_t *node, value_t *out)
{
    given_t given;
    args_t args;
    value_t self, member = {.kind = VALUE_UNDEFINED};
    if (run_eval(run, node->a->a, &self) < 0) return -1;
    if (self.kind == VALUE_NAMESPACE &&
        value_member(run, &self, node->a->text, node->a->n, &member) < 0)
        return -1;
    if (eval_arguments(run, node, &given, &args) < 0) return -1;
    run->line = node->line;
    if (member.kind == VALUE_MACRO)
        return run_macro(run, member.macro, given.list.list, given.named.dict, out);
    return call_method(run, &self, node->a->text, &args, out);
}

static int eval_call(run_t *run, const node_t *node, value_t *out)
{
    given_t given;
    args_t args;
    value_t callee;
    if (node->a->kind == NODE_MEMBER) return eval_method(run, node, out);
    if (run_eval(run, node->a, &callee) < 0 || eval_arguments(run, node, &given, &args) < 0)
        return -1;
    run->line = node->line;
    if (callee.kind == VALUE_FUNCTION) return function_call(run, (int)callee.i, &args, out);
    if (callee.kind == VALUE_MACRO)
        return run_macro(run, callee.macro, given.list.list, given.named.dict, out);
    if (callee.kind == VALUE_UNDEFINED)
        return run_fail(run, ERR_UNSUPPORTED, "the function \"%.*s\" is not known", (int)callee.s.n,
                        callee.s.at);
    return run_fail(run, ERR_TYPE, "%s cannot be called", value_kind(&callee));
}

static int eval_filter(run_t *run, const node_t *node, value_t *out)
{
    given_t given;
    args_t args;
    value_t v;
    if (run_eval(run, node->a, &v) < 0 || eval_arguments(run, node, &given, &args) < 0) return -1;
    run->line = node->line;
    return filter_apply(run, node->function, &v, &args, out);
}

static int eval_test(run_t *run, const node_t *node, value_t *out)
{
    given_t given;
    args_t args;
    value_t v;
    *out = value_bool(false);
    if (run_eval(run, node->a, &v) < 0 || eval_arguments(run, node, &given, &args) < 0) return -1;
    run->line = node->line;
    return test_apply(run, node->function, &v, &args, &out->b);
}

/* --- operators --- */

static int compare(run_t *run, const char *op, const value_t *a, const value_t *b, bool *holds)
{
    int order;
    if (strcmp(op, "in") == 0 || strcmp(op, "not in") == 0) {
        if (value_contains(run, b, a, holds) < 0) return -1;
        if (*op == 'n') *holds = !*holds;
        return 0;
    }
    if (op[1] == '=' && (*op == '=' || *op == '!')) {
        int same = value_equal(run, a, b);
        *holds = *op == '=' ? same == 1 : same == 0;
        return same < 0 ? -1 : 0;
    }
    if (value_order(run, a, b, &order) < 0) return -1;
    bool equal = op[1] == '=' && order == 0;
    *holds = equal || (*op == '<' ? order < 0 : order > 0);
    return 0;
}

static int eval_compare(run_t *run, const node_t *node, value_t *out)
{
    value_t a, b;
    *out = value_bool(true);
    if (run_eval(run, node->a, &a) < 0) return -1;
    for (int i = 0; i < node->items.n && out->b; i++, a = b) {
        if (run_eval(run, node->items.at[i], &b) < 0) return -1;
        run->line = node->line;
        if (compare(run, node->names[i], &a, &b, &out->b) < 0) return -1;
    }
    return 0;
}

static int join_texts(run_t *run, const value_t *a, const value_t *b, value_t *out)
{
    str_t text = {0};
    int status = value_print(run, a, &text);
    if (status == 0) status = value_print(run, b, &text);
    return value_take(run, &text, status, out);
}

static int join_lists(run_t *run, const value_t *a, const value_t *b, value_t *out)
{
    if (value_new_list(run, a->kind, out) < 0) return -1;
    for (size_t i = 0; i < a->list->n; i++)
        if (value_push(run, out->list, a->list->at[i]) < 0) return -1;
    for (size_t i = 0; i < b->list->n; i++)
        if (value_push(run, out->list, b->list->at[i]) < 0) return -1;
    return 0;
}

static int repeat(run_t *run, const value_t *a, int64_t times, value_t *out)
{
    str_t text = {0};
    int status = 0;
    for (int64_t i = 0; i < times && status == 0; i++)
        status = run_charge(run, 1, 0) < 0 ? -1 : value_print(run, a, &text);
    return value_take(run, &text, status, out);
}

static int math_int(run_t *run, char op, int64_t a, int64_t b, value_t *out)
{
    int64_t r = 0;
    bool over = false;
    if ((op == 'f' || op == '%') && b == 0) return run_fail(run, ERR_NUMERIC, "a division by zero");
    if (op == '+') over = __builtin_add_overflow(a, b, &r);
    if (op == '-') over = __builtin_sub_overflow(a, b, &r);
    if (op == '*') over = __builtin_mul_overflow(a, b, &r);
    if (op == 'f' || op == '%') {
        over = a == INT64_MIN && b == -1;
        if (!over) r = a % b;
        if (r != 0 && (r < 0) != (b < 0)) r += b; /* as Python: of the divisor's sign */
        if (!over && op == 'f') r = (a - r) / b;
    }
    *out = value_int(r);
    return over ? run_fail(run, ERR_NUMERIC, "a number beyond 64 bits") : 0;
}

static int math_float(run_t *run, char op, double a, double b, value_t *out)
{
    if (b == 0 && strchr("f%/", op)) return run_fail(run, ERR_NUMERIC, "a division by zero");
    double r = op == '+'   ? a + b
               : op == '-' ? a - b
               : op == '*' ? a * b
               : op == '/' ? a / b
               : op == 'f' ? floor(a / b)
                           : a - b * floor(a / b);
    *out = (value_t){.kind = VALUE_FLOAT, .f = r};
    return 0;
}

int run_math(run_t *run, char op, const value_t *a, const value_t *b, value_t *out)
{
    bool whole = a->kind != VALUE_FLOAT && b->kind != VALUE_FLOAT;
    if (op == '~') return join_texts(run, a, b, out);
    if (value_is_number(a) && value_is_number(b)) {
        if (!whole || op == '/') return math_float(run, op, value_f64(a), value_f64(b), out);
        return math_int(run, op, a->kind == VALUE_INT ? a->i : a->b,
                        b->kind == VALUE_INT ? b->i : b->b, out);
    }
    if (op == '+' && a->kind == VALUE_STRING && b->kind == VALUE_STRING)
        return join_texts(run, a, b, out);
    if (op == '+' && value_is_list(a) && a->kind == b->kind) return join_lists(run, a, b, out);
    if (op == '*' && a->kind == VALUE_STRING && b->kind == VALUE_INT)
        return repeat(run, a, b->i, out);
    const value_t *missing = a->kind == VALUE_UNDEFINED ? a : b->kind == VALUE_UNDEFINED ? b : NULL;
    if (missing)
        return run_fail(run, ERR_TYPE, "'%.*s' is undefined", (int)missing->s.n, missing->s.at);
    return run_fail(run, ERR_TYPE, "%s %s %s has no meaning", value_kind(a),
                    op == 'f' ? "//" : (char[]){op, 0}, value_kind(b));
}

static int eval_two(run_t *run, const node_t *node, value_t *out)
{
    value_t a, b;
    if (run_eval(run, node->a, &a) < 0 || run_eval(run, node->b, &b) < 0) return -1;
    run->line = node->line;
    return node->kind == NODE_INDEX ? value_index(run, &a, &b, out)
                                    : run_math(run, *node->text, &a, &b, out);
}

static int eval_slice(run_t *run, const node_t *node, value_t *out)
{
    value_t a, part[3];
    if (run_eval(run, node->a, &a) < 0) return -1;
    for (int i = 0; i < 3; i++) {
        part[i] = (value_t){.kind = VALUE_NONE};
        if (node->items.at[i] && run_eval(run, node->items.at[i], &part[i]) < 0) return -1;
    }
    run->line = node->line;
    return value_slice(run, &a, part, out);
}

static int eval_sign(run_t *run, const node_t *node, value_t *out)
{
    value_t v;
    if (run_eval(run, node->a, &v) < 0) return -1;
    if (!value_is_number(&v)) return run_fail(run, ERR_TYPE, "a sign before %s", value_kind(&v));
    return run_math(run, node->kind == NODE_NEGATE ? '-' : '+', &(value_t){.kind = VALUE_INT}, &v,
                    out);
}

/* and, or, if: what is not asked for is not computed. */
static int eval_branch(run_t *run, const node_t *node, value_t *out)
{
    if (node->kind == NODE_CHOICE) {
        if (run_eval(run, node->b, out) < 0) return -1;
        if (value_truth(out)) return run_eval(run, node->a, out);
        if (node->c) return run_eval(run, node->c, out);
        *out = (value_t){.kind = VALUE_UNDEFINED, .s = {"else", 4}};
        return 0;
    }
    if (run_eval(run, node->a, out) < 0) return -1;
    return value_truth(out) == (node->kind == NODE_OR) ? 0 : run_eval(run, node->b, out);
}

static int eval_node(run_t *run, const node_t *node, value_t *out)
{
    value_t v;
    switch (node->kind) {
    case NODE_NONE: return *out = (value_t){.kind = VALUE_NONE}, 0;
    case NODE_BOOL: return *out = value_bool(node->i), 0;
    case NODE_INT: return *out = value_int(node->i), 0;
    case NODE_FLOAT: return *out = (value_t){.kind = VALUE_FLOAT, .f = node->f}, 0;
    case NODE_STRING: return *out = value_text(node->text, node->n), 0;
    case NODE_NAME: return *out = run_find(run, node->text), 0;
    case NODE_LIST: return eval_list(run, node, out);
    case NODE_DICT: return eval_dict(run, node, out);
    case NODE_MEMBER:
        if (run_eval(run, node->a, &v) < 0) return -1;
        run->line = node->line;
        return value_member(run, &v, node->text, node->n, out);
    case NODE_INDEX:
    case NODE_MATH: return eval_two(run, node, out);
    case NODE_SLICE: return eval_slice(run, node, out);
    case NODE_CALL: return eval_call(run, node, out);
    case NODE_FILTER: return eval_filter(run, node, out);
    case NODE_TEST: return eval_test(run, node, out);
    case NODE_NOT:
        if (run_eval(run, node->a, &v) < 0) return -1;
        return *out = value_bool(!value_truth(&v)), 0;
    case NODE_NEGATE:
    case NODE_PLUS: return eval_sign(run, node, out);
    case NODE_AND:
    case NODE_OR:
    case NODE_CHOICE: return eval_branch(run, node, out);
    case NODE_COMPARE: return eval_compare(run, node, out);
    default: return run_fail(run, ERR_STATE, "a statement in an expression");
    }
}

int run_eval(run_t *run, const node_t *node, value_t *out)
{
    run->line = node->line;
    if (run_deeper(run) < 0) return -1;
    int status = eval_node(run, node, out);
    run->depth--;
    return status;
}
