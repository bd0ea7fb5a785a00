/* Roles of arguments: what names, use and types say, what the caller's rules change, what is refused;
 * and that the rewritten module trains as the roles have it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "compile/roles.h"
#include "ir/print.h"
#include "ops/eval.h"
#include "parse/parse.h"
#include "passes/passes.h"
#include "temp.h"

/* loss = sum((x w - y)^2); the text between the marks varies. */
#define REGRESSION(args, before, results, types)                                                \
    "func.func @main(" args ") -> (" types ") {\n"                                              \
    "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n" before                            \
    "  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x3xf32>, "    \
    "tensor<3x2xf32>) -> tensor<4x2xf32>\n"                                                     \
    "  %d = stablehlo.subtract %p, %t : tensor<4x2xf32>\n"                                      \
    "  %q = stablehlo.multiply %d, %d : tensor<4x2xf32>\n"                                      \
    "  %loss = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, " \
    "1] : (tensor<4x2xf32>, tensor<f32>) -> tensor<f32>\n"                                      \
    "  return " results " : " types "\n}\n"
#define W "%w: tensor<3x2xf32>"
#define X "%x: tensor<4x3xf32>"
#define LABELS                                                          \
    "  %t0 = stablehlo.convert %l : (tensor<4xi32>) -> tensor<4xf32>\n" \
    "  %t = stablehlo.broadcast_in_dim %t0, dims = [0] : (tensor<4xf32>) -> tensor<4x2xf32>\n"
#define EMA                                                                                     \
    "  %c9 = stablehlo.constant dense<0.9> : tensor<3xf32>\n"                                   \
    "  %xs = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : " \
    "(tensor<4x3xf32>, tensor<f32>) -> tensor<3xf32>\n"                                         \
    "  %m1 = stablehlo.multiply %m, %c9 : tensor<3xf32>\n"                                      \
    "  %m2 = stablehlo.add %m1, %xs : tensor<3xf32>\n"

typedef struct {
    const char *text, *rules, *want; /* want: roles in the text's order, then '?' when unsure */
} case_t;

static const case_t cases[] = {
    /* floats whose rows are the labels' */
    {REGRESSION(W ", %a: tensor<4x3xf32>, %l: tensor<4xi32>",
                "  %x = stablehlo.negate %a : tensor<4x3xf32>\n" LABELS, "%loss", "tensor<f32>"),
     NULL, "param batch batch"},
    /* all floats, two of them with rows of their own: unsure; the caller says it */
    {REGRESSION(W ", %a: tensor<4x3xf32>, %b: tensor<4x2xf32>",
                "  %x = stablehlo.negate %a : tensor<4x3xf32>\n"
                "  %t = stablehlo.negate %b : tensor<4x2xf32>\n",
                "%loss", "tensor<f32>"),
     NULL, "param param? param?"},
    {REGRESSION(W ", %a: tensor<4x3xf32>, %b: tensor<4x2xf32>",
                "  %x = stablehlo.negate %a : tensor<4x3xf32>\n"
                "  %t = stablehlo.negate %b : tensor<4x2xf32>\n",
                "%loss", "tensor<f32>"),
     "a=batch,arg2=batch", "param batch batch"},
    /* names of the exporter, of the text, and %x is no name for the one float there is */
    {REGRESSION(W " loc(\"params['w']\"), " X ", %t: tensor<4x2xf32> loc(\"targets\")", "", "%loss",
                "tensor<f32>"),
     NULL, "param batch batch"},
    {"func.func @main(%x: tensor<2xf32>) -> tensor<f32> {\n  %0 = stablehlo.dot_general %x, %x, "
     "contracting_dims = [0] x [0] : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>\n  return %0 : "
     "tensor<f32>\n}\n",
     NULL, "param"},
    /* a running mean: by its use, by name, and where two results could be its next value */
    {REGRESSION(W ", %m: tensor<3xf32>, " X ", %l: tensor<4xi32>", LABELS EMA, "%loss, %m2",
                "tensor<f32>, tensor<3xf32>"),
     NULL, "param state:1 batch batch"},
    {REGRESSION(W ", %m: tensor<3xf32>, " X ", %l: tensor<4xi32>", LABELS EMA, "%m2, %loss",
                "tensor<3xf32>, tensor<f32>"),
     NULL, "param state:0 batch batch"},
    {REGRESSION(W ", %m: tensor<3xf32>, " X ", %l: tensor<4xi32>", LABELS EMA, "%loss, %m2, %m1",
                "tensor<f32>, tensor<3xf32>, tensor<3xf32>"),
     "m=state:1", "param state:1 batch batch"},
    {REGRESSION(W ", %m: tensor<3xf32>, " X ", %l: tensor<4xi32>", LABELS EMA, "%loss",
                "tensor<f32>"),
     NULL, "param frozen batch batch"},
    /* scalars */
    {REGRESSION(
         W ", " X ", %l: tensor<4xi32>, %s: tensor<f32>, %lr: tensor<f32>, %step: tensor<i32>",
         LABELS "  %s1 = stablehlo.multiply %s, %lr : tensor<f32>\n", "%loss", "tensor<f32>"),
     "s=scalar:0.5", "param batch batch scalar:0.5 scalar:lr scalar:step"},
    {REGRESSION("%v: tensor<3x2xf32>, " X ", %l: tensor<4xi32>, %s: tensor<f32>",
                LABELS "  %sb = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> "
                       "tensor<3x2xf32>\n  %w = stablehlo.multiply %v, %sb : tensor<3x2xf32>\n",
                "%loss", "tensor<f32>"),
     NULL, "param batch batch param?"},
    /* a key by its bits */
    {REGRESSION(W ", " X ", %l: tensor<4xi32>, %k: tensor<2xui32>",
                LABELS "  %k1 = stablehlo.xor %k, %k : tensor<2xui32>\n", "%loss", "tensor<f32>"),
     NULL, "param batch batch seed"},
};

