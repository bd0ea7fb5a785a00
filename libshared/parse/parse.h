/* StableHLO text to IR: grammar in docs of StableHLO and MLIR; both forms of every op in the op
 * table.
 *
 * The text is read once, left to right; the result has passed ir_verify. Locations are dropped but
 * for arguments' names, MHLO's ops are StableHLO's, sdy's are the identity on one device,
 * declarations without a body are left out, `stablehlo.dot` becomes dot_general; what else is not
 * taken as written is told in the module's notes. Thread-safe: no state outlives a call. */
#ifndef PARSE_PARSE_H
#define PARSE_PARSE_H

#include <stddef.h>

#include "base/err.h"
#include "ir/ir.h"

/* What may be asked of the parser; zeroed: nothing. */
enum { PARSE_KEEP_BYTES = 64 << 20 };
typedef struct {
    bool constant_names; /* constants get the attribute pcp.loc: the name in their loc("..") */
    const char *shapes;  /* NAME=8x128[,NAME=..] of the entry's arguments, for `?`; NULL: none */
    bool
        mapped; /* the text is a read-only mapping of a file: pages that were read are given back */
    int first_line; /* of the text in its file, for messages; 0: 1 */
    int64_t
        keep_bytes; /* of large constants in memory; more lies in a temporary file (base/spill.h).
                          * 0: PARSE_KEEP_BYTES; -1: none */
} parse_options_t;

/* One module (one section; `// -----` is only a comment here). text[n] need not end with NUL and is
 * not modified or kept. file_name is for messages. Returns a module that the caller destroys, or
 * NULL: ERR_PARSE "file:line:col: expected .., got ..", the source line and a caret under the
 * place; ERR_UNSUPPORTED likewise for what the IR does not have (dynamic shapes, complex numbers,
 * unknown ops); the code of ir_verify, with file and line, for a module that breaks a type rule. */
ir_module_t *parse_stablehlo(const char *text, size_t n, const char *file_name, err_t *err);

/* The same for a file; ERR_IO when it cannot be read. */
ir_module_t *parse_stablehlo_file(const char *path, err_t *err);

/* Are these bytes MLIR bytecode, as it is or in what jax.export's serialize() writes? All functions
 * here read both texts and bytecode with the VHLO dialect (StableHLO's portable artifacts): its
 * messages name a byte, or a line of the text that it becomes. */
bool parse_is_bytecode(const char *bytes, size_t n);

/* ERR_ARG when the path is a directory: what it is, and which file of it to give. */
int parse_check_path(const char *path, err_t *err);

/* The sections of a text, split at lines that start with `// -----`.
 *     parse_sections_t s = parse_sections(text, n);
 *     while (parse_sections_next(&s)) ... s.at, s.n, s.index, s.line ...
 * A section may hold only blanks and comments: parse_is_blank says so. */
typedef struct {
    const char *at; /* the current section */
    size_t n;
    int index; /* from 0 */
    int line;  /* of its first line, from 1 */
    int next_line;
    bool mapped; /* set it for a file's mapping: pages that were read are given back */
    const char *rest, *end;
} parse_sections_t;
parse_sections_t parse_sections(const char *text, size_t n);
bool parse_sections_next(parse_sections_t *self);
bool parse_is_blank(const char *text, size_t n);

/* Ops that others stand for once the text is read, by number from 0; NULL behind the last. */
const char *parse_text_op_name(size_t i);

/* As parse_stablehlo; messages count lines from `first_line`, the section's place in its file. */
ir_module_t *parse_section(const char *text, size_t n, const char *file_name, int first_line,
                           err_t *err);

/* As parse_stablehlo, with options. */
ir_module_t *parse_stablehlo_with(const char *text, size_t n, const char *file_name,
                                  const parse_options_t *options, err_t *err);

#endif
