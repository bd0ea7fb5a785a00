/* See bytecode_put.h. Numbers are those of MLIR's and VHLO's documents. */
#include "bytecode_put.h"

#include <string.h>

/* --- primitives --- */

void put_byte(str_t *out, unsigned byte)
{
    const char c = (char)byte;
    str_addn(out, &c, 1);
}

/* The count of bytes that follow is the count of zero bits below the lowest one. */
void put_varint(str_t *out, uint64_t value)
{
    int n = 1;
    while (n < 9 && value >> (7 * n)) n++;
    if (n == 9) {
        put_byte(out, 0);
        for (int i = 0; i < 8; i++) put_byte(out, (unsigned)(value >> (8 * i)) & 0xFF);
        return;
    }
    unsigned __int128 bits = ((unsigned __int128)value << n) | (1u << (n - 1));
    for (int i = 0; i < n; i++) put_byte(out, (unsigned)(bits >> (8 * i)) & 0xFF);
}

void put_signed(str_t *out, int64_t value)
{
    put_varint(out, ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0));
}

void put_section(str_t *out, int id, const str_t *data)
{
    put_byte(out, (unsigned)id);
    put_varint(out, data->n);
    str_addn(out, str_text(data), data->n);
}

/* --- tables --- */

void put_fini(put_t *self)
{
    put_entries_t *tables[] = {&self->attr, &self->type, &self->op};
    for (size_t i = 0; i < self->string.n; i++) str_fini(&self->string.at[i]);
    for (size_t i = 0; i < self->property.n; i++) str_fini(&self->property.at[i]);
    for (size_t t = 0; t < 3; t++) {
        for (size_t i = 0; i < tables[t]->n; i++) str_fini(&tables[t]->at[i].bytes);
        VEC_FREE(tables[t]);
    }
    VEC_FREE(&self->string);
    VEC_FREE(&self->property);
}

static bool same(const str_t *a, const char *text, size_t n)
{
    return a->n == n && (n == 0 || memcmp(a->at, text, n) == 0);
}

uint64_t put_string(put_t *w, const char *text, size_t n)
{
    for (size_t i = 0; i < w->string.n; i++)
        if (same(&w->string.at[i], text, n)) return i;
    str_t copy = {0};
    str_addn(&copy, text, n);
    VEC_PUSH(&w->string, copy);
    return w->string.n - 1;
}

uint64_t put_entry(put_entries_t *table, in_dialect_t dialect, str_t bytes)
{
    for (size_t i = 0; i < table->n; i++) {
        if (table->at[i].dialect != dialect || !same(&table->at[i].bytes, bytes.at, bytes.n))
            continue;
        str_fini(&bytes);
        return i;
    }
    put_entry_t entry = {.dialect = dialect, .bytes = bytes};
    VEC_PUSH(table, entry);
    return table->n - 1;
}

uint64_t put_property(put_t *w, str_t bytes)
{
    for (size_t i = 0; i < w->property.n; i++) {
        if (!same(&w->property.at[i], bytes.at, bytes.n)) continue;
        str_fini(&bytes);
        return i;
    }
    VEC_PUSH(&w->property, bytes);
    return w->property.n - 1;
}

/* --- types --- */

static const struct {
    const char *name;
    int code;
} scalars[] = {
    {"i1", 0},          {"bf16", 2},        {"f16", 3},
    {"f32", 4},         {"f64", 5},         {"f8E4M3FN", 6},
    {"f8E5M2", 7},      {"index", 9},       {"i4", 10},
    {"i8", 11},         {"i16", 12},        {"i32", 13},
    {"i64", 14},        {"ui4", 15},        {"ui8", 16},
    {"ui16", 17},       {"ui32", 18},       {"ui64", 19},
    {"f8E4M3FNUZ", 27}, {"f8E5M2FNUZ", 28}, {"f8E4M3B11FNUZ", 29},
    {"i2", 31},         {"ui2", 32},        {"none", 33},
    {"f8E4M3", 35},     {"f8E3M4", 36},     {"f4E2M1FN", 37},
    {"f6E2M3FN", 38},   {"f6E3M2FN", 39},   {"f8E8M0FNU", 40},
};

