/* Plan code for Vulkan: a stream of 32-bit words, little-endian. Of the whole: magic, version, number
 * of shaders. Of each: threads, how they come, rounds, arguments, words of SPIR-V; threads and groups of its way
 * for GPUs, and words of that (zeros: it has none); for each argument:
 * flags, element size, first byte, last byte (64 bits each); then the SPIR-V. */
#include "codegen/vulkan/shaders.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "codegen/vulkan/glslc.h"

enum {
    MAGIC = 0x56504350, /* "PCPV" */
    VERSION = 4,        /* 4: a shader may have another way */
    ONE_WAY = 3,        /* 3: the arena has segments */
    ONE_BUFFER = 2,     /* 2: shaders may see the arena as texels (bindings 2 to 5) */
    SPIRV_MAGIC = 0x07230203,
    SPIRV_NEWEST = 0x00010300,
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_GLCOMPUTE = 5,
    READS = 1,
    WRITES = 2,
};

typedef VEC(uint32_t) words_t;

/* --- Writing ---------------------------------------------------------------------------------- */

static void add_words(words_t *out, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t word;
        memcpy(&word, (const char *)bytes + i * sizeof word, sizeof word);
        VEC_PUSH(out, word);
    }
}

static void add_i64(words_t *out, int64_t i)
{
    VEC_PUSH(out, (uint32_t)(uint64_t)i);
    VEC_PUSH(out, (uint32_t)((uint64_t)i >> 32));
}

/* Several variables are one buffer, by the types of its elements: they say that they may be the same
 * memory, which no word of GLSL does. Returns the module's new number of words. */
static size_t add_module(words_t *out, const uint8_t *spirv, size_t n_word)
{
    enum { OP_DECORATE = 71, BINDING = 33, ALIASED = 20, OP_SHIFT = 16, DECORATE_WORDS = 3 };
    words_t in = {0};
    size_t first = out->n, at = 5;
    add_words(&in, spirv, n_word);
    for (size_t i = 0; i < at && i < in.n; i++) VEC_PUSH(out, in.at[i]);
    while (at < in.n) {
        const uint32_t *word = &in.at[at];
        size_t length = word[0] >> OP_SHIFT;
        if (length == 0 || length > in.n - at) length = in.n - at; /* the reader refuses it */
        for (size_t i = 0; i < length; i++) VEC_PUSH(out, word[i]);
        if (length == 4 && (word[0] & 0xFFFF) == OP_DECORATE && word[2] == BINDING &&
            word[3] == 0) {
            VEC_PUSH(out, DECORATE_WORDS << OP_SHIFT | OP_DECORATE);
            VEC_PUSH(out, word[1]);
            VEC_PUSH(out, ALIASED);
        }
        at += length;
    }
    VEC_FREE(&in);
    return out->n - first;
}

/* The renderer's words to the device: "// threads 1, rounds 4, arguments 2" and a line for each
 * argument; and, if there is another way for GPUs, "// panels 64, groups 12". */
static int add_description(words_t *out, const char *source, const size_t n_word[2], err_t *err)
{
    static const char *const how[] = {[SHADERS_APART] = "\n// threads ",
                                      [SHADERS_GROUPS] = "\n// groups of ",
                                      [SHADERS_LANES] = "\n// lanes "};
    const char *line = NULL;
    unsigned threads = 0, n_arg = 0, rounds = 0, kind = 0, panels[2] = {0};
    for (unsigned i = 0; !line && i < sizeof how / sizeof *how; i++) {
        line = strstr(source, how[i]);
        kind = i;
    }
    if (!line || sscanf(line + strlen(how[kind]), "%u, rounds %u, arguments %u", &threads, &rounds,
                        &n_arg) != 3)
        return err_set(err, ERR_STATE, "a shader that does not say what it takes");
    const char *other = strstr(source, "\n// panels ");
    if (other && sscanf(other, "\n// panels %u, groups %u", &panels[0], &panels[1]) != 2)
        return err_set(err, ERR_STATE, "a shader that does not say what its panels take");
    const uint32_t head[] = {threads,
                             kind,
                             rounds,
                             n_arg,
                             (uint32_t)n_word[0],
                             panels[0],
                             panels[1],
                             (uint32_t)n_word[1]};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) VEC_PUSH(out, head[i]);
    for (unsigned i = 0; i < n_arg; i++) {
        char reads, writes;
        unsigned size;
        int64_t lo, hi;
        line = strchr(line + 1, '\n');
        if (!line || sscanf(line, "\n// %c%c %u %" SCNd64 " %" SCNd64, &reads, &writes, &size, &lo,
                            &hi) != 5)
            return err_set(err, ERR_STATE, "a shader that does not say what it reads and writes");
        VEC_PUSH(out, (reads == 'r' ? READS : 0u) | (writes == 'w' ? WRITES : 0u));
        VEC_PUSH(out, size);
        add_i64(out, lo);
        add_i64(out, hi);
    }
    return 0;
}

