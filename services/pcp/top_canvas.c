/* Cells of characters. */
#include "pcp/top_canvas.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/mem.h"
#include "base/utf8.h"

enum { FORMATTED = 512 };

void top_canvas_init(top_canvas_t *self, int rows, int columns, bool ascii)
{
    size_t n = (size_t)rows * (size_t)columns;
    *self = (top_canvas_t){.rows = rows, .columns = columns, .ascii = ascii};
    self->cell = mem_calloc(n, sizeof *self->cell);
    for (size_t i = 0; i < n; i++) self->cell[i].code = ' ';
}

void top_canvas_fini(top_canvas_t *self)
{
    free(self->cell);
    *self = (top_canvas_t){0};
}

static top_cell_t *at(const top_canvas_t *self, int row, int column)
{
    bool inside = row >= 0 && row < self->rows && column >= 0 && column < self->columns;
    return inside ? &self->cell[(size_t)row * (size_t)self->columns + (size_t)column] : NULL;
}

void top_canvas_set(top_canvas_t *self, int row, int column, top_style_t style, uint32_t code)
{
    top_cell_t *cell = at(self, row, column);
    if (cell) *cell = (top_cell_t){code, style};
}

/* The next character as it may be shown, and its cells: 1 or 2; 0: it has none of its own. */
static int next(const top_canvas_t *self, const char **text, uint32_t *code)
{
    unsigned point = 0;
    size_t n = utf8_next(*text, strlen(*text), &point);
    *text += n ? n : 1;
    *code = '?';
    if (n == 0 || (self->ascii && point >= 0x80)) return 1;
    *code = utf8_is_control(point) ? ' ' : point;
    if (*code < 0x80) return 1;
    int cells = wcwidth((wchar_t)point);
    if (cells < 0) *code = '?';
    return cells < 0 ? 1 : cells;
}

/* Cells that the whole text takes, up to `most` and a bit. */
static int measure(const top_canvas_t *self, const char *text, int most)
{
    int n = 0;
    uint32_t code;
    while (*text && n <= most) n += next(self, &text, &code);
    return n;
}

int top_canvas_put(top_canvas_t *self, int row, int column, int width, top_style_t style,
                   const char *text)
{
    if (!at(self, row, column)) return 0;
    int room = width < self->columns - column ? width : self->columns - column, used = 0;
    bool fits = measure(self, text, room) <= room;
    int end = fits ? room : room - 1;
    while (*text) {
        uint32_t code;
        int cells = next(self, &text, &code);
        if (used + cells > end) break;
        if (cells > 0) top_canvas_set(self, row, column + used, style, code);
        if (cells > 1) top_canvas_set(self, row, column + used + 1, style, 0);
        used += cells;
    }
    if (!fits && room > 0) {
        top_canvas_set(self, row, column + used, style, self->ascii ? '~' : 0x2026);
        used++;
    }
    return used;
}

void top_canvas_put_right(top_canvas_t *self, int row, int column, int width, top_style_t style,
                          const char *text)
{
    int cells = measure(self, text, width);
    int blank = cells < width ? width - cells : 0;
    top_canvas_put(self, row, column + blank, width - blank, style, text);
}

int top_canvas_putf(top_canvas_t *self, int row, int column, int width, top_style_t style,
                    const char *format, ...)
{
    char text[FORMATTED];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return top_canvas_put(self, row, column, width, style, text);
}

void top_canvas_paint(top_canvas_t *self, int row, int column, int width, top_style_t style)
{
    for (int i = 0; i < width; i++) {
        top_cell_t *cell = at(self, row, column + i);
        if (cell) cell->style = style;
    }
}

static void add_code(str_t *out, uint32_t code)
{
    char bytes[4];
    size_t n = 0;
    if (code < 0x80) {
        bytes[n++] = (char)code;
    } else if (code < 0x800) {
        bytes[n++] = (char)(0xC0 | code >> 6);
    } else if (code < 0x10000) {
        bytes[n++] = (char)(0xE0 | code >> 12);
        bytes[n++] = (char)(0x80 | (code >> 6 & 0x3F));
    } else {
        bytes[n++] = (char)(0xF0 | code >> 18);
        bytes[n++] = (char)(0x80 | (code >> 12 & 0x3F));
        bytes[n++] = (char)(0x80 | (code >> 6 & 0x3F));
    }
    if (code >= 0x80) bytes[n++] = (char)(0x80 | (code & 0x3F));
    str_addn(out, bytes, n);
}

void top_canvas_text(const top_canvas_t *self, int row, str_t *out)
{
    int n = self->columns;
    while (n > 0 && at(self, row, n - 1)->code == ' ') n--;
    for (int i = 0; i < n; i++) {
        uint32_t code = at(self, row, i)->code;
        if (code) add_code(out, code);
    }
}
