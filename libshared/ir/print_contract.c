/* Pretty forms of dot_general and convolution. */
#include <stdio.h>
#include <string.h>

#include "ir/printer.h"

static const char algorithm_prefix[] = "#stablehlo.dot_algorithm";

/* A list of enums (or an empty list). */
static bool words_fit(const ir_op_t *op, const char *name)
{
    const ir_attr_t *a = attr_find(&op->attrs, name);
    if (!a || a->n == 0) return true;
    for (int i = 0; a->kind == ATTR_LIST && i < a->n; i++)
        if (a->items[i].kind != ATTR_ENUM) return false;
    return a->kind == ATTR_LIST && a->n <= 8;
}

bool print_dot_fits(const ir_fn_t *fn, const ir_op_t *op)
{
    (void)fn;
    const char *algorithm = attr_text(&op->attrs, "algorithm", NULL);
    size_t n = sizeof algorithm_prefix - 1;
    if (algorithm && (!str_starts(algorithm, algorithm_prefix) || algorithm[n] != '<'))
        return false;
    return words_fit(op, "precision_config");
}

static void print_words(const printer_t *p, const ir_op_t *op, const char *word, const char *name)
{
    const ir_attr_t *a = attr_find(&op->attrs, name);
    if (!a) return;
    str_addf(p->out, "%s[", word);
    for (int i = 0; i < a->n; i++) str_addf(p->out, "%s%s", i ? ", " : "", a->items[i].text);
    str_add(p->out, "]");
}

void print_dot(printer_t *p, const ir_op_t *op)
{
    int n_lhs, n_rhs;
    attr_ints(&op->attrs, "lhs_batching_dimensions", &n_lhs);
    attr_ints(&op->attrs, "rhs_batching_dimensions", &n_rhs);
    print_head(p, op);
    if (n_lhs || n_rhs) {
        print_int_list(p, op, ", batching_dims = ", "lhs_batching_dimensions");
        print_int_list(p, op, " x ", "rhs_batching_dimensions");
    }
    print_int_list(p, op, ", contracting_dims = ", "lhs_contracting_dimensions");
    print_int_list(p, op, " x ", "rhs_contracting_dimensions");
    print_words(p, op, ", precision = ", "precision_config");
    const char *algorithm = attr_text(&op->attrs, "algorithm", NULL);
    if (algorithm) str_addf(p->out, ", algorithm = %s", algorithm + sizeof algorithm_prefix - 1);
    print_fn_tail(p, op);
}

/* The three sides of a convolution's dimension numbers. */
static const struct {
    const char *letters;
    const char *first, *second, *spatial;
} conv_sides[] = {
    {"bf", "input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"},
    {"io", "kernel_input_feature_dimension", "kernel_output_feature_dimension",
     "kernel_spatial_dimensions"},
    {"bf", "output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"},
};

/* The text of dimension `dim` of a side: a letter or the number of a spatial dimension; 0 if none.
 */
static int conv_dim(const ir_op_t *op, int side, int64_t dim, char out[16])
{
    int n, found = 0;
    const int64_t *spatial = attr_ints(&op->attrs, conv_sides[side].spatial, &n);
    if (attr_int(&op->attrs, conv_sides[side].first, -1) == dim)
        found += snprintf(out, 16, "%c", conv_sides[side].letters[0]);
    if (attr_int(&op->attrs, conv_sides[side].second, -1) == dim)
        found += snprintf(out, 16, "%c", conv_sides[side].letters[1]);
    for (int i = 0; i < n; i++)
        if (spatial[i] == dim) found += 10 + (snprintf(out, 16, "%d", i) > 0);
    return found;
}

/* Every dimension of every side is named exactly once. */
bool print_conv_fits(const ir_fn_t *fn, const ir_op_t *op)
{
    (void)fn;
    int n_pad;
    attr_ints(&op->attrs, "padding", &n_pad);
    for (int side = 0; side < 3; side++) {
        int n;
        attr_ints(&op->attrs, conv_sides[side].spatial, &n);
        if (n + 2 > IR_MAX_RANK) return false;
        for (int dim = 0; dim < n + 2; dim++) {
            char letter[16];
            int found = conv_dim(op, side, dim, letter);
            if (found != 1 && found != 11) return false;
        }
    }
    return n_pad % 2 == 0;
}

static void print_conv_dims(const printer_t *p, const ir_op_t *op)
{
    for (int side = 0; side < 3; side++) {
        int n;
        attr_ints(&op->attrs, conv_sides[side].spatial, &n);
        str_add(p->out, side == 0 ? "[" : side == 1 ? "x[" : "->[");
        for (int dim = 0; dim < n + 2; dim++) {
            char letter[16];
            conv_dim(op, side, dim, letter);
            str_addf(p->out, "%s%s", dim ? ", " : "", letter);
        }
        str_add(p->out, "]");
    }
}

static void print_padding(const printer_t *p, const int64_t *at, int n)
{
    str_add(p->out, "[");
    for (int i = 0; i < n; i += 2)
        str_addf(p->out, "%s[%lld, %lld]", i ? ", " : "", (long long)at[i], (long long)at[i + 1]);
    str_add(p->out, "]");
}

static void print_window(const printer_t *p, const ir_op_t *op)
{
    static const struct {
        const char *word, *name;
    } members[] = {{"stride", "window_strides"},
                   {"pad", "padding"},
                   {"lhs_dilate", "lhs_dilation"},
                   {"rhs_dilate", "rhs_dilation"},
                   {"reverse", "window_reversal"}};
    const char *before = "";
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        int n;
        const int64_t *at = attr_ints(&op->attrs, members[i].name, &n);
        if (!at) continue;
        str_addf(p->out, "%s%s = ", before, members[i].word);
        if (strcmp(members[i].word, "pad") == 0)
            print_padding(p, at, n);
        else
            print_ints(p->out, at, n);
        before = ", ";
    }
}

void print_convolution(printer_t *p, const ir_op_t *op)
{
    str_addf(p->out, "%s(", op_def(op->code)->name);
    print_values(p, op->n_in, op->in);
    str_add(p->out, ") dim_numbers = ");
    print_conv_dims(p, op);
    str_add(p->out, ", window = {");
    print_window(p, op);
    str_add(p->out, "}");
    print_fn_tail(p, op);
}
