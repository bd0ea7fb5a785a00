/* A dictionary's entries without its braces: the end of the text closes it. */
#include "parse/attribute_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "parse/parser.h"

int parse_attribute_text(const char *text, const char *what, ir_module_t *module, ir_attrs_t *attrs,
                         err_t *err)
{
    static const parse_options_t options;
    err_t own = {0};
    parser_t *p = mem_calloc(1, sizeof *p);
    p->lex = (lexer_t){text, text + strlen(text), text, false};
    p->tok.at = p->line_at = text;
    p->file = what;
    p->options = &options;
    p->err = &own;
    p->module = module;
    p->arena = module->arena;
    p->line = p->first_line = 1;
    parse_next(p);
    int status = parse_attributes(p, attrs, TOK_END);
    if (status < 0 && err) *err = own;
    VEC_FREE(&p->resource_list);
    free(p);
    return status;
}
