/* Entry points: a look over the lines for aliases and resources, the parse, calls resolved, and the
 * verifier. */
#include "parse/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_view.h"
#include "parse/bytecode.h"
#include "parse/refine.h"
#include "parse/wide.h"

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("_.$-", c));
}

static const char *skip_spaces(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    return at;
}

/* `#name = value`: remember where the value starts. */
static void note_alias(parser_t *p, const char *at)
{
    const char *end = p->lex.end, *word = at + 1;
    while (word < end && is_word(*word)) word++;
    const char *equal = skip_spaces(word, end);
    if (word == at + 1 || equal == end || *equal != '=') return;
    alias_t alias = {at, (size_t)(word - at), equal + 1};
    VEC_PUSH(&p->aliases, alias);
}

/* Aliases may be used before they are defined and resources stand at the end, so both are found
 * first: each starts its line. Strings never hold line breaks. -1: this is no text. */
static int scan_lines(parser_t *p)
{
    const char *end = p->lex.end;
    for (const char *at = p->lex.text; at < end;) {
        const char *first = skip_spaces(at, end);
        if (first < end && (*first == '#' || *first == '!')) note_alias(p, first);
        if (end - first >= 3 && !memcmp(first, "{-#", 3)) p->resources = first;
        const char *newline = lex_find(&p->lex, first, '\n', '\0');
        if (newline && !*newline)
            return parse_fail(p, newline, ERR_PARSE, "a NUL byte: this is no text");
        at = newline ? newline + 1 : end;
    }
    return 0;
}

/* Does a use of a function fit its signature? */
static int check_use(parser_t *p, const use_t *use)
{
    const name_t *found = names_find(&p->functions, use->callee, strlen(use->callee));
    if (!found)
        return parse_fail(p, use->at, ERR_PARSE, "function @%.64s is not defined in this module",
                          use->callee);
    const fn_types_t *callee = &p->fn_types.at[found->value];
    if (use->n_in != callee->n_in || use->n_out != callee->n_out)
        return parse_fail(p, use->at, ERR_TYPE,
                          "@%.64s takes %d operands and gives %d results, not %d and %d",
                          use->callee, callee->n_in, callee->n_out, use->n_in, use->n_out);
    char want[IR_TYPE_TEXT], got[IR_TYPE_TEXT];
    for (int i = 0; i < use->n_in + use->n_out; i++) {
        bool is_in = i < use->n_in;
        if (ir_type_equal(&use->types[i], &callee->types[i])) continue;
        return parse_fail(p, use->at, ERR_TYPE, "@%.64s: %s %d is %s, not %s", use->callee,
                          is_in ? "operand" : "result", is_in ? i : i - use->n_in,
                          parse_type_text(p, &callee->types[i], want),
                          parse_type_text(p, &use->types[i], got));
    }
    return 0;
}

/* Values that stood for others are no op's: only their types need to go. */
static void drop_wide_types(parser_t *p)
{
    for (int i = 0; p->wide.n && i < p->module->n_fn; i++) {
        ir_fn_t *fn = p->module->fn[i];
        for (ir_val_t v = 0; v < fn->n_value; v++)
            if (wide_is(&fn->value[v].type)) fn->value[v].type = ir_type_scalar(DT_I1);
    }
}

/* The verifier says "@fn: line N: why"; put file and line in front. */
static int verify(parser_t *p)
{
    static const char mark[] = ": line ";
    if (ir_verify(p->module, p->err) == 0) return 0;
    char text[sizeof p->err->text];
    memcpy(text, p->err->text, sizeof text);
    char *at = strstr(text, mark), *rest;
    long line = at ? strtol(at + strlen(mark), &rest, 10) : 0;
    if (line <= 0) return err_prefix(p->err, "%s: ", p->file);
    *at = '\0';
    return err_set(p->err, p->err->code, "%s:%ld: %s%s", p->file, line, text, rest);
}

static int run(parser_t *p)
{
    if (parse_foreign(p) < 0) return -1;
    if (scan_lines(p) < 0) return -1;
    parse_next(p);
    if (parse_top(p) < 0) return -1;
    for (size_t i = 0; i < p->uses.n; i++)
        if (check_use(p, &p->uses.at[i]) < 0) return -1;
    if (p->module->n_fn == 0)
        return err_set(p->err, ERR_PARSE, "%s: there is no function with a body", p->file);
    if (refine_check_used(p) < 0 || refine_check_calls(p) < 0) return -1;
    drop_wide_types(p);
    parse_write_notes(p);
    return verify(p);
}

/* What a text is read with, besides its lines. */
typedef struct {
    const parse_options_t *options;
    const blob_t *blob;
    size_t n_blob;
    bool blob_mapped;
} reading_t;

