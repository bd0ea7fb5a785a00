/* Files that are no StableHLO text: what they are, by their first bytes, and what makes text of
 * them. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "parse/parse.h"
#include "parse/parser.h"

#define FROM_HLO                                                                            \
    "HLO comes behind StableHLO: in JAX write jax.jit(f).lower(..).as_text(), which is "    \
    "StableHLO, not .compile().as_text(); or convert it: jax.extend.mlir.hlo_to_stablehlo " \
    "takes the serialized HloModuleProto"

typedef struct {
    size_t at, n;
    const char *magic, *what, *fix;
} format_t;

#define MAGIC(at, text, what, fix)           \
    {                                        \
        at, sizeof text - 1, text, what, fix \
    }
static const format_t formats[] = {
    MAGIC(0, "HloModule ", "HLO text", FROM_HLO),
    MAGIC(0, "PK\x03\x04", "a zip archive",
          "unpack it (unzip FILE) and give the .mlir in it; torch.export's .pt2 holds no "
          "StableHLO: use torch_xla.stablehlo.exported_program_to_stablehlo"),
    MAGIC(0, "\x1F\x8B", "gzip", "unpack it first: gunzip FILE"),
    MAGIC(0, "\x28\xB5\x2F\xFD", "Zstandard", "unpack it first: zstd -d FILE"),
    MAGIC(0,
          "\xFD"
          "7zXZ",
          "xz", "unpack it first: unxz FILE"),
    MAGIC(0, "BZh", "bzip2", "unpack it first: bunzip2 FILE"),
    MAGIC(257, "ustar", "a tar archive", "unpack it first: tar xf FILE"),
    MAGIC(0, "\xFF\xFE", "UTF-16", "write it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE"),
    MAGIC(0, "\xFE\xFF", "UTF-16", "write it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE"),
    MAGIC(0, "\x93NUMPY", "a NumPy array", "this is data, not a model"),
    MAGIC(4, "TFL3", "a TensorFlow Lite model", "export the model it was made of as StableHLO"),
    MAGIC(0, "{ lambda", "a jaxpr", "write jax.jit(f).lower(..).as_text() instead"),
    MAGIC(0,
          "\x7F"
          "ELF",
          "a program", "this is no model"),
};

/* A field of a protocol buffer that its messages begin with: HloModuleProto's name (or HloProto's
 * module), SavedModel's version, ONNX's. */
static bool is_proto(const char *at, size_t n)
{
    if (n < 4) return false;
    const unsigned char *byte = (const unsigned char *)at;
    if (byte[0] == 0x08 && byte[1] < 0x20) return byte[2] == 0x12 || byte[2] == 0x3A;
    size_t behind = 2 + (size_t)byte[1];
    if (byte[0] == 0x0A && byte[1] < 0x80 && behind < n && byte[behind] == 0x12) return true;
    return byte[0] == 0x0A && byte[1] > 0 &&
           (byte[2] == 0x0A || byte[2] < 0x20 || byte[3] < 0x20 || byte[2] >= 0x80);
}

static bool is_binary(const char *at, size_t n)
{
    for (size_t i = 0; i < n && i < 512; i++) {
        unsigned char c = (unsigned char)at[i];
        if (c < ' ' && c != '\n' && c != '\t' && c != '\r' && c != '\f' && c != '\v') return true;
    }
    return false;
}

int parse_foreign(parser_t *p)
{
    const char *at = p->lex.text;
    size_t n = (size_t)(p->lex.end - at);
    const char *start = lex_skip_blank(at, p->lex.end);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const format_t *f = &formats[i];
        bool here = f->at + f->n <= n && memcmp(at + f->at, f->magic, f->n) == 0;
        size_t rest = (size_t)(p->lex.end - start);
        bool text = f->at == 0 && f->n <= rest && memcmp(start, f->magic, f->n) == 0;
        if (here || text)
            return err_set(p->err, ERR_UNSUPPORTED, "%s: this is %s, not StableHLO text: %s",
                           p->file, f->what, f->fix);
    }
    if (!is_binary(at, n)) return 0;
    if (is_proto(at, n))
        return err_set(p->err, ERR_UNSUPPORTED,
                       "%s: this looks like a serialized protocol buffer (HLO, SavedModel, ONNX), "
                       "not StableHLO text: %s",
                       p->file, FROM_HLO);
    return 0;
}

static bool has(const char *dir, const char *name)
{
    char path[1024];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    return n > 0 && n < (int)sizeof path && stat(path, &st) == 0;
}

int parse_check_path(const char *path, err_t *err)
{
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)) return 0;
    if (has(path, "functions"))
        return err_set(
            err, ERR_ARG,
            "%s: this is a directory of torch_xla (save_as_stablehlo): give %s/functions/"
            "forward.mlir; its weights are in %s/data",
            path, path, path);
    if (has(path, "saved_model.pb"))
        return err_set(err, ERR_ARG,
                       "%s: this is a TensorFlow SavedModel: export its function as StableHLO text",
                       path);
    return err_set(err, ERR_ARG,
                   "%s: this is a directory; give a StableHLO text or bytecode (.mlir, .mlirbc)",
                   path);
}
