/* Escapes as C has them, so that a line stays a line. */
#include "pcp/sample_line.h"

#include <string.h>

#include "base/str.h"
#include "base/utf8.h"

static void add_shown(str_t *line, const char *text)
{
    for (size_t left = strlen(text), n; left > 0; text += n, left -= n) {
        unsigned code = 0xfffd;
        n = utf8_next(text, left, &code);
        if (n > 0 && !utf8_is_control(code))
            str_addn(line, text, n);
        else if (code == '\n')
            str_add(line, "\\n");
        else if (code == '\t')
            str_add(line, "\\t");
        else
            str_addf(line, "\\u%04x", code);
        if (n == 0) n = 1;
    }
}

void sample_line(progress_t *progress, const Msg__Written *written)
{
    str_t line = {0};
    if (*written->error) {
        add_shown(&line, written->error);
        progress_note(progress, "no sample of round %u: %s", written->round, str_text(&line));
    } else {
        add_shown(&line, written->prompt);
        str_add(&line, " | ");
        add_shown(&line, written->text);
        progress_note(progress, "sample of round %u: %s", written->round, str_text(&line));
    }
    str_fini(&line);
}