static ir_module_t *parse_lines(const char *text, size_t n, const char *file_name,
                                const reading_t *with, err_t *err)
{
    err_t own = {0};
    parser_t *p = mem_calloc(1, sizeof *p); /* too large for a small stack */
    if (n == 0) text = "";
    if (n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) text += 3, n -= 3; /* byte-order mark */
    p->lex = (lexer_t){text, text + n, text, with->options->mapped};
    p->tok.at = text;
    p->file = file_name;
    p->options = with->options;
    p->blob = with->blob;
    p->n_blob = with->n_blob;
    p->blob_mapped = with->blob_mapped;
    p->err = &own;
    p->module = ir_module_new();
    p->arena = p->module->arena;
    p->line_at = text;
    p->line = p->first_line = with->options->first_line ? with->options->first_line : 1;
    names_clear(&p->functions);
    if (run(p) < 0) {
        ir_module_destroy(&p->module);
        if (err) *err = own;
    }
    ir_module_t *module = p->module;
    names_fini(&p->names);
    names_fini(&p->functions);
    VEC_FREE(&p->aliases);
    VEC_FREE(&p->uses);
    VEC_FREE(&p->fn_types);
    VEC_FREE(&p->wide);
    VEC_FREE(&p->packs);
    VEC_FREE(&p->resource_list);
    free(p);
    return module;
}

/* MLIR bytecode becomes text first; messages count its lines. */
static ir_module_t *parse_bytecode(const char *bytes, size_t n, const char *file_name,
                                   const parse_options_t *options, err_t *err)
{
    str_t text;
    blob_t *blob;
    parse_options_t own = *options;
    own.mapped = false;
    own.first_line = 1;
    reading_t with = {.options = &own, .blob_mapped = options->mapped};
    if (bytecode_text(bytes, n, file_name, &text, &blob, &with.n_blob, err) < 0) return NULL;
    with.blob = blob;
    char *name = mem_printf("%s (as text)", file_name);
    ir_module_t *module = parse_lines(str_text(&text), text.n, name, &with, err);
    free(name);
    free(blob);
    str_fini(&text);
    return module;
}

bool parse_is_bytecode(const char *bytes, size_t n)
{
    size_t at, n_code;
    return bytecode_find(bytes, n, &at, &n_code);
}

ir_module_t *parse_stablehlo_with(const char *text, size_t n, const char *file_name,
                                  const parse_options_t *options, err_t *err)
{
    const reading_t with = {.options = options};
    if (parse_is_bytecode(text, n)) return parse_bytecode(text, n, file_name, options, err);
    return parse_lines(text, n, file_name, &with, err);
}

ir_module_t *parse_stablehlo(const char *text, size_t n, const char *file_name, err_t *err)
{
    const parse_options_t none = {0};
    return parse_stablehlo_with(text, n, file_name, &none, err);
}

ir_module_t *parse_section(const char *text, size_t n, const char *file_name, int first_line,
                           err_t *err)
{
    const parse_options_t options = {.first_line = first_line};
    return parse_stablehlo_with(text, n, file_name, &options, err);
}

ir_module_t *parse_stablehlo_file(const char *path, err_t *err)
{
    file_view_t view;
    if (parse_check_path(path, err) < 0 || file_view_open(path, &view, err) < 0) return NULL;
    const parse_options_t options = {.mapped = view.mapped};
    ir_module_t *module = parse_stablehlo_with(view.at, view.n, path, &options, err);
    file_view_close(&view);
    return module;
}

parse_sections_t parse_sections(const char *text, size_t n)
{
    return (parse_sections_t){
        .index = -1, .at = text, .next_line = 1, .rest = text, .end = text + n};
}

bool parse_sections_next(parse_sections_t *self)
{
    static const char mark[] = "// -----";
    const size_t n_mark = sizeof mark - 1;
    if (!self->rest) return false;
    if (self->index < 0 && parse_is_bytecode(self->rest, (size_t)(self->end - self->rest))) {
        self->at = self->rest; /* one module, whatever its bytes spell */
        self->n = (size_t)(self->end - self->rest);
        self->index = 0;
        self->rest = NULL;
        return true;
    }
    const lexer_t text = {.end = self->end, .mapped = self->mapped};
    self->line = self->next_line;
    self->at = self->rest;
    self->index++;
    for (const char *line = self->at; line < self->end;) {
        const char *newline = lex_find(&text, line, '\n', '\n');
        const char *next = newline ? newline + 1 : self->end;
        self->next_line += newline != NULL;
        if ((size_t)(self->end - line) >= n_mark && !memcmp(line, mark, n_mark)) {
            self->n = (size_t)(line - self->at);
            self->rest = next;
            return true;
        }
        line = next;
    }
    self->n = (size_t)(self->end - self->at);
    self->rest = NULL;
    return true;
}

bool parse_is_blank(const char *text, size_t n)
{
    return lex_skip_blank(text, text + n) == text + n;
}