uint64_t put_scalar_type(put_t *w, const char *name)
{
    str_t bytes = {0};
    bool is_complex = strncmp(name, "complex<", 8) == 0;
    if (is_complex) {
        uint64_t part = put_scalar_type(w, strstr(name, "64") ? "f64" : "f32");
        put_varint(&bytes, 1);
        put_varint(&bytes, part);
    }
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (strcmp(name, scalars[i].name) == 0) put_varint(&bytes, (uint64_t)scalars[i].code);
    return put_entry(&w->type, IN_VHLO, bytes);
}

uint64_t put_tensor_type(put_t *w, int rank, const int64_t *dims, uint64_t element)
{
    str_t bytes = {0};
    put_varint(&bytes, 20);
    put_varint(&bytes, (uint64_t)rank);
    for (int i = 0; i < rank; i++) put_signed(&bytes, dims[i]);
    put_varint(&bytes, element);
    return put_entry(&w->type, IN_VHLO, bytes);
}

uint64_t put_type(put_t *w, const ir_type_t *type)
{
    return put_tensor_type(w, type->rank, type->dim, put_scalar_type(w, dtype_name(type->dtype)));
}

static void put_list(str_t *bytes, size_t n, const uint64_t *items)
{
    put_varint(bytes, n);
    for (size_t i = 0; i < n; i++) put_varint(bytes, items[i]);
}

uint64_t put_function_type(put_t *w, size_t n_in, const uint64_t *in, size_t n_out,
                           const uint64_t *out)
{
    str_t bytes = {0};
    put_varint(&bytes, 8);
    put_list(&bytes, n_in, in);
    put_list(&bytes, n_out, out);
    return put_entry(&w->type, IN_VHLO, bytes);
}

/* --- attributes --- */

uint64_t put_code(put_t *w, uint64_t code)
{
    str_t bytes = {0};
    put_varint(&bytes, code);
    return put_entry(&w->attr, IN_VHLO, bytes);
}

uint64_t put_number(put_t *w, uint64_t code, uint64_t value)
{
    str_t bytes = {0};
    put_varint(&bytes, code);
    put_varint(&bytes, value);
    return put_entry(&w->attr, IN_VHLO, bytes);
}

uint64_t put_text(put_t *w, const char *text)
{
    return put_number(w, 14, put_string(w, text, strlen(text)));
}

uint64_t put_builtin_text(put_t *w, const char *text)
{
    str_t bytes = {0};
    put_varint(&bytes, 2);
    put_varint(&bytes, put_string(w, text, strlen(text)));
    return put_entry(&w->attr, IN_BUILTIN, bytes);
}

/* An integer goes with all its bits, as if unsigned; those of a byte as one. */
uint64_t put_int(put_t *w, const char *type, int64_t value)
{
    str_t bytes = {0};
    uint64_t bits = (uint64_t)value;
    put_varint(&bytes, 9);
    put_varint(&bytes, put_scalar_type(w, type));
    if (strcmp(type, "i8") == 0)
        put_byte(&bytes, (unsigned)bits & 0xFF);
    else
        put_signed(&bytes, (int64_t)(strcmp(type, "i32") == 0 ? bits & 0xFFFFFFFF : bits));
    return put_entry(&w->attr, IN_VHLO, bytes);
}

uint64_t put_f32(put_t *w, double value)
{
    str_t bytes = {0};
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    put_varint(&bytes, 8);
    put_varint(&bytes, put_scalar_type(w, "f32"));
    put_signed(&bytes, bits);
    return put_entry(&w->attr, IN_VHLO, bytes);
}

uint64_t put_bool(put_t *w, bool value)
{
    return put_number(w, 2, value);
}