/* The same source as it is for GPUs; NULL: it has no other way there. */
static char *with_panels(const char *source)
{
    const char *rest = strchr(source, '\n'); /* behind #version */
    if (!rest || !strstr(source, "\n// panels ")) return NULL;
    return mem_printf("%.*s\n#define PANELS%s", (int)(rest - source), source, rest);
}

/* What a shader is in the code, from its modules: the second may be NULL. */
static int add_shader(words_t *out, const char *source, uint8_t *const spirv[2],
                      const size_t size[2], err_t *err)
{
    words_t module = {0};
    size_t n_word[2] = {0};
    for (int i = 0; i < 2; i++)
        if (spirv[i]) n_word[i] = add_module(&module, spirv[i], size[i] / sizeof(uint32_t));
    int status = add_description(out, source, n_word, err);
    add_words(out, module.at, module.n);
    VEC_FREE(&module);
    return status;
}

uint8_t *shaders_compile(int n, const char *const *source, size_t *n_bytes, err_t *err)
{
    words_t out = {0};
    uint8_t *bytes = NULL;
    int n_all = n;
    int *other = mem_calloc((size_t)n + 1,
                            sizeof *other); /* number of the second module, 0: none */
    const char **all = mem_calloc(2 * (size_t)n + 1, sizeof *all);
    uint8_t **spirv = mem_calloc(2 * (size_t)n + 1, sizeof *spirv);
    size_t *size = mem_calloc(2 * (size_t)n + 1, sizeof *size);
    for (int i = 0; i < n; i++) {
        all[i] = source[i];
        all[n_all] = with_panels(source[i]);
        if (all[n_all]) other[i] = n_all++;
    }
    int status = glslc_run(n_all, all, spirv, size, err);
    const uint32_t head[] = {MAGIC, VERSION, (uint32_t)n};
    for (size_t i = 0; i < 3; i++) VEC_PUSH(&out, head[i]);
    for (int i = 0; status == 0 && i < n; i++) {
        int k = other[i];
        status = add_shader(&out, source[i], (uint8_t *const[2]){spirv[i], k ? spirv[k] : NULL},
                            (const size_t[2]){size[i], k ? size[k] : 0}, err);
    }
    if (status == 0) {
        *n_bytes = out.n * sizeof(uint32_t);
        bytes = mem_calloc(1, *n_bytes);
        memcpy(bytes, out.at, *n_bytes);
    }
    for (int i = 0; i < n_all; i++) free(spirv[i]);
    for (int i = n; i < n_all; i++) free((char *)all[i]);
    free(all);
    free(other);
    free(spirv);
    free(size);
    VEC_FREE(&out);
    return bytes;
}

/* --- Reading ---------------------------------------------------------------------------------- */

typedef struct {
    const uint32_t *at, *end;
    bool short_of; /* somebody wanted more than there is */
} reader_t;

static uint32_t next(reader_t *r)
{
    if (r->at < r->end) return *r->at++;
    r->short_of = true;
    return 0;
}

static int64_t next_i64(reader_t *r)
{
    uint64_t low = next(r), high = next(r);
    return (int64_t)(high << 32 | low);
}

/* Instructions that end where the module ends, and an entry point for compute. */
static int check_spirv(const uint32_t *word, size_t n, err_t *err)
{
    bool entry = false;
    if (n < 6 || word[0] != SPIRV_MAGIC || word[1] > SPIRV_NEWEST || word[3] == 0 ||
        word[3] > (1u << 22))
        return err_set(err, ERR_CORRUPT, "shaders: no SPIR-V of version 1.3 or before");
    for (size_t i = 5; i < n;) {
        uint32_t length = word[i] >> 16, op = word[i] & 0xFFFF;
        if (length == 0 || length > n - i)
            return err_set(err, ERR_CORRUPT, "shaders: instruction %u of %u words at %zu of %zu",
                           op, length, i, n);
        entry = entry ||
                (op == OP_ENTRY_POINT && length > 3 && word[i + 1] == OP_EXECUTION_GLCOMPUTE);
        i += length;
    }
    return entry ? 0 : err_set(err, ERR_CORRUPT, "shaders: a module without an entry point");
}