static ir_module_t *parse(const char *text)
{
    err_t err = {0};
    ir_module_t *module = parse_stablehlo(text, strlen(text), "t.mlir", &err);
    if (!module) fail_msg("%s\n%s", err.text, text);
    return module;
}

static roles_options_t rules(const char *text)
{
    return (roles_options_t){.loss_result = -1, .rules = text};
}

/* The rewritten module's text reads back, and says the same roles by itself. */
static void check_again(const ir_module_t *module)
{
    err_t err = {0};
    str_t text = {0};
    roles_t roles;
    ir_print_module(module, &text);
    ir_module_t *again = parse(str_text(&text));
    const roles_options_t none = rules(NULL);
    if (roles_assign(again, &none, &roles, &err) < 0 || roles.rewritten)
        fail_msg("%s: %s", roles.rewritten ? "rewritten again" : err.text, str_text(&text));
    ir_module_destroy(&again);
    str_fini(&text);
}

static void test_roles(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err_t err = {0};
        roles_t roles;
        str_t got = {0};
        ir_module_t *module = parse(cases[i].text);
        const roles_options_t options = rules(cases[i].rules);
        if (roles_assign(module, &options, &roles, &err) < 0) fail_msg("case %zu: %s", i, err.text);
        for (int k = 0; k < roles.n; k++)
            str_addf(&got, "%s%s%s", k ? " " : "", roles.row[k].role,
                     roles.row[k].unsure ? "?" : "");
        assert_string_equal(str_text(&got), cases[i].want);
        assert_int_equal(roles_check(&roles, &err), strchr(cases[i].want, '?') ? -1 : 0);
        if (roles.rewritten) check_again(module);
        str_fini(&got);
        ir_module_destroy(&module);
    }
}

/* --- what is refused --- */

