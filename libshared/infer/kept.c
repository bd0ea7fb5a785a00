/* A matrix is made in blocks of rows, so that a transposed one reads lines of the file's whole. */
#include "infer/kept.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/mem.h"
#include "ir/panels.h"
#include "model/steps.h"

enum { ROWS = IR_PANEL_ROWS, MOST = 127 };

/* Takes the ending off the name, if it has it. */
static bool take_off(char *name, const char *ending)
{
    size_t n = strlen(name), e = strlen(ending);
    if (n < e || strcmp(name + n - e, ending) != 0) return false;
    name[n - e] = 0;
    return true;
}

const safetensor_t *kept_find(const safetensors_t *params, const char *name, kept_form_t *form)
{
    *form = (kept_form_t){0};
    const safetensor_t *found = safetensors_find(params, name);
    if (found) return found;
    char *base = mem_strdup(name);
    form->scales = take_off(base, STEPS_SCALES);
    form->panels = take_off(base, STEPS_PANELS);
    form->turned = take_off(base, STEPS_TURNED);
    found = safetensors_find(params, base);
    free(base);
    return found;
}

static float number_at(const safetensor_t *x, int64_t i)
{
    if (x->dtype == DT_BF16) return half_from_bf16(((const uint16_t *)x->data)[i]);
    if (x->dtype == DT_F16) return half_from_f16(((const uint16_t *)x->data)[i]);
    return ((const float *)x->data)[i];
}

/* A matrix as it is kept, read from the file's: rows x cols. */
typedef struct {
    const safetensor_t *from;
    int64_t rows, cols;
    bool turned, panels;
} matrix_t;

/* What is no matrix is one row. */
static matrix_t matrix_of(const safetensor_t *from, kept_form_t form)
{
    matrix_t x = {.from = from, .rows = 1, .cols = 1};
    x.turned = form.turned, x.panels = form.panels;
    for (int d = 0; d < from->rank; d++) x.cols *= from->dims[d];
    if (from->rank != 2) return x;
    x.rows = from->dims[form.turned ? 1 : 0];
    x.cols = from->dims[form.turned ? 0 : 1];
    return x;
}

/* Rows [first, first + n) into out. */
static void read_rows(const matrix_t *x, int64_t first, int64_t n, float *out)
{
    for (int64_t k = 0; x->turned && k < x->cols; k++)
        for (int64_t r = 0; r < n; r++)
            out[r * x->cols + k] = number_at(x->from, k * x->rows + first + r);
    for (int64_t i = 0; !x->turned && i < n * x->cols; i++)
        out[i] = number_at(x->from, first * x->cols + i);
}

static float scale_of(const float *row, int64_t n)
{
    float most = 0;
    for (int64_t i = 0; i < n; i++) most = fmaxf(most, fabsf(row[i]));
    return most / MOST;
}

static void write_whole_numbers(const float *row, int64_t n, int8_t *out)
{
    float scale = scale_of(row, n);
    for (int64_t i = 0; i < n; i++) out[i] = (int8_t)(scale > 0 ? nearbyintf(row[i] / scale) : 0);
}

/* Rows of f32 as n rows of numbers of the type. */
static void convert_rows(const matrix_t *x, int64_t n, const float *from, dtype_t dtype, void *out)
{
    for (int64_t r = 0; dtype == DT_I8 && r < n; r++)
        write_whole_numbers(from + r * x->cols, x->cols, (int8_t *)out + r * x->cols);
    for (int64_t i = 0; dtype == DT_BF16 && i < n * x->cols; i++)
        ((uint16_t *)out)[i] = half_to_bf16(from[i]);
    if (dtype == DT_F32) memcpy(out, from, (size_t)(n * x->cols) * sizeof *from);
}

/* Rows in a panel, of which n are there: words of 32 bits, row by row, in turn. */
static void turn_panel(const uint32_t *rows, int64_t n, int64_t words, uint32_t *panel)
{
    for (int64_t w = 0; w < words; w++)
        for (int64_t r = 0; r < n; r++) panel[w * IR_PANEL_ROWS + r] = rows[r * words + w];
}

static void write_rows(const matrix_t *x, int64_t first, int64_t n, const float *from,
                       dtype_t dtype, void *out)
{
    int64_t row = x->cols * (int64_t)dtype_bytes(dtype);
    char *to = (char *)out + first * row;
    if (!x->panels) {
        convert_rows(x, n, from, dtype, to);
        return;
    }
    uint32_t *rows = mem_calloc((size_t)(n * row), 1);
    convert_rows(x, n, from, dtype, rows);
    turn_panel(rows, n, row / (int64_t)sizeof *rows, (uint32_t *)(void *)to);
    free(rows);
}

static bool fits_panels(const ir_type_t *want, const matrix_t *x)
{
    ir_type_t matrix = ir_type(want->dtype, 2, (int64_t[]){x->rows, x->cols});
    if (!ir_panels_suit(&matrix)) return false;
    ir_type_t type = ir_panels_type(&matrix);
    return ir_shape_equal(&type, want);
}

static bool fits(const plan_tensor_t *want, kept_form_t form, const safetensor_t *have,
                 const matrix_t *x)
{
    const ir_type_t *t = &want->type;
    bool known = have->dtype == DT_F32 || have->dtype == DT_BF16 || have->dtype == DT_F16;
    bool matrix = form.turned || form.panels || form.scales || t->dtype == DT_I8;
    if (!known || (matrix && have->rank != 2)) return false;
    if (form.scales) return t->dtype == DT_F32 && t->rank == 1 && t->dim[0] == x->rows;
    if (t->dtype != DT_F32 && t->dtype != DT_BF16 && t->dtype != DT_I8) return false;
    if (form.panels) return fits_panels(t, x);
    if (form.turned) return t->rank == 2 && t->dim[0] == x->rows && t->dim[1] == x->cols;
    ir_type_t type = ir_type(have->dtype, have->rank, have->dims);
    return ir_shape_equal(&type, t);
}

void *kept_make(const plan_tensor_t *want, kept_form_t form, const safetensor_t *have)
{
    const matrix_t x = matrix_of(have, form);
    if (!fits(want, form, have, &x)) return NULL;
    void *out = mem_calloc((size_t)want->n_bytes + 1, 1);
    float *rows = mem_calloc((size_t)(ROWS * x.cols) + 1, sizeof *rows);
    for (int64_t first = 0; first < x.rows; first += ROWS) {
        int64_t n = x.rows - first < ROWS ? x.rows - first : ROWS;
        read_rows(&x, first, n, rows);
        for (int64_t r = 0; form.scales && r < n; r++)
            ((float *)out)[first + r] = scale_of(rows + r * x.cols, x.cols);
        if (!form.scales) write_rows(&x, first, n, rows, want->type.dtype, out);
    }
    free(rows);
    return out;
}
