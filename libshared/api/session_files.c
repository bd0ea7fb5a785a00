/* Parameters and the optimizer's state in safetensors files. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/file.h"
#include "base/mem.h"
#include "ckpt/safetensors.h"
#include "infer/plans.h"

#define STATE "state:" /* in front of the names of states in a file */

typedef VEC(safetensor_t) list_t;

static void list_fini(list_t *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free((char *)list->at[i].name);
        free((void *)list->at[i].data);
    }
    VEC_FREE(list);
}

/* A copy of a tensor, to the list's end. */
static int add(pcp_session_t *self, int tensor, list_t *list, err_t *err)
{
    const plan_tensor_t *t = &self->plan->plan->tensor[tensor];
    const char *front = t->role == ROLE_STATE ? STATE : "";
    safetensor_t out = {.dtype = t->type.dtype, .rank = t->type.rank, .n_bytes = t->n_bytes};
    if (t->type.rank > SAFETENSORS_MAX_RANK)
        return err_set(err, ERR_UNSUPPORTED, "\"%s\" has %d dimensions; files hold %d", t->name,
                       t->type.rank, SAFETENSORS_MAX_RANK);
    memcpy(out.dims, t->type.dim, sizeof *out.dims * (size_t)t->type.rank);
    void *data = mem_calloc(t->n_bytes + 1, 1);
    out.name = mem_printf("%s%s", front, t->name);
    out.data = data;
    VEC_PUSH(list, out);
    return exec_read(self->exec, tensor, data, (size_t)t->n_bytes, err);
}

uint8_t *api_session_pack(pcp_session_t *self, bool state, size_t *n_bytes, err_t *err)
{
    const plan_t *plan = self->plan->plan;
    list_t list = {0};
    size_t at;
    uint8_t *bytes = NULL;
    int status = 0;
    for (int i = 0; status == 0 && i < plan->n_tensor; i++)
        if (plan->tensor[i].role == ROLE_PARAM || (state && plan->tensor[i].role == ROLE_STATE))
            status = add(self, i, &list, err);
    if (status == 0 && list.n == 0) status = err_set(err, ERR_ARG, "the plan has no parameters");
    if (status == 0) bytes = safetensors_pack(list.at, list.n, NULL, 0, n_bytes, &at, err);
    list_fini(&list);
    return bytes;
}

int pcp_session_save(pcp_session_t *self, const char *path, int state, pcp_error_t *error)
{
    err_t *err = api_err(error);
    size_t n = 0;
    uint8_t *bytes = api_session_pack(self, state != 0, &n, err);
    int status = bytes ? file_write_atomic(path, bytes, n, err) : -1;
    free(bytes);
    return status;
}

static int load_states(pcp_session_t *self, const safetensors_t *file, err_t *err)
{
    const plan_t *plan = self->plan->plan;
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
    int status = 0;
    for (int i = 0; status == 0 && i < plan->n_tensor; i++) {
        const plan_tensor_t *t = &plan->tensor[i];
        if (t->role != ROLE_STATE) continue;
        char *name = mem_printf(STATE "%s", t->name);
        const safetensor_t *have = safetensors_find(file, name);
        free(name);
        if (!have) continue;
        ir_type_t type = ir_type(have->dtype, have->rank, have->dims);
        status = ir_type_equal(&type, &t->type)
                     ? exec_write(self->exec, i, have->data, have->n_bytes, err)
                     : err_set(err, ERR_CORRUPT, "state \"%s\" is %s, the plan has %s", t->name,
                               ir_type_text(&type, a), ir_type_text(&t->type, b));
    }
    return status;
}

int pcp_session_load(pcp_session_t *self, const char *path, pcp_error_t *error)
{
    err_t *err = api_err(error);
    safetensors_t *file = safetensors_open(path, err);
    if (!file) return -1;
    int status = plans_load(self->plan->plan, self->exec, file, NULL, err);
    if (status == 0) status = load_states(self, file, err);
    safetensors_close(&file);
    return status < 0 ? err_prefix(err, "%s: ", path) : 0;
}