static void test_refused(void **state)
{
    (void)state;
    static const char text[] = REGRESSION(W ", " X ", %l: tensor<4xi32>", LABELS, "%loss, %p",
                                          "tensor<f32>, tensor<4x2xf32>");
    static const struct {
        roles_options_t options;
        const char *words;
    } rows[] = {
        {{.loss_result = -1, .rules = "u=param"},
         "--role u=param: no argument of @main is called u"},
        {{.loss_result = -1, .rules = "w"}, "expected NAME=ROLE"},
        {{.loss_result = -1, .rules = "w=weight"},
         "argument %w has the role \"weight\", which is none"},
        {{.loss_result = -1, .rules = "l=param"}, "only floats can be trained"},
        {{.loss_result = -1, .rules = "w=state:7"}, "but @main has 2 results"},
        {{.loss_result = -1, .rules = "w=state"}, "which result is its next value is not clear"},
        {{.loss_result = -1, .rules = "w=frozen,x=batch"}, "no argument to train"},
        {{.loss_result = -1, .rules = "x=scalar:fast"}, "expected step, lr or a number"},
        {{.loss_result = 1}, "--loss-result 1: it is tensor<4x2xf32>"},
        {{.loss_result = 2}, "@main has 2 results"},
        {{.loss_result = -1, .entry = "f"}, "public ones are @main"},
        {{.loss_result = -1, .file = "/nowhere"}, "/nowhere"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        err_t err = {0};
        roles_t roles;
        ir_module_t *module = parse(text);
        int rc = roles_assign(module, &rows[i].options, &roles, &err);
        if (rc == 0 || !strstr(err.text, rows[i].words))
            fail_msg("want %s, got %s", rows[i].words, rc == 0 ? "no error" : err.text);
        ir_module_destroy(&module);
    }
}

/* --- entry, file, order of tokens --- */

static void test_entry_and_file(void **state)
{
    (void)state;
    static const char text[] =
        "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> }\n"
        "func.func @loss(%tgt: tensor<2x4xi32>, %tok: tensor<2x4xi32>, %w: tensor<8xf32>) -> "
        "(tensor<f32>, tensor<2x4xf32>) {\n"
        "  %i = stablehlo.reshape %tok : (tensor<2x4xi32>) -> tensor<8x1xi32>\n"
        "  %g = \"stablehlo.gather\"(%w, %i) <{dimension_numbers = #stablehlo.gather<"
        "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = "
        "array<i64: 1>}> : (tensor<8xf32>, tensor<8x1xi32>) -> tensor<8xf32>\n"
        "  %t = stablehlo.reshape %tgt : (tensor<2x4xi32>) -> tensor<8xi32>\n"
        "  %f = stablehlo.convert %t : (tensor<8xi32>) -> tensor<8xf32>\n"
        "  %d = stablehlo.subtract %g, %f : tensor<8xf32>\n"
        "  %l = stablehlo.dot_general %d, %d, contracting_dims = [0] x [0] : (tensor<8xf32>, "
        "tensor<8xf32>) -> tensor<f32>\n"
        "  %r = stablehlo.reshape %d : (tensor<8xf32>) -> tensor<2x4xf32>\n"
        "  return %l, %r : tensor<f32>, tensor<2x4xf32>\n}\n";
    err_t err = {0};
    char *dir = temp_dir();
    const char *path = temp_path(dir, "roles");
    static const char lines[] = "# what it is\n\n  t* = batch # both\nw=param\n";
    temp_write(path, lines, strlen(lines));
    ir_module_t *module = parse(text);
    const roles_options_t options = {.loss_result = -1, .entry = "loss", .file = path};
    roles_t roles;
    if (roles_assign(module, &options, &roles, &err) < 0) fail_msg("%s", err.text);
    assert_true(roles.rewritten);
    assert_non_null(strstr(roles.remark, "%tok with tokens"));
    assert_string_equal(roles.dropped, "1 (tensor<2x4xf32>)");
    const ir_fn_t *entry = ir_module_entry(module, &err);
    assert_string_equal(entry->name, "main");
    optim_arg_t *args = optim_args(module, entry, &err);
    assert_string_equal(args[0].name, "arg2"); /* parameters first, then tokens, then targets */
    assert_string_equal(args[1].name, "arg1");
    assert_string_equal(args[2].name, "arg0");
    str_t table = {0};
    roles_print(&roles, &table);
    assert_non_null(strstr(str_text(&table), "the roles file"));
    str_fini(&table);
    ir_module_destroy(&module);
    temp_remove(&dir);
}

/* A model's names move no cursor of who reads the table. */
static void test_names_are_shown_plainly(void **state)
{
    (void)state;
    static const char text[] =
        "func.func @main(%w: tensor<2xf32> {pcp.name = \"w\\1B[2J\\9B\"}, %x: tensor<2xf32>) -> "
        "tensor<f32> {\n"
        "  %l = stablehlo.dot_general %w, %x, contracting_dims = [0] x [0] : (tensor<2xf32>, "
        "tensor<2xf32>) -> tensor<f32>\n"
        "  return %l : tensor<f32>\n}\n";
    err_t err = {0};
    ir_module_t *module = parse(text);
    const roles_options_t options = {.loss_result = -1};
    roles_t roles;
    if (roles_assign(module, &options, &roles, &err) < 0) fail_msg("%s", err.text);
    str_t table = {0};
    roles_print(&roles, &table);
    assert_non_null(strstr(str_text(&table), "w?[2J?"));
    assert_null(strchr(str_text(&table), 0x1b));
    str_fini(&table);
    ir_module_destroy(&module);
}

static const char all_roles[] =
    "func.func @main(%n: tensor<i32>, %f: tensor<2xf32>, %m: tensor<2xf32>, %w: tensor<2xf32>, "
    "%x: tensor<2xf32>, %lr: tensor<f32>, %step: tensor<i32>, %key: tensor<3xui32>) -> "
    "(tensor<f32>, tensor<2xf32>, tensor<i32>) {\n"
    "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "  %a = stablehlo.multiply %w, %x : tensor<2xf32>\n"
    "  %b = stablehlo.multiply %a, %f : tensor<2xf32>\n"
    "  %l0 = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0] : "
    "(tensor<2xf32>, tensor<f32>) -> tensor<f32>\n"
    "  %s = stablehlo.convert %step : (tensor<i32>) -> tensor<f32>\n"
    "  %l1 = stablehlo.multiply %l0, %s : tensor<f32>\n"
    "  %loss = stablehlo.add %l1, %lr : tensor<f32>\n"
    "  %k0 = stablehlo.slice %key [0:2] : (tensor<3xui32>) -> tensor<2xui32>\n"
    "  %k1 = stablehlo.convert %k0 : (tensor<2xui32>) -> tensor<2xf32>\n"
    "  %m1 = stablehlo.add %m, %k1 : tensor<2xf32>\n"
    "  %n1 = stablehlo.add %n, %one : tensor<i32>\n"
    "  return %loss, %m1, %n1 : tensor<f32>, tensor<2xf32>, tensor<i32>\n}\n";

/* SplitMix64 of the seed, cut into two. */
static void is_key(const double key[2], uint64_t seed)
{
    uint64_t z = seed + 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    assert_true(key[0] == (double)(float)(uint32_t)z);
    assert_true(key[1] == (double)(float)(uint32_t)(z >> 32));
}

/* --- training as the roles have it --- */

/* A step of SGD by the interpreter: param, frozen, state, counter, seed, scalars. */
static void test_training(void **state)
{
    (void)state;
    err_t err = {0};
    ir_module_t *module = parse(all_roles);
    const roles_options_t options = rules("f=frozen,m=state:1,n=state:2,key=seed");
    roles_t roles;
    train_spec_t spec = TRAIN_SPEC_DEFAULT;
    spec.optimizer = "sgd";
    spec.momentum = 0;
    spec.clip = 0;
    if (roles_assign(module, &options, &roles, &err) < 0 ||
        passes_run(module, NULL, NULL, &err) < 0 || optim_build(module, &spec, &err) < 0 ||
        passes_run(module, NULL, NULL, &err) < 0)
        fail_msg("%s", err.text);
    const ir_fn_t *fn = ir_module_find(module, "train");
    static const struct {
        const char *name;
        double value[2];
    } in[] = {{"arg3", {2, 3}},    {"arg1", {5, 7}}, {"arg0", {41, 0}}, {"arg2", {0, 0}},
              {"arg4", {0.5, -1}}, {"lr", {0.1, 0}}, {"step", {4, 0}}};
    tensor_t values[8], out[8];
    assert_int_equal(fn->body->n_arg, 7);
    for (int i = 0; i < fn->body->n_arg; i++) {
        assert_string_equal(attr_text(&fn->param_attrs[i], "pcp.name", ""), in[i].name);
        values[i] = tensor_new(ir_type_of(fn, ir_fn_param(fn, i)));
        for (int64_t k = 0; k < ir_type_count(&values[i].type); k++)
            if (dtype_is_float(values[i].type.dtype))
                tensor_set_f64(&values[i], k, in[i].value[k]);
            else
                tensor_set_i64(&values[i], k, (int64_t)in[i].value[k]);
    }
    const eval_options_t seed = {.seed = 77};
    if (eval_fn(module, fn, values, out, &seed, &err) < 0) fail_msg("%s", err.text);
    double key[2] = {0};
    for (int r = 0; r < fn->body->n_result; r++) {
        const char *name = attr_text(&fn->result_attrs[r], "pcp.name", "");
        double a = tensor_get_f64(&out[r], 0);
        if (strcmp(name, "arg3") == 0) { /* w - lr step f x */
            assert_true(fabs(a - (2 - 0.1 * 4 * 5 * 0.5)) < 1e-5);
            assert_true(fabs(tensor_get_f64(&out[r], 1) - (3 + 0.1 * 4 * 7)) < 1e-5);
        }
        if (strcmp(name, "arg0") == 0) assert_true(a == 42);
        if (strcmp(name, "loss") == 0) assert_true(fabs(a - ((5 - 21) * 4 + 0.1)) < 1e-4);
        if (strcmp(name, "arg2") == 0) key[0] = a, key[1] = tensor_get_f64(&out[r], 1);
        assert_true(strcmp(name, "arg1") != 0); /* frozen */
        tensor_fini(&out[r]);
    }
    is_key(key, 77);
    for (int i = 0; i < fn->body->n_arg; i++) tensor_fini(&values[i]);
    ir_module_destroy(&module);
}

/* --- constants that are weights --- */

static const char closed[] = "tests/models/roles/closed.mlir";

static ir_module_t *parse_closed(bool names)
{
    err_t err = {0};
    size_t n;
    char *text = file_read(closed, &n, &err);
    if (!text) fail_msg("%s", err.text);
    const parse_options_t options = {.constant_names = names};
    ir_module_t *module = parse_stablehlo_with(text, n, closed, &options, &err);
    if (!module) fail_msg("%s", err.text);
    free(text);
    return module;
}

/* @main with its constants, or with numbers for data. */
static double evaluate(const ir_module_t *module)
{
    err_t err = {0};
    const ir_fn_t *fn = ir_module_find(module, "main");
    tensor_t in[8], out;
    assert_true(fn->body->n_arg <= 8);
    for (int i = 0; i < fn->body->n_arg; i++) {
        const ir_attr_t *was = attr_find(&fn->param_attrs[i], ROLES_VALUE);
        in[i] = tensor_new(ir_type_of(fn, ir_fn_param(fn, i)));
        for (int64_t k = 0; k < ir_type_count(&in[i].type); k++)
            tensor_set_f64(&in[i], k, was ? tensor_get_f64(was->tensor, k) : sin((double)(k + 1)));
    }
    const eval_options_t none = {0};
    if (eval_fn(module, fn, in, &out, &none, &err) < 0) fail_msg("%s", err.text);
    double loss = tensor_get_f64(&out, 0);
    for (int i = 0; i < fn->body->n_arg; i++) tensor_fini(&in[i]);
    tensor_fini(&out);
    return loss;
}

static void test_constants(void **state)
{
    (void)state;
    err_t err = {0};
    roles_t roles;
    ir_module_t *before = parse_closed(false), *after = parse_closed(true);
    roles_options_t options = {.loss_result = -1, .constants = true};
    if (roles_assign(after, &options, &roles, &err) < 0) fail_msg("%s", err.text);
    assert_true(roles.rewritten);
    assert_int_equal(roles.n, 4); /* not the positions, the mask, the zero */
    assert_string_equal(roles.row[2].name, "dense/kernel");
    assert_string_equal(roles.row[3].name, "constant1");
    assert_string_equal(roles.row[3].role, "param");
    double a = evaluate(before), b = evaluate(after);
    assert_true(a > 0 && a == b);
    ir_module_destroy(&after);

    after = parse_closed(true); /* the caller's word counts */
    options.rules = "constant*=frozen";
    if (roles_assign(after, &options, &roles, &err) < 0) fail_msg("%s", err.text);
    assert_string_equal(roles.row[3].role, "frozen");
    ir_module_destroy(&after);

    roles_options_t without = {.loss_result = -1};
    assert_int_equal(roles_assign(before, &without, &roles, &err), -1);
    assert_non_null(strstr(err.text, "--constants-as-params"));
    ir_module_destroy(&before);

    ir_module_t *none = parse(cases[0].text);
    assert_int_equal(roles_assign(none, &options, &roles, &err), -1);
    assert_non_null(strstr(err.text, "no constant that looks like a weight"));
    ir_module_destroy(&none);
}

/* --- other functions --- */

/* An accuracy of its own batch size: what it shares with the entry has names and roles of the entry's,
 * states are only read. */
static void test_other_function(void **state)
{
    (void)state;
    static const char text[] = REGRESSION(
        "%w: tensor<3x2xf32> loc(\"params['w']\"), %m: tensor<3xf32> loc(\"batch_stats['m']\"), " X
        ", %l: tensor<4xi32> loc(\"labels\")",
        LABELS EMA, "%loss, %m2",
        "tensor<f32>, tensor<3xf32>") "func.func public @accuracy(%w: tensor<3x2xf32> "
                                      "loc(\"params['w']\"), %m: tensor<3xf32> "
                                      "loc(\"batch_stats['m']\"), %x: tensor<7x3xf32>, %weights: "
                                      "tensor<7xf32> "
                                      "loc(\"weights\")) -> tensor<f32> {\n"
                                      "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
                                      "  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] "
                                      "x [0] : (tensor<7x3xf32>, "
                                      "tensor<3x2xf32>) -> tensor<7x2xf32>\n"
                                      "  %s = stablehlo.reduce(%p init: %zero) applies "
                                      "stablehlo.add across dimensions = [0, 1] "
                                      ": (tensor<7x2xf32>, tensor<f32>) -> tensor<f32>\n"
                                      "  return %s : tensor<f32>\n}\n";
    err_t err = {0};
    roles_t roles;
    ir_module_t *module = parse(text);
    const roles_options_t options = rules(NULL);
    if (roles_assign(module, &options, &roles, &err) < 0) fail_msg("%s", err.text);
    check_again(module);
    const ir_fn_t *fn = ir_module_find(module, "accuracy");
    assert_true(fn->is_private);
    optim_arg_t *args = optim_args(module, fn, &err);
    if (!args) fail_msg("%s", err.text);
    static const struct {
        const char *name;
        optim_role_t role;
    } want[] = {{"params['w']", ARG_param},
                {"batch_stats['m']", ARG_frozen},
                {"arg2", ARG_batch},
                {"arg3", ARG_batch}};
    for (int i = 0; i < 4; i++) {
        assert_string_equal(args[i].name, want[i].name);
        assert_int_equal(args[i].role, want[i].role);
    }
    if (optim_build_evaluation(module, "accuracy", &err) < 0) fail_msg("%s", err.text);
    fn = ir_module_find(module, "evaluate");
    assert_int_equal(fn->body->n_arg, 4);
    assert_string_equal(attr_text(&fn->result_attrs[0], "pcp.name", ""), "result0");
    ir_module_destroy(&module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_shown_plainly),
        cmocka_unit_test(test_roles),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_entry_and_file),
        cmocka_unit_test(test_training),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_other_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
