/* libpcp's builder over the whole op table: every function of tests/checks and tests/models is built again through the
 * public interface, op by op, and must print as it was read; maps are built from operands alone. An op of the
 * table that nothing here builds fails the test: a new one that is no plain map needs a check, as others have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "corpus.h"
#include "ir/print.h"
#include "ir/printer.h"
#include "parse/parse.h"
#include "pcp/pcp.h"

static bool built[OP_COUNT];
static int n_function;

/* Ops that texts do not have. */
static const struct {
    op_code_t op;
    const char *why;
} elsewhere[] = {
    {OP_pcp_fused, "made by a pass"},
};

/* --- from IR to calls of the public builder --- */

typedef struct {
    const ir_fn_t *fn;
    pcp_graph_t *graph;
    pcp_value_t *value; /* [fn->n_value] */
} rebuild_t;

static const pcp_error_t *problem(const rebuild_t *r)
{
    return pcp_graph_error(r->graph);
}

static pcp_type_t type_of(const ir_type_t *type)
{
    char text[IR_TYPE_TEXT];
    pcp_type_t out;
    if (pcp_type_parse(ir_type_text(type, text), &out, NULL) < 0) fail_msg("no type: %s", text);
    return out;
}

static char *attributes(const ir_attrs_t *attrs)
{
    str_t text = {0};
    for (int i = 0; i < attrs->n; i++) {
        if (i > 0) str_add(&text, ", ");
        print_named_attr(&text, &attrs->at[i]);
    }
    return text.at;
}

static void build_region(rebuild_t *r, const ir_region_t *from, pcp_region_t **to);

static void build_op(rebuild_t *r, const ir_op_t *op)
{
    pcp_value_t *in = mem_calloc((size_t)op->n_in + 1, sizeof *in);
    pcp_region_t **region = mem_calloc((size_t)op->n_region + 1, sizeof *region);
    pcp_type_t *types = mem_calloc((size_t)op->n_out + 1, sizeof *types);
    for (int i = 0; i < op->n_in; i++) in[i] = r->value[op->in[i]];
    for (int i = 0; i < op->n_region; i++) build_region(r, op->region[i], &region[i]);
    for (int i = 0; i < op->n_out; i++)
        types[i] = type_of(ir_type_of(r->fn, op->out + (ir_val_t)i));
    char *attrs = attributes(&op->attrs);
    if (pcp_op(r->graph, op_def(op->code)->name, op->n_in, in, attrs, op->n_region, region,
               op->n_out, types, &r->value[op->out]) < 0)
        fail_msg("@%s: %s {%s}: %s", r->fn->name, op_def(op->code)->name, attrs ? attrs : "",
                 pcp_error_text(problem(r)));
    built[op->code] = true;
    free(attrs);
    free(types);
    free(region);
    free(in);
}

static void build_ops(rebuild_t *r, const ir_region_t *from)
{
    for (int i = 0; i < from->n_op; i++) build_op(r, from->op[i]);
}

static void build_region(rebuild_t *r, const ir_region_t *from, pcp_region_t **to)
{
    pcp_type_t *types = mem_calloc((size_t)from->n_arg + 1, sizeof *types);
    pcp_value_t *results = mem_calloc((size_t)from->n_result + 1, sizeof *results);
    for (int i = 0; i < from->n_arg; i++)
        types[i] = type_of(ir_type_of(r->fn, from->arg + (ir_val_t)i));
    *to = pcp_region_begin(r->graph, from->n_arg, types, &r->value[from->arg]);
    if (!*to) fail_msg("%s", pcp_error_text(problem(r)));
    build_ops(r, from);
    for (int i = 0; i < from->n_result; i++) results[i] = r->value[from->result[i]];
    if (pcp_region_end(r->graph, *to, from->n_result, results) < 0)
        fail_msg("%s", pcp_error_text(problem(r)));
    free(types);
    free(results);
}

static void build_function(pcp_graph_t *graph, const ir_fn_t *fn)
{
    char name[32];
    pcp_error_t *error = pcp_error_new();
    rebuild_t r = {fn, graph, mem_calloc(fn->n_value + 1, sizeof *r.value)};
    pcp_function_begin(graph, fn->name);
    for (int i = 0; i < fn->body->n_arg; i++) {
        pcp_type_t type = type_of(ir_type_of(fn, ir_fn_param(fn, i)));
        snprintf(name, sizeof name, "in%d", i);
        r.value[ir_fn_param(fn, i)] = pcp_input(graph, name, &type);
    }
    build_ops(&r, fn->body);
    for (int i = 0; i < fn->body->n_result; i++) {
        snprintf(name, sizeof name, "out%d", i);
        pcp_output(graph, name, r.value[fn->body->result[i]]);
    }
    if (pcp_function_end(graph, error) < 0) fail_msg("@%s: %s", fn->name, pcp_error_text(error));
    pcp_error_destroy(&error);
    free(r.value);
    n_function++;
}

/* --- order: who is called comes first --- */

static bool calls_are_there(const pcp_graph_t *graph, const ir_region_t *region)
{
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        for (int k = 0; k < op->attrs.n; k++)
            if (op->attrs.at[k].kind == ATTR_SYMBOL &&
                pcp_function_inputs(graph, op->attrs.at[k].text) < 0)
                return false;
        for (int k = 0; k < op->n_region; k++)
            if (!calls_are_there(graph, op->region[k])) return false;
    }
    return true;
}

