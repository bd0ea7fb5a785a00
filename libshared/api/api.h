/* Inside of api/: what stands behind libpcp's public types. The folder is a thin layer: it checks what a
 * caller may get wrong, counts what objects hold, and calls the library below. */
#ifndef API_API_H
#define API_API_H

#include <stdatomic.h>

#include "base/config.h"
#include "base/err.h"
#include "base/vec.h"
#include "infer/infer.h"
#include "ir/build.h"
#include "pcp/pcp.h"
#include "plan/format/plan.h"
#include "runtime/exec.h"
#include "text/tokenizer.h"

/* --- error.c --- */
struct pcp_error {
    err_t err;
};
/* Where a call's error goes, cleared: a call tells of itself alone. Never NULL. */
err_t *api_err(pcp_error_t *error);
/* What pcp_memory_in_use tells. */
void api_hold(size_t n_bytes);
void api_let_go(size_t n_bytes);
void *api_alloc(size_t size); /* zeroed and held, of an object */
void api_free(void *object, size_t size);

/* --- options.c: "name=value name=value" into a table's struct, over its defaults; config_fini is due. --- */
int api_options(const config_table_t *table, void *target, const char *text, err_t *err);

/* --- type.c --- */
dtype_t api_dtype(pcp_dtype_t dtype); /* DT_NONE: there is none */
pcp_type_t api_type_out(const ir_type_t *type);
/* ERR_TYPE, ERR_SHAPE: no element type, a rank or a dimension that cannot be. */
int api_type_in(const pcp_type_t *type, ir_type_t *out, err_t *err);

/* --- tensor.c --- */
struct pcp_tensor {
    atomic_int holders;
    pcp_type_t shown;
    tensor_t value; /* its data lies in own, in the caller's memory, or in that of `of` */
    void *own;
    size_t n_own;
    pcp_tensor_t *of; /* a view's; held */
    void (*release)(void *user);
    void *user;
};
/* Takes the data of `value`, which is made dense. */
pcp_tensor_t *api_tensor_take(tensor_t *value);

/* --- graph.c, function.c --- */
typedef struct {
    const char *name, *init;
    bool is_param;
    ir_val_t value; /* of the op that stands for it until the function ends */
} api_arg_t;
typedef struct {
    const char *name;
    ir_val_t value;
} api_result_t;

struct pcp_graph {
    ir_module_t *module;
    size_t held;
    ir_fn_t *fn;     /* being built, not in the module yet; NULL: none is */
    uint32_t serial; /* of fn, in the bits of its values */
    VEC(api_arg_t) arg;
    VEC(api_result_t) result;
    int n_open;         /* regions */
    pcp_error_t *error; /* fn's, as it was last shown */
    err_t outside;      /* of a call that needs a function where none is begun */
};
struct pcp_region {
    ir_region_t *region, *saved;
    uint32_t serial;
    enum { REGION_OPEN, REGION_ENDED, REGION_USED } state;
};
pcp_graph_t *api_graph_of(ir_module_t *module); /* takes it; NULL: NULL */
void api_graph_count(pcp_graph_t *self);        /* what it holds may have changed */
/* A function is being built, without an error so far? If none is begun, that is the error. */
bool api_building(pcp_graph_t *self);
/* Keep the first error. */
void api_fail(pcp_graph_t *self, err_code_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What a handle stands for: IR_NONE, with an error that names `what`, unless it is a value of this function. */
ir_val_t api_value(pcp_graph_t *self, pcp_value_t value, const char *what);
pcp_value_t api_handle(const pcp_graph_t *self, ir_val_t value);
const ir_fn_t *api_function(const pcp_graph_t *self, const char *name, err_t *err);
/* A copy that a compiler may use up; ERR_STATE while a function is being built. */
ir_module_t *api_module_copy(const pcp_graph_t *self, err_t *err);

/* --- op.c --- */
/* OP_invalid, and the graph's error. */
op_code_t api_op_code(pcp_graph_t *self, const char *name);
/* Append an op with attributes of the module's arena: its first result. */
ir_val_t api_emit(pcp_graph_t *self, op_code_t code, int n_in, const pcp_value_t *in,
                  const ir_attrs_t *attrs, int n_region, pcp_region_t *const *region, int n_out,
                  const pcp_type_t *types);

/* --- plan.c, session.c --- */
struct pcp_plan {
    atomic_int holders;
    plan_t *plan;
    size_t held;
};
struct pcp_session {
    pcp_plan_t *plan;
    exec_t *exec;
    size_t held;
};
/* The plan's tensor by "NAME" or "ROLE:NAME"; -1 with ERR_ARG. */
int api_tensor_find(const plan_t *plan, const char *name, err_t *err);
/* The parameters (and states) of a session as the bytes of a safetensors file: caller frees. */
uint8_t *api_session_pack(pcp_session_t *self, bool state, size_t *n_bytes, err_t *err);

#endif