static int next_module(reader_t *r, const uint32_t **word, size_t n_word, err_t *err)
{
    *word = r->at;
    if (r->short_of || n_word > (size_t)(r->end - r->at))
        return err_set(err, ERR_CORRUPT, "shaders: the code ends inside a module");
    r->at += n_word;
    return check_spirv(*word, n_word, err);
}

static int read_shader(reader_t *r, shader_t *s, bool ways, err_t *err)
{
    uint32_t how, n_arg;
    s->threads = next(r);
    how = next(r);
    s->rounds = next(r);
    n_arg = next(r);
    s->n_word = next(r);
    s->panel_threads = ways ? next(r) : 0;
    s->panel_groups = ways ? next(r) : 0;
    s->n_panel_word = ways ? next(r) : 0;
    s->how = (shader_threads_t)how;
    if (r->short_of || how > SHADERS_LANES || (s->threads == 0 && how != SHADERS_GROUPS) ||
        n_arg > SHADERS_MAX_ARGS || (how == SHADERS_GROUPS && s->threads > SHADERS_MAX_THREADS) ||
        s->threads > (1u << 24) || s->panel_threads > SHADERS_MAX_THREADS ||
        (s->panel_threads == 0) != (s->panel_groups == 0) ||
        (s->panel_threads == 0) != (s->n_panel_word == 0))
        return err_set(err, ERR_CORRUPT, "shaders: %u threads, %u arguments, panels of %u threads",
                       s->threads, n_arg, s->panel_threads);
    s->arg = mem_calloc(n_arg + 1, sizeof *s->arg);
    s->n_arg = (int)n_arg;
    for (int i = 0; i < s->n_arg; i++) {
        shader_arg_t *a = &s->arg[i];
        uint32_t flags = next(r);
        a->reads = flags & READS;
        a->writes = flags & WRITES;
        a->size = next(r);
        a->lo = next_i64(r);
        a->hi = next_i64(r);
        if (a->size == 0 || a->size > 16 || flags > 3)
            return err_set(err, ERR_CORRUPT, "shaders: argument %d of %u bytes", i, a->size);
    }
    if (next_module(r, &s->word, s->n_word, err) < 0) return -1;
    return s->n_panel_word ? next_module(r, &s->panel_word, s->n_panel_word, err) : 0;
}

int shaders_load(shaders_t *self, const uint8_t *bytes, size_t n_bytes, err_t *err)
{
    *self = (shaders_t){0};
    if (n_bytes < 3 * sizeof(uint32_t) || n_bytes % sizeof(uint32_t) != 0)
        return err_set(err, ERR_CORRUPT, "shaders: %zu bytes", n_bytes);
    self->word = mem_calloc(1, n_bytes);
    memcpy(self->word, bytes, n_bytes);
    reader_t r = {.at = self->word, .end = self->word + n_bytes / sizeof(uint32_t)};
    uint32_t magic = next(&r), version = next(&r), n = next(&r);
    self->one_buffer = version == ONE_BUFFER;
    if (magic != MAGIC || version < ONE_BUFFER || version > VERSION)
        return err_set(err, ERR_CORRUPT, "shaders: the code is none for Vulkan of version %d",
                       VERSION);
    if (n > (size_t)(r.end - r.at) / 4)
        return err_set(err, ERR_CORRUPT, "shaders: %u of them in %zu bytes", n, n_bytes);
    self->shader = mem_calloc((size_t)n + 1, sizeof *self->shader);
    for (self->n = 0; self->n < (int)n; self->n++)
        if (read_shader(&r, &self->shader[self->n], version > ONE_WAY, err) < 0) {
            self->n++;
            return -1;
        }
    if (r.at != r.end) return err_set(err, ERR_CORRUPT, "shaders: bytes behind the last module");
    return 0;
}

void shaders_fini(shaders_t *self)
{
    for (int i = 0; i < self->n; i++) free(self->shader[i].arg);
    free(self->shader);
    free(self->word);
    *self = (shaders_t){0};
}
