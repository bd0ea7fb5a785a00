#include "derive/layout.h"

int64_t axis_size(axis_t axis, const sizes_t *sizes)
{
    return axis.kind == AXIS_ROW    ? sizes->rows
           : axis.kind == AXIS_TIME ? sizes->time
           : axis.kind == AXIS_SPAN ? sizes->span
           : axis.kind == AXIS_SAME ? 1
                                    : axis.size;
}

int64_t axes_size(const axes_t *self, const sizes_t *sizes)
{
    int64_t n = 1;
    for (int i = 0; i < self->n; i++) n *= axis_size(self->at[i], sizes);
    return n;
}

bool axes_have(const axes_t *self, axis_kind_t kind)
{
    for (int i = 0; i < self->n; i++)
        if (self->at[i].kind == kind) return true;
    return false;
}

static bool is_plain(axis_kind_t kind)
{
    return kind == AXIS_PLAIN || kind == AXIS_SAME;
}

bool axes_are_plain(const axes_t *self)
{
    for (int i = 0; i < self->n; i++)
        if (!is_plain(self->at[i].kind)) return false;
    return true;
}

bool axes_add(axes_t *self, axis_t axis)
{
    if (is_plain(axis.kind) && axis.size == 1) return true;
    if (self->n > 0 && is_plain(axis.kind) && self->at[self->n - 1].kind == axis.kind) {
        self->at[self->n - 1].size *= axis.size;
        return true;
    }
    if (self->n == LAYOUT_AXES) return false;
    self->at[self->n++] = axis;
    return true;
}

/* --- two of them --- */

/* How much of x and y stands for the same entries, and what kind each part has. False: they do not meet. */
static bool meet(axis_t x, axis_t y, int64_t *size)
{
    bool cut_x = is_plain(x.kind), cut_y = is_plain(y.kind);
    *size = x.size < y.size ? x.size : y.size;
    if (!cut_x && !cut_y) return x.kind == y.kind && x.size == y.size;
    if ((!cut_x && y.kind != AXIS_SAME) || (!cut_y && x.kind != AXIS_SAME)) return false;
    if ((!cut_x && *size != x.size) || (!cut_y && *size != y.size)) return false;
    return x.size % *size == 0 && y.size % *size == 0;
}

/* A single row may stand against nothing. */
static bool pair_single_row(const axes_t *u, int i, const axes_t *v, int k, axis_t *x, axis_t *y)
{
    bool a = i < u->n && u->at[i].kind == AXIS_ROW, b = k < v->n && v->at[k].kind == AXIS_ROW;
    if (a == b || (a ? u->at[i].size : v->at[k].size) != 1) return false;
    *x = (axis_t){a ? AXIS_ROW : AXIS_SAME, 1};
    *y = (axis_t){b ? AXIS_ROW : AXIS_SAME, 1};
    return true;
}

int axes_pair(const axes_t *a, const axes_t *b, axis_t *x, axis_t *y, int space)
{
    axes_t u = *a, v = *b;
    int i = 0, k = 0, n = 0;
    while (i < u.n || k < v.n) {
        int64_t size;
        if (n == space) return -1;
        bool row = pair_single_row(&u, i, &v, k, &x[n], &y[n]);
        if (row) {
            i += x[n].kind == AXIS_ROW;
            k += y[n++].kind == AXIS_ROW;
            continue;
        }
        if (i == u.n || k == v.n) return -1;
        if (!meet(u.at[i], v.at[k], &size)) return -1;
        x[n] = (axis_t){u.at[i].kind, size};
        y[n++] = (axis_t){v.at[k].kind, size};
        if ((u.at[i].size /= size) == 1) i++;
        if ((v.at[k].size /= size) == 1) k++;
    }
    return n;
}

bool axes_join(const axes_t *a, const axes_t *b, axes_t *out)
{
    enum { SPACE = 2 * LAYOUT_AXES };
    axis_t x[SPACE], y[SPACE];
    int n = axes_pair(a, b, x, y, SPACE);
    *out = (axes_t){0};
    for (int i = 0; i < n; i++)
        if (!axes_add(out, x[i].kind == AXIS_SAME ? y[i] : x[i])) return false;
    return n >= 0;
}

/* --- layouts --- */

int layout_count(const layout_t *self, axis_kind_t kind)
{
    int n = 0;
    for (int d = 0; d < self->rank; d++)
        for (int i = 0; i < self->dim[d].n; i++) n += self->dim[d].at[i].kind == kind;
    return n;
}

enum { ALL_AXES = IR_MAX_RANK * LAYOUT_AXES };

/* A single row may stand in any dimension: behind a dimension that is full, unless the next one is its own. */
static bool takes_row(const axis_t *axis, int64_t need, int64_t size, int64_t next)
{
    return axis->kind == AXIS_ROW && axis->size == 1 && (need > 1 || size == 1 || next != 1);
}

bool layout_reshape(const layout_t *self, const ir_type_t *to, layout_t *out)
{
    axis_t all[ALL_AXES];
    int n = 0, i = 0;
    for (int d = 0; d < self->rank; d++)
        for (int k = 0; k < self->dim[d].n; k++) all[n++] = self->dim[d].at[k];
    *out = (layout_t){.rank = to->rank};
    for (int d = 0; d < to->rank; d++) {
        int64_t need = to->dim[d], next = d + 1 < to->rank ? to->dim[d + 1] : 0;
        while (i < n && (need > 1 || takes_row(&all[i], need, to->dim[d], next))) {
            bool whole = all[i].size <= need && need % all[i].size == 0;
            if (!whole && (!is_plain(all[i].kind) || all[i].size % need != 0)) return false;
            axis_t part = {all[i].kind, whole ? all[i].size : need};
            if (!axes_add(&out->dim[d], part)) return false;
            need /= part.size;
            if (whole)
                i++;
            else
                all[i].size /= part.size;
            if (part.kind == AXIS_ROW && part.size == 1 && need == 1) break;
        }
        if (need != 1) return false;
    }
    return i == n;
}

layout_t layout_plain(const ir_type_t *type)
{
    layout_t out = {.rank = type->rank};
    for (int d = 0; d < type->rank; d++) axes_add(&out.dim[d], (axis_t){AXIS_PLAIN, type->dim[d]});
    return out;
}

layout_t layout_full(const layout_t *self)
{
    layout_t out = {.rank = self->rank};
    for (int d = 0; d < self->rank; d++)
        for (int i = 0; i < self->dim[d].n; i++) {
            axis_t axis = self->dim[d].at[i];
            if (axis.kind == AXIS_SAME) axis.kind = AXIS_PLAIN;
            axes_add(&out.dim[d], axis);
        }
    return out;
}

ir_type_t layout_type(const layout_t *self, dtype_t dtype, const sizes_t *sizes)
{
    int64_t dim[IR_MAX_RANK];
    for (int d = 0; d < self->rank; d++) dim[d] = axes_size(&self->dim[d], sizes);
    return ir_type(dtype, self->rank, dim);
}
