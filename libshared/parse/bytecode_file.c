/* The tables of MLIR bytecode: strings, dialects, names of ops, where each attribute and type
 * lies, properties. */
#include <stdlib.h>
#include <string.h>

#include "parse/bytecode.h"

enum {
    SECTION_STRING,
    SECTION_DIALECT,
    SECTION_ATTR_TYPE,
    SECTION_OFFSET,
    SECTION_IR,
    SECTION_RESOURCE,
    SECTION_RESOURCE_OFFSET,
    SECTION_DIALECT_VERSIONS,
    SECTION_PROPERTIES,
    N_SECTION
};

/* What came with which version of the container. */
enum { WITH_DIALECT_VERSIONS = 1, WITH_OP_COUNT = 4, WITH_PROPERTIES = 5 };

typedef struct {
    bytes_t at[N_SECTION];
    bool there[N_SECTION];
} sections_t;

/* "StableHLO_v1.8.8"; other producers say nothing of VHLO. */
static int read_version(bytecode_t *b)
{
    static const char name[] = "StableHLO_v";
    char *dot, *end;
    b->major = b->minor = -1;
    if (!str_starts(b->producer, name)) return 0;
    long major = strtol(b->producer + strlen(name), &dot, 10);
    long minor = *dot == '.' ? strtol(dot + 1, &end, 10) : -1;
    if (major < 0 || major > 9999 || minor < 0 || minor > 9999) return 0;
    b->major = (int)major;
    b->minor = (int)minor;
    if (b->major <= 1) return 0;
    return err_set(
        b->err, ERR_UNSUPPORTED,
        "%s: MLIR bytecode of StableHLO %d.%d; versions 0.9 to 1.%d are read: export the "
        "model for one of them (stablehlo.serialize_portable_artifact(module, \"1.0.0\"), "
        "stablehlo-translate --serialize --target=1.0.0), or as text",
        b->file, b->major, b->minor, BYTECODE_VHLO_MINOR);
}

static int read_header(bytecode_t *b, bytes_t *in)
{
    in->at += 4; /* the magic number */
    if (bytes_varint(b, in, &b->version) < 0) return -1;
    if (b->version > BYTECODE_CONTAINER)
        return err_set(
            b->err, ERR_UNSUPPORTED,
            "%s: MLIR bytecode of format version %llu; versions 0 to %d are read: export "
            "the model for an older version (stablehlo.serialize_portable_artifact("
            "module, \"1.0.0\"), stablehlo-translate --serialize --target=1.0.0), or as "
            "text",
            b->file, (unsigned long long)b->version, BYTECODE_CONTAINER);
    const uint8_t *nul = memchr(in->at, 0, (size_t)(in->end - in->at));
    if (!nul) return bytecode_fail(b, in->at, ERR_CORRUPT, "the producer's name has no end");
    b->producer = (const char *)in->at;
    in->at = nul + 1;
    return read_version(b);
}

static int read_sections(bytecode_t *b, bytes_t *in, sections_t *s)
{
    while (in->at < in->end) {
        const uint8_t *at = in->at;
        int id;
        bytes_t data;
        if (bytes_section(b, in, &id, &data) < 0) return -1;
        if (id >= N_SECTION) return bytecode_fail(b, at, ERR_CORRUPT, "section %d is unknown", id);
        if (s->there[id]) return bytecode_fail(b, at, ERR_CORRUPT, "section %d comes twice", id);
        s->at[id] = data;
        s->there[id] = true;
    }
    for (int id = SECTION_STRING; id <= SECTION_IR; id++)
        if (!s->there[id])
            return bytecode_fail(b, in->at, ERR_CORRUPT, "section %d is missing", id);
    return 0;
}

/* The sizes come last string first; the strings stand at the section's end, each with a NUL. */
static int read_strings(bytecode_t *b, bytes_t in)
{
    uint64_t n;
    const uint8_t *end = in.end;
    if (bytes_count(b, &in, &n) < 0) return -1;
    for (uint64_t i = 0; i < n; i++) VEC_PUSH(&b->string, (span_t){0});
    for (uint64_t i = n; i-- > 0;) {
        uint64_t size;
        if (bytes_varint(b, &in, &size) < 0) return -1;
        if (size == 0 || in.at > end || size > (uint64_t)(end - in.at))
            return bytecode_fail(b, in.at, ERR_CORRUPT, "string %llu has no room",
                                 (unsigned long long)i);
        end -= size;
        b->string.at[i] = (span_t){(const char *)end, (size_t)size - 1};
    }
    return 0;
}

static dialect_kind_t kind_of(span_t name)
{
    if (span_is(name, "builtin")) return DIALECT_BUILTIN;
    if (span_is(name, "vhlo")) return DIALECT_VHLO;
    return span_is(name, "sdy") ? DIALECT_SDY : DIALECT_OTHER;
}

static int read_dialect(bytecode_t *b, bytes_t *in)
{
    dialect_t d = {0};
    uint64_t index;
    bool versioned = false;
    const uint8_t *at = in->at;
    int rc = b->version < WITH_DIALECT_VERSIONS ? bytes_varint(b, in, &index)
                                                : bytes_flagged(b, in, &index, &versioned);
    if (rc < 0) return -1;
    if (index >= b->string.n) return bytecode_fail(b, at, ERR_CORRUPT, "a dialect has no name");
    d.name = b->string.at[index];
    d.kind = kind_of(d.name);
    VEC_PUSH(&b->dialect, d);
    int id;
    bytes_t version; /* in a form that only the dialect knows */
    if (versioned && bytes_section(b, in, &id, &version) < 0) return -1;
    return 0;
}

