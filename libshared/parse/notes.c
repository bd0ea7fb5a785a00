/* What a text says and a module does not: counted while it is read, told once for each kind. */
#include <string.h>

#include "base/str.h"
#include "parse/parser.h"

void parse_note(parser_t *p, seen_kind_t kind, int line, const char *what)
{
    parse_seen_t *seen = &p->seen[kind];
    if (seen->n++ > 0) return;
    seen->line = line;
    seen->what = arena_strndup(p->arena, what, strnlen(what, 64));
}

/* One device runs it all: where the text was written for one, its shardings say nothing. */
static bool is_told(const parser_t *p, seen_kind_t kind)
{
    return p->seen[kind].n > 0 && (kind != SEEN_SHARDING || p->n_device > 1);
}

static void add_line(const parser_t *p, seen_kind_t kind, str_t *text)
{
    const parse_seen_t *seen = &p->seen[kind];
    str_addf(text, "line %d: ", seen->line);
    switch (kind) {
    case SEEN_CALLBACK:
        str_addf(text, "custom_call @%s has no results and is left out: nothing calls back",
                 seen->what);
        break;
    case SEEN_SHARDING:
        str_addf(text,
                 "written for %lld devices: its shardings are ignored, one device runs it all",
                 (long long)p->n_device);
        break;
    case SEEN_COMPARE:
        str_addf(text, "compare_type %s: integers compare by their element type, as XLA does it",
                 seen->what);
        break;
    case N_SEEN: break;
    }
    if (seen->n > 1) str_addf(text, " (%d places)", seen->n);
    str_add(text, "\n");
}

void parse_write_notes(parser_t *p)
{
    str_t text = {0};
    for (int kind = 0; kind < N_SEEN; kind++)
        if (is_told(p, (seen_kind_t)kind)) add_line(p, (seen_kind_t)kind, &text);
    if (text.n) p->module->notes = arena_strndup(p->arena, text.at, text.n);
    str_fini(&text);
}
