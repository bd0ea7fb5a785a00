/* Running passes: the IR is verified after each. Those of the clean-up run in rounds until a round
 * changes nothing, or MAX_ROUNDS. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "passes/passes.h"

enum { MAX_ROUNDS = 8 };

static const pass_t passes[] = {
#define ROW(name, when) {#name, when, pass_##name},
    PASS_LIST(ROW)
#undef ROW
};
enum { N_PASS = sizeof passes / sizeof *passes };

const pass_t *pass_row(int i)
{
    return i >= 0 && i < N_PASS ? &passes[i] : NULL;
}

const pass_t *pass_find(const char *name, err_t *err)
{
    str_t names = {0};
    for (int i = 0; i < N_PASS; i++) {
        if (strcmp(passes[i].name, name) == 0) {
            str_fini(&names);
            return &passes[i];
        }
        str_addf(&names, "%s%s", i ? ", " : "", passes[i].name);
    }
    err_set(err, ERR_ARG, "no pass is called \"%s\"; there are: %s", name, str_text(&names));
    str_fini(&names);
    return NULL;
}

static int run_row(ir_module_t *module, const pass_t *pass, const pass_options_t *options,
                   const pass_hook_t *hook, err_t *err)
{
    if (pass->run(module, options, err) < 0 || ir_verify(module, err) < 0)
        return err_prefix(err, "pass %s: ", pass->name);
    if (hook && hook->call) hook->call(hook->user, pass->name, module);
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

/* The passes of `when`, in order; PASS_CLEAN: a round of the clean-up, the first one opens it. */
static int run_round(ir_module_t *module, pass_when_t when, bool first,
                     const pass_options_t *options, const pass_hook_t *hook, err_t *err)
{
    for (int i = 0; i < N_PASS; i++) {
        bool opens = when == PASS_CLEAN && first && passes[i].when == PASS_OPEN;
        if (!opens && passes[i].when != when) continue;
        if (run_row(module, &passes[i], options, hook, err) < 0) return -1;
    }
    return 0;
}

static int clean_up(ir_module_t *module, const pass_options_t *options, const pass_hook_t *hook,
                    err_t *err)
{
    uint64_t before = 0, after = 1;
    for (int round = 0; round < MAX_ROUNDS && before != after; round++) {
        before = fingerprint(module);
        if (run_round(module, PASS_CLEAN, round == 0, options, hook, err) < 0) return -1;
        after = fingerprint(module);
    }
    return 0;
}

int passes_run_when(ir_module_t *module, pass_when_t when, const pass_options_t *options,
                    const pass_hook_t *hook, err_t *err)
{
    if (when == PASS_OPEN || when == PASS_CLEAN) return clean_up(module, options, hook, err);
    return run_round(module, when, false, options, hook, err);
}

int passes_run(ir_module_t *module, pass_hook_fn *hook, void *user, err_t *err)
{
    return clean_up(module, &(pass_options_t){0}, &(pass_hook_t){hook, user}, err);
}

int passes_run_one(ir_module_t *module, const char *name, err_t *err)
{
    const pass_t *pass = pass_find(name, err);
    return pass ? run_row(module, pass, &(pass_options_t){0}, NULL, err) : -1;
}