static const struct {
    int code;
    const char *words; /* a blank behind each; `-` for a number that none has */
} words[] = {
    {3, "EQ NE GE GT LE LT "},
    {4, "NOTYPE FLOAT TOTALORDER SIGNED UNSIGNED WEAKORDER "},
    {5, "API_VERSION_UNSPECIFIED API_VERSION_ORIGINAL API_VERSION_STATUS_RETURNING "
        "API_VERSION_STATUS_RETURNING_UNIFIED API_VERSION_TYPED_FFI "},
    {7, "FFT IFFT RFFT IRFFT "},
    {11, "DEFAULT HIGH HIGHEST "},
    {12, "DEFAULT THREE_FRY PHILOX "},
    {13, "- UNIFORM NORMAL "},
    {16, "TRANSPOSE_INVALID NO_TRANSPOSE TRANSPOSE ADJOINT "},
};

uint64_t put_word(put_t *w, int code, const char *word)
{
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].code != code) continue;
        const char *at = words[i].words;
        for (; *at; at = strchr(at, ' ') + 1, value++)
            if (strncmp(at, word, strlen(word)) == 0 && at[strlen(word)] == ' ') break;
    }
    return put_number(w, (uint64_t)code, value);
}

uint64_t put_type_attr(put_t *w, uint64_t type)
{
    return put_number(w, 17, type);
}

uint64_t put_array(put_t *w, size_t n, const uint64_t *items)
{
    str_t bytes = {0};
    put_varint(&bytes, 1);
    put_list(&bytes, n, items);
    return put_entry(&w->attr, IN_VHLO, bytes);
}

static uint64_t put_pairs(put_t *w, in_dialect_t dialect, int code, size_t n, const uint64_t *names,
                          const uint64_t *values)
{
    str_t bytes = {0};
    put_varint(&bytes, (uint64_t)code);
    put_varint(&bytes, n);
    for (size_t i = 0; i < n; i++) {
        put_varint(&bytes, names[i]);
        put_varint(&bytes, values[i]);
    }
    return put_entry(&w->attr, dialect, bytes);
}

uint64_t put_dict(put_t *w, size_t n, const uint64_t *names, const uint64_t *values)
{
    return put_pairs(w, IN_VHLO, 6, n, names, values);
}

uint64_t put_builtin_dict(put_t *w, size_t n, const uint64_t *names, const uint64_t *values)
{
    return put_pairs(w, IN_BUILTIN, 1, n, names, values);
}

uint64_t put_dense(put_t *w, uint64_t type, const void *data, size_t n)
{
    str_t bytes = {0};
    put_varint(&bytes, 15);
    put_varint(&bytes, type);
    put_varint(&bytes, n);
    str_addn(&bytes, data, n);
    return put_entry(&w->attr, IN_VHLO, bytes);
}

/* Booleans 8 to a byte; all the same ones as 00 or FF. */
static uint64_t put_booleans(put_t *w, const tensor_t *tensor)
{
    str_t bits = {0};
    int64_t n = ir_type_count(&tensor->type);
    const uint8_t *at = tensor->data;
    if (tensor->splat && n > 1) {
        put_byte(&bits, at[0] ? 0xFF : 0);
    } else {
        for (int64_t i = 0; i < n; i += 8) {
            unsigned byte = 0;
            for (int64_t k = i; k < n && k < i + 8; k++)
                byte |= (unsigned)(at[tensor->splat ? 0 : k] != 0) << (k - i);
            put_byte(&bits, byte);
        }
    }
    uint64_t attr = put_dense(w, put_type(w, &tensor->type), str_text(&bits), bits.n);
    str_fini(&bits);
    return attr;
}

uint64_t put_tensor(put_t *w, const tensor_t *tensor)
{
    if (tensor->type.dtype == DT_I1) return put_booleans(w, tensor);
    return put_dense(w, put_type(w, &tensor->type), tensor->data,
                     (size_t)tensor_data_bytes(tensor));
}