static void build_module(pcp_graph_t *graph, const ir_module_t *module)
{
    for (int before = -1; before < pcp_graph_count(graph);) {
        before = pcp_graph_count(graph);
        for (int i = 0; i < module->n_fn; i++)
            if (pcp_function_inputs(graph, module->fn[i]->name) < 0 &&
                calls_are_there(graph, module->fn[i]->body))
                build_function(graph, module->fn[i]);
    }
    assert_int_equal(pcp_graph_count(graph), module->n_fn);
}

/* --- the same text --- */

static char *text_of(const ir_module_t *module, ir_fn_t *fn)
{
    str_t text = {0};
    ir_fn_t bare = *fn, *list[] = {&bare};
    ir_module_t one = *module;
    bare.param_attrs = bare.result_attrs = NULL;
    bare.attrs = (ir_attrs_t){0};
    bare.is_private = false;
    one.name = NULL;
    one.attrs = (ir_attrs_t){0};
    one.fn = list;
    one.n_fn = 1;
    ir_print_module(&one, &text);
    return text.at;
}

static void compare(const ir_module_t *want, const ir_module_t *got)
{
    for (int i = 0; i < want->n_fn; i++) {
        ir_fn_t *twin = ir_module_find(got, want->fn[i]->name);
        char *a = text_of(want, want->fn[i]), *b = text_of(got, twin);
        if (strcmp(a, b) != 0) fail_msg("read:\n%s\nbuilt:\n%s", a, b);
        free(a);
        free(b);
    }
}

static void rebuild(void *context, const char *path, const parse_sections_t *s)
{
    err_t err = {0};
    (void)context;
    if (parse_is_blank(s->at, s->n)) return;
    ir_module_t *module = parse_section(s->at, s->n, path, s->line, &err);
    if (!module) fail_msg("%s", err.text);
    pcp_graph_t *graph = pcp_graph_new();
    build_module(graph, module);
    char *text = pcp_graph_print(graph, NULL);
    ir_module_t *again = parse_stablehlo(text, strlen(text), path, &err);
    if (!again) fail_msg("%s\n%s", err.text, text);
    compare(module, again);
    ir_module_destroy(&again);
    ir_module_destroy(&module);
    pcp_free(text);
    pcp_graph_destroy(&graph);
}

static void test_checks(void **state)
{
    (void)state;
    assert_true(corpus_sections("tests/checks", rebuild, NULL) > 20);
    print_message("%d functions\n", n_function);
    assert_true(n_function > 200);
    assert_int_equal(pcp_memory_in_use(), 0);
}

/* Models draw and condition as no check does. */
static void test_models(void **state)
{
    (void)state;
    assert_true(corpus_sections("tests/models", rebuild, NULL) > 5);
    assert_int_equal(pcp_memory_in_use(), 0);
}

/* Does the op take operands of this type, with nothing else said? The result's type is the rule's. */
static bool takes(const op_def_t *def, pcp_dtype_t dtype)
{
    pcp_value_t in[3];
    pcp_type_t type = PCP_TYPE(dtype, 2, 3);
    pcp_graph_t *graph = pcp_graph_new();
    pcp_function_begin(graph, "main");
    for (int i = 0; i < def->n_in; i++)
        in[i] = pcp_input(graph, (char[]){(char)('a' + i), 0}, &type);
    pcp_output(graph, "y", pcp_op1(graph, def->name, def->n_in, in, NULL, NULL));
    bool fits = pcp_function_end(graph, NULL) == 0;
    pcp_graph_destroy(&graph);
    return fits;
}

/* All maps without attributes, by name and operands alone. */
static void test_plain_ops(void **state)
{
    static const pcp_dtype_t dtypes[] = {PCP_F32, PCP_I32, PCP_UI8, PCP_I1, PCP_C64};
    int n = 0;
    (void)state;
    for (op_code_t code = OP_invalid + 1; code < OP_COUNT; code++) {
        const op_def_t *def = op_def(code);
        bool fits = false;
        if (def->n_in < 1 || def->n_in > 3 || def->n_out != 1 || def->n_region != 0) continue;
        for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
            fits = takes(def, dtypes[i]) || fits;
        built[code] = built[code] || fits;
        n += fits;
    }
    print_message("%d ops\n", n);
    assert_true(n >= 80);
    assert_int_equal(pcp_memory_in_use(), 0);
}

static void test_every_op_was_built(void **state)
{
    int n_missing = 0;
    (void)state;
    for (int i = 0; pcp_op_name(i); i++) {
        op_code_t code = (op_code_t)(i + 1);
        bool known = built[code] || strncmp(pcp_op_name(i), "pcp.c", 5) == 0;
        for (size_t k = 0; k < sizeof elsewhere / sizeof *elsewhere; k++)
            known = known || elsewhere[k].op == code;
        if (!known) print_error("no check has %s\n", pcp_op_name(i));
        n_missing += !known;
    }
    assert_int_equal(n_missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checks),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_plain_ops),
        cmocka_unit_test(test_every_op_was_built),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
