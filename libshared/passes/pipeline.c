/* The pipeline: a table of passes, the IR verified after each. Passes marked `repeat` run in rounds
 * until a round changes nothing, or MAX_ROUNDS. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "passes/passes.h"

enum { MAX_ROUNDS = 8 };

/* X(name, repeat), in order. */
#define PIPELINE(X)  \
    X(inline, false) \
    X(draw, false) X(expand, false) X(fold, true) X(simplify, true) X(cse, true) X(dce, true)

static const struct {
    const char *name;
    pass_fn *run;
    bool repeat;
} pipeline[] = {
#define ROW(name, repeat) {#name, pass_##name, repeat},
    PIPELINE(ROW)
#undef ROW
};
enum { N_PASS = sizeof pipeline / sizeof *pipeline };

static int run_row(ir_module_t *module, int i, pass_hook_fn *hook, void *user, err_t *err)
{
    if (pipeline[i].run(module, err) < 0 || ir_verify(module, err) < 0)
        return err_prefix(err, "pass %s: ", pipeline[i].name);
    if (hook) hook(user, pipeline[i].name, module);
    return 0;
}

/* --- has a round changed anything? A hash over ops in order, values numbered as they appear --- */

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

typedef struct {
    uint32_t *number; /* per value, from 1; 0: not seen */
    uint32_t n_seen;
    uint64_t h;
} print_t;

static void print_values(print_t *self, ir_val_t first, int n)
{
    for (int i = 0; i < n; i++) self->number[first + (ir_val_t)i] = ++self->n_seen;
}

static void print_region(print_t *self, const ir_region_t *region)
{
    print_values(self, region->arg, region->n_arg);
    for (int i = 0; i < region->n_op; i++) {
        const ir_op_t *op = region->op[i];
        self->h = mix(mix(self->h, (uint64_t)op->code), attrs_hash(&op->attrs));
        for (int j = 0; j < op->n_in; j++) self->h = mix(self->h, self->number[op->in[j]]);
        for (int j = 0; j < op->n_region; j++) print_region(self, op->region[j]);
        print_values(self, op->out, op->n_out);
    }
    for (int i = 0; i < region->n_result; i++)
        self->h = mix(self->h, self->number[region->result[i]]);
}

static uint64_t fingerprint(const ir_module_t *module)
{
    uint64_t h = (uint64_t)module->n_fn;
    for (int f = 0; f < module->n_fn; f++) {
        const ir_fn_t *fn = module->fn[f];
        print_t self = {.number = mem_calloc(fn->n_value + 1, sizeof *self.number), .h = h};
        print_region(&self, fn->body);
        h = mix(self.h, self.n_seen);
        free(self.number);
    }
    return h;
}

int passes_run(ir_module_t *module, pass_hook_fn *hook, void *user, err_t *err)
{
    uint64_t before = 0, after = 1;
    for (int round = 0; round < MAX_ROUNDS && before != after; round++) {
        before = fingerprint(module);
        for (int i = 0; i < N_PASS; i++) {
            if (round > 0 && !pipeline[i].repeat) continue;
            if (run_row(module, i, hook, user, err) < 0) return -1;
        }
        after = fingerprint(module);
    }
    return 0;
}

const char *const *passes_names(int *n)
{
    static const char *const names[] = {
#define NAME(name, repeat) #name,
        PIPELINE(NAME)
#undef NAME
    };
    *n = N_PASS;
    return names;
}

int passes_run_one(ir_module_t *module, const char *name, err_t *err)
{
    str_t names = {0};
    for (int i = 0; i < N_PASS; i++) {
        if (strcmp(pipeline[i].name, name) == 0) {
            str_fini(&names);
            return run_row(module, i, NULL, NULL, err);
        }
        str_addf(&names, "%s%s", i ? ", " : "", pipeline[i].name);
    }
    err_set(err, ERR_ARG, "no pass is called \"%s\"; there are: %s", name, str_text(&names));
    str_fini(&names);
    return -1;
}