static int read_op_name(bytecode_t *b, bytes_t *in, const dialect_t *dialect)
{
    op_name_t op = {.dialect = dialect};
    uint64_t index;
    bool registered = true;
    const uint8_t *at = in->at;
    int rc = b->version < WITH_PROPERTIES ? bytes_varint(b, in, &index)
                                          : bytes_flagged(b, in, &index, &registered);
    if (rc < 0) return -1;
    if (index >= b->string.n) return bytecode_fail(b, at, ERR_CORRUPT, "an op has no name");
    op.name = b->string.at[index];
    op.unregistered = !registered;
    if (dialect->kind == DIALECT_VHLO) op.vhlo = vhlo_op_find(op.name);
    VEC_PUSH(&b->op, op);
    return 0;
}

/* Groups of one dialect: its number, how many, and each of them by `read`. */
static int read_groups(bytecode_t *b, bytes_t *in, uint64_t n_all,
                       int (*read)(bytecode_t *, bytes_t *, const dialect_t *, void *), void *user)
{
    for (uint64_t n_read = 0; n_read < n_all && in->at < in->end;) {
        uint64_t dialect, n;
        if (bytes_index(b, in, b->dialect.n, "dialect", &dialect) < 0 || bytes_count(b, in, &n) < 0)
            return -1;
        for (uint64_t i = 0; i < n; i++)
            if (read(b, in, &b->dialect.at[dialect], user) < 0) return -1;
        n_read += n;
    }
    return 0;
}

static int group_op(bytecode_t *b, bytes_t *in, const dialect_t *dialect, void *user)
{
    (void)user;
    return read_op_name(b, in, dialect);
}

static int read_dialects(bytecode_t *b, bytes_t in)
{
    uint64_t n, n_op = UINT64_MAX;
    if (bytes_count(b, &in, &n) < 0) return -1;
    for (uint64_t i = 0; i < n; i++)
        if (read_dialect(b, &in) < 0) return -1;
    if (b->version >= WITH_OP_COUNT && bytes_varint(b, &in, &n_op) < 0) return -1;
    return read_groups(b, &in, UINT64_MAX, group_op, NULL);
}

/* --- attributes and types: their sizes, one after the other --- */

typedef struct {
    bytes_t data;
    entries_t *into;
} offsets_t;

static int group_entry(bytecode_t *b, bytes_t *in, const dialect_t *dialect, void *user)
{
    offsets_t *o = user;
    entry_t entry = {.dialect = dialect};
    uint64_t size;
    if (bytes_flagged(b, in, &size, &entry.coded) < 0 ||
        bytes_take(b, &o->data, size, &entry.data) < 0)
        return -1;
    VEC_PUSH(o->into, entry);
    return 0;
}

static int read_entries(bytecode_t *b, bytes_t *in, uint64_t n, const char *what, offsets_t *o)
{
    const uint8_t *at = in->at;
    if (read_groups(b, in, n, group_entry, o) < 0) return -1;
    if (o->into->n == n) return 0;
    return bytecode_fail(b, at, ERR_CORRUPT, "%zu %s are there, not %llu", o->into->n, what,
                         (unsigned long long)n);
}

static int read_offsets(bytecode_t *b, bytes_t in, bytes_t data)
{
    uint64_t n_attr, n_type;
    offsets_t attrs = {data, &b->attr};
    if (bytes_count(b, &in, &n_attr) < 0 || bytes_count(b, &in, &n_type) < 0 ||
        read_entries(b, &in, n_attr, "attributes", &attrs) < 0)
        return -1;
    offsets_t types = {attrs.data, &b->type};
    return read_entries(b, &in, n_type, "types", &types);
}

static int read_properties(bytecode_t *b, const sections_t *s)
{
    bytes_t in = s->at[SECTION_PROPERTIES];
    uint64_t n, size;
    if (!s->there[SECTION_PROPERTIES]) return 0;
    if (bytes_count(b, &in, &n) < 0) return -1;
    for (uint64_t i = 0; i < n; i++) {
        bytes_t data;
        if (bytes_varint(b, &in, &size) < 0 || bytes_take(b, &in, size, &data) < 0) return -1;
        VEC_PUSH(&b->property, data);
    }
    return 0;
}

int bytecode_read_tables(bytecode_t *b, bytes_t *ir)
{
    bytes_t in = {b->all, b->end};
    sections_t s = {0};
    if (read_header(b, &in) < 0 || read_sections(b, &in, &s) < 0 ||
        read_strings(b, s.at[SECTION_STRING]) < 0 || read_dialects(b, s.at[SECTION_DIALECT]) < 0 ||
        read_offsets(b, s.at[SECTION_OFFSET], s.at[SECTION_ATTR_TYPE]) < 0 ||
        read_properties(b, &s) < 0)
        return -1;
    *ir = s.at[SECTION_IR];
    return 0;
}
