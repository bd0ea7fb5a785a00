/* Parts of golden-check: programs and their tensors, generated inputs, deviations, and the checks.
 * Format of the golden files and generator of the inputs: conformance/README.md of the shared
 * material. */
#ifndef TESTS_TOOLS_GOLDEN_H
#define TESTS_TOOLS_GOLDEN_H

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "ir/ir.h"
#include "optim/optim.h"
#include "plan/format/plan.h"
#include "runtime/exec.h"

typedef struct {
    const char *model, *golden;
    bool compiled, training;
} options_t;

enum { MATCH = 0, MISMATCH = 1, FAILED = 2 }; /* also the exit status */

/* --- machine.c: programs and the tensors they share, by role and name --- */

typedef struct {
    const char *role, *name; /* borrowed from the module */
    tensor_t value;
} cell_t;

typedef struct {
    ir_module_t *module; /* the programs */
    plan_t *plan;        /* the same compiled; NULL: interpreted */
    exec_t *exec;
    VEC(cell_t) cell;
    optim_arg_t *arg; /* of the model's entry: which cell is argument i */
    int n_arg;
} machine_t;

/* Parse, classify the arguments, build the programs: "grad", or with a spec "train". End with
 * machine_fini, also after an error. */
int machine_init(machine_t *self, const options_t *o, const train_spec_t *spec, err_t *err);
void machine_fini(machine_t *self);
/* Run on the cells' values; results go to their cells. */
int machine_run(machine_t *self, const char *program, err_t *err);
tensor_t *machine_find(machine_t *self, const char *role, const char *name); /* NULL: none */
tensor_t *machine_argument(machine_t *self, int i);
/* Argument i is there and a parameter: 0, else -1 with ERR_ARG. */
int machine_need_param(const machine_t *self, int i, err_t *err);

/* Generated inputs. Batch number b of tokens below vocab; ignore: every seventh target (of the last
 * integer argument) becomes *ignore. */
void machine_fill_params(machine_t *self);
void machine_fill_batch(machine_t *self, int64_t vocab, int b, const int64_t *ignore);

/* --- report.c: deviations in units of what is allowed --- */

typedef struct {
    double worst;
    char where[96];
} report_t;

/* arg -1: `what` says it all. */
void report_note(report_t *self, double have, double want, double allowed, const char *what,
                 int arg);
/* Print the entry's line; MATCH or MISMATCH. */
int report_end(const report_t *self, const char *entry, double seconds);

typedef struct {
    double l2, sum, maxabs; /* maxabs keeps NaN */
} summary_t;
summary_t summary_of(const tensor_t *x);
double json_double(const json_t *object, const char *key); /* 0 when absent */

/* --- gradients.c, training.c: one entry each; MATCH, MISMATCH or FAILED with an error --- */

int check_gradients(machine_t *machine, const json_t *entry, err_t *err);
int check_training(const options_t *o, const json_t *entry, err_t *err);

#endif