uint64_t put_place(put_t *w, const char *name)
{
    str_t bytes = {0};
    uint64_t text = name ? put_builtin_text(w, name) : 0, child = name ? put_place(w, NULL) : 0;
    put_varint(&bytes, name ? 14 : 15);
    if (name) {
        put_varint(&bytes, text);
        put_varint(&bytes, child);
    }
    return put_entry(&w->attr, IN_BUILTIN, bytes);
}

/* --- the file --- */

static const char *const dialects[N_IN] = {"builtin", "vhlo", "chlo"};

/* Runs of entries of one dialect; their bytes go to `data`, if it is wanted. */
static void groups(const put_entries_t *table, str_t *out, str_t *data)
{
    for (size_t i = 0; i < table->n;) {
        size_t end = i + 1;
        while (end < table->n && table->at[end].dialect == table->at[i].dialect) end++;
        put_varint(out, table->at[i].dialect);
        put_varint(out, end - i);
        for (; i < end; i++) {
            const put_entry_t *e = &table->at[i];
            put_varint(out, (uint64_t)e->bytes.n << 1 | !e->as_text);
            str_addn(data, str_text(&e->bytes), e->bytes.n);
        }
    }
}

static void op_groups(put_t *w, str_t *out)
{
    for (size_t i = 0; i < w->op.n;) {
        size_t end = i + 1;
        while (end < w->op.n && w->op.at[end].dialect == w->op.at[i].dialect) end++;
        put_varint(out, w->op.at[i].dialect);
        put_varint(out, end - i);
        for (; i < end; i++) {
            uint64_t name = put_string(w, str_text(&w->op.at[i].bytes), w->op.at[i].bytes.n);
            bool known = w->op.at[i].dialect != IN_CHLO;
            put_varint(out, w->how.container >= 5 ? name << 1 | known : name);
        }
    }
}

static void dialect_section(put_t *w, str_t *out)
{
    str_t data = {0};
    put_varint(&data, N_IN);
    for (int i = 0; i < N_IN; i++) {
        uint64_t name = put_string(w, dialects[i], strlen(dialects[i]));
        put_varint(&data, w->how.container >= 1 ? name << 1 : name);
    }
    if (w->how.container >= 4) put_varint(&data, w->op.n);
    op_groups(w, &data);
    put_section(out, 1, &data);
    str_fini(&data);
}

static void entries(put_t *w, str_t *out)
{
    str_t offsets = {0}, data = {0};
    put_varint(&offsets, w->attr.n);
    put_varint(&offsets, w->type.n);
    groups(&w->attr, &offsets, &data);
    groups(&w->type, &offsets, &data);
    put_section(out, 3, &offsets);
    put_section(out, 2, &data);
    str_fini(&offsets);
    str_fini(&data);
}

static void strings(const put_t *w, str_t *out)
{
    str_t data = {0};
    put_varint(&data, w->string.n);
    for (size_t i = w->string.n; i-- > 0;) put_varint(&data, w->string.at[i].n + 1);
    for (size_t i = 0; i < w->string.n; i++) {
        str_addn(&data, str_text(&w->string.at[i]), w->string.at[i].n);
        put_byte(&data, 0);
    }
    put_section(out, 0, &data);
    str_fini(&data);
}

static void properties(const put_t *w, str_t *out)
{
    str_t data = {0};
    put_varint(&data, w->property.n);
    for (size_t i = 0; i < w->property.n; i++) {
        put_varint(&data, w->property.at[i].n);
        str_addn(&data, str_text(&w->property.at[i]), w->property.at[i].n);
    }
    put_section(out, 8, &data);
    str_fini(&data);
}

void put_file(put_t *w, const str_t *ir, str_t *out)
{
    str_addn(out, "ML\xEFR", 4);
    put_varint(out, (uint64_t)w->how.container);
    str_addf(out, "StableHLO_v%d.%d.0", w->how.vhlo / 100, w->how.vhlo % 100);
    put_byte(out, 0);
    dialect_section(w, out);
    entries(w, out);
    put_section(out, 4, ir);
    strings(w, out);
    if (w->how.container >= 5) properties(w, out);
}
