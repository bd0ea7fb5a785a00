/* JSON text, written by hand: few forms, and rows without end of them. */
#include "metrics/web/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Bytes of the UTF-8 character at `at`; 0: it is none. */
static size_t character(const char *at)
{
    const unsigned char *c = (const unsigned char *)at;
    if (c[0] < 0x80) return 1;
    size_t n = c[0] >= 0xf0 && c[0] < 0xf5   ? 4
               : c[0] >= 0xe0 && c[0] < 0xf0 ? 3
               : c[0] >= 0xc2 && c[0] < 0xe0 ? 2
                                             : 0;
    for (size_t i = 1; i < n; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    if (c[0] == 0xe0 && c[1] < 0xa0) return 0; /* longer than need be */
    if (c[0] == 0xf0 && c[1] < 0x90) return 0;
    if (c[0] == 0xed && c[1] >= 0xa0) return 0; /* surrogates */
    return c[0] == 0xf4 && c[1] >= 0x90 ? 0 : n;
}

void json_text(str_t *out, const char *text)
{
    if (!text) {
        str_add(out, "null");
        return;
    }
    str_addn(out, "\"", 1);
    while (*text) {
        size_t n = character(text);
        if (n == 0)
            str_add(out, "\\ufffd");
        else if (n == 1 && ((unsigned char)*text < ' ' || strchr("\"\\<>&\x7f", *text)))
            str_addf(out, "\\u%04x", *text);
        else
            str_addn(out, text, n);
        text += n ? n : 1;
    }
    str_addn(out, "\"", 1);
}

void json_number(str_t *out, double value)
{
    if (isfinite(value))
        str_addf(out, "%.17g", value);
    else
        str_add(out, "null");
}

void json_error(str_t *out, const char *text)
{
    str_add(out, "{\"error\":");
    json_text(out, text);
    str_add(out, "}\n");
}

void json_report(str_t *out, const char *name, const char *run, const report_t *report)
{
    str_add(out, "{\"report\":");
    json_text(out, name);
    str_add(out, ",\"run\":");
    json_text(out, *run ? run : NULL);
    str_add(out, ",\"columns\":[");
    for (size_t c = 0; c < report->n_column; c++) {
        if (c) str_add(out, ",");
        json_text(out, report->column[c].name);
    }
    str_addf(out, "],\"more\":%s,\"each\":%" PRId64 ",\"of\":%" PRIu64 ",\"rows\":[",
             report->more ? "true" : "false", report->each, report->n_of);
    for (size_t i = 0; i < report->n_row * report->n_column; i++) {
        size_t c = i % report->n_column;
        if (c == 0) str_add(out, i ? ",\n[" : "\n[");
        if (c) str_add(out, ",");
        if (report->cell[i] && report->column[c].kind == REPORT_NUMBER)
            str_add(out, report->cell[i]);
        else
            json_text(out, report->cell[i]);
        if (c == report->n_column - 1) str_add(out, "]");
    }
    str_add(out, "]}\n");
}
