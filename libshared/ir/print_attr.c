/* Attributes as text that parse/ reads back to the same attributes, spelled as StableHLO's own
 * tools want them where the name decides that. */
#include <math.h>
#include <string.h>

#include "ir/printer.h"

void print_quoted(str_t *out, const char *text)
{
    str_add(out, "\"");
    for (const char *c = text; *c; c++) {
        unsigned char byte = (unsigned char)*c;
        if (byte < ' ' || byte > '~' || byte == '"' || byte == '\\')
            str_addf(out, "\\%02X", byte);
        else
            str_addn(out, c, 1);
    }
    str_add(out, "\"");
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A bare id, with the further characters that may follow the first. */
static bool is_id(const char *text, const char *more)
{
    if (!is_letter(*text)) return false;
    for (const char *c = text; *c; c++)
        if (!is_letter(*c) && !is_digit(*c) && !strchr(more, *c)) return false;
    return true;
}

void print_symbol(str_t *out, const char *name)
{
    str_add(out, "@");
    if (is_id(name, "$."))
        str_add(out, name);
    else
        print_quoted(out, name);
}

void print_ints(str_t *out, const int64_t *at, int n)
{
    str_add(out, "[");
    for (int i = 0; i < n; i++) str_addf(out, "%s%lld", i ? ", " : "", (long long)at[i]);
    str_add(out, "]");
}

/* Attributes that StableHLO and MLIR want as i32. */
static bool is_i32(const char *name)
{
    static const char *const names[] = {"api_version",         "exponent_bits",     "mantissa_bits",
                                        "mhlo.num_partitions", "mhlo.num_replicas", "version",
                                        "tf.aliasing_output"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* The enum's own name, which the attribute's name tells. */
static const char *enum_name(const char *attr)
{
    static const struct {
        const char *attr, *name;
    } names[] = {{"compare_type", "comparison_type"},
                 {"precision_config", "precision"},
                 {"transpose_a", "transpose"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(attr, names[i].attr) == 0) return names[i].name;
    return is_id(attr, "") ? attr : "word";
}

static bool all_flags(const ir_attr_t *a)
{
    for (int i = 0; i < a->n; i++)
        if (a->ints[i] != 0 && a->ints[i] != 1) return false;
    return true;
}

static void ints(str_t *out, const char *name, const ir_attr_t *a)
{
    if (strcmp(name, "padding") == 0 && a->n && a->n % 2 == 0) {
        str_add(out, "dense<[");
        for (int i = 0; i < a->n; i += 2)
            str_addf(out, "%s[%lld, %lld]", i ? ", " : "", (long long)a->ints[i],
                     (long long)a->ints[i + 1]);
        str_addf(out, "]> : tensor<%dx2xi64>", a->n / 2);
        return;
    }
    bool flags = strcmp(name, "window_reversal") == 0 && a->n && all_flags(a);
    str_add(out, flags ? "array<i1" : "array<i64");
    for (int i = 0; i < a->n; i++) {
        str_add(out, i ? ", " : ": ");
        if (flags)
            str_add(out, a->ints[i] ? "true" : "false");
        else
            str_addf(out, "%lld", (long long)a->ints[i]);
    }
    str_add(out, ">");
}

static void floating(str_t *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (isfinite(value))
        print_float(out, value, DT_F64);
    else
        str_addf(out, "0x%016llX", (unsigned long long)bits);
    str_add(out, " : f64");
}

static void list(str_t *out, const char *name, const ir_attr_t *a)
{
    if (a->n == 0) {
        str_add(out, "array<i64>"); /* as the parser reads [] */
        return;
    }
    str_add(out, "[");
    for (int i = 0; i < a->n; i++) {
        if (i) str_add(out, ", ");
        print_attr(out, name, &a->items[i]);
    }
    str_add(out, "]");
}

static void dictionary(str_t *out, const ir_attr_t *at, int n)
{
    str_add(out, "{");
    for (int i = 0; i < n; i++) {
        if (i) str_add(out, ", ");
        print_named_attr(out, &at[i]);
    }
    str_add(out, "}");
}

void print_attr(str_t *out, const char *name, const ir_attr_t *a)
{
    char type[IR_TYPE_TEXT];
    switch (a->kind) {
    case ATTR_UNIT: str_add(out, "unit"); break;
    case ATTR_BOOL: str_add(out, a->i ? "true" : "false"); break;
    case ATTR_INT: str_addf(out, "%lld : %s", (long long)a->i, is_i32(name) ? "i32" : "i64"); break;
    case ATTR_FLOAT: floating(out, a->f); break;
    case ATTR_STRING: print_quoted(out, a->text); break;
    case ATTR_ENUM: str_addf(out, "#stablehlo<%s %s>", enum_name(name), a->text); break;
    case ATTR_SYMBOL: print_symbol(out, a->text); break;
    case ATTR_INTS: ints(out, name, a); break;
    case ATTR_TENSOR: print_literal(out, a->tensor); break;
    case ATTR_TYPE: str_add(out, ir_type_text(a->type, type)); break;
    case ATTR_LIST: list(out, name, a); break;
    case ATTR_DICT: dictionary(out, a->items, a->n); break;
    case ATTR_RAW: str_add(out, a->text); break;
    }
}

void print_named_attr(str_t *out, const ir_attr_t *a)
{
    if (is_id(a->name, "$."))
        str_add(out, a->name);
    else
        print_quoted(out, a->name);
    if (a->kind == ATTR_UNIT) return;
    str_add(out, " = ");
    print_attr(out, a->name, a);
}

void print_attrs(str_t *out, const ir_attrs_t *attrs, const char *before)
{
    if (attrs->n == 0) return;
    str_addf(out, "%s ", before);
    dictionary(out, attrs->at, attrs->n);
}
