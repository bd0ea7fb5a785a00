/* The display of a command that works: lines that stay, and one status line on a terminal. */
#include "pcp/progress.h"

#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

enum {
    BAR_CELLS = 20,
    REDRAW_MS = 100, /* of a terminal, at most so often */
    TELL_MS = 10000, /* a line of a log, so often */
    QUIET_MS = 2000, /* the time of a phase is shown from then on */
    WIDE = 80,
    NARROW = 20,
};

void progress_init(progress_t *self, FILE *out)
{
    *self = (progress_t){.out = out, .terminal = isatty(fileno(out)) == 1, .eta_s = -1};
}

const char *progress_duration(double seconds, char buf[32])
{
    long s = seconds > 0 && seconds < 1e9 ? (long)(seconds + 0.5) : 0;
    if (s >= 3600)
        snprintf(buf, 32, "%ldh%02ldm", s / 3600, s / 60 % 60);
    else if (s >= 60)
        snprintf(buf, 32, "%ldm%02lds", s / 60, s % 60);
    else
        snprintf(buf, 32, "%lds", s);
    return buf;
}

/* --- what fits --- */

/* Columns that may be written to: one less than there are, for the cursor. */
static int room(const progress_t *self)
{
    struct winsize size = {0};
    if (!self->terminal) return PROGRESS_TEXT;
    if (ioctl(fileno(self->out), TIOCGWINSZ, &size) < 0 || size.ws_col == 0) return WIDE - 1;
    return size.ws_col - 1;
}

static bool begins_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

static int columns_of(const char *text)
{
    int n = 0;
    for (; *text; text++) n += begins_character(*text);
    return n;
}

/* Cut the text at so many columns, between two characters. */
static void cut(str_t *text, int columns)
{
    int n = 0;
    for (size_t i = 0; i < text->n; i++) {
        n += begins_character(text->at[i]);
        if (n <= columns) continue;
        text->at[i] = '\0';
        text->n = i;
        return;
    }
}

/* A part of a line, two blanks behind the one before, if there is room for it. */
static void add_part(str_t *line, int columns, const char *part)
{
    if (!*part) return;
    int before = columns_of(str_text(line)), gap = before > 0 ? 2 : 0;
    if (before > 0 && before + gap + columns_of(part) > columns) return;
    str_addf(line, "%s%s", before > 0 ? "  " : "", part);
}

/* --- the status line --- */

static void bar(double share, char cells[BAR_CELLS + 3])
{
    int full = (int)(share * BAR_CELLS + 0.5);
    cells[0] = '[';
    memset(cells + 1, '.', BAR_CELLS);
    memset(cells + 1, '#', (size_t)(full < 0 ? 0 : full > BAR_CELLS ? BAR_CELLS : full));
    memcpy(cells + 1 + BAR_CELLS, "]", 2);
}

static void counted(const progress_t *self, char text[64])
{
    const char *unit = "";
    double scale = 1;
    if (self->unit == PROGRESS_BYTES) {
        unit = self->total >= 1e9 ? " GB" : self->total >= 1e6 ? " MB" : " kB";
        scale = self->total >= 1e9 ? 1e9 : self->total >= 1e6 ? 1e6 : 1e3;
    }
    int digits = self->unit == PROGRESS_BYTES && self->total < 10 * scale;
    snprintf(text, 64, "%.*f/%.*f%s", digits, self->done / scale, digits, self->total / scale,
             unit);
}

/* Bytes a second, where bytes are counted. */
static void rated(const progress_t *self, double seconds, char text[48])
{
    *text = '\0';
    if (self->unit == PROGRESS_BYTES && seconds >= 1 && self->done > 0)
        snprintf(text, 48, "%.3g MB/s", self->done / seconds / 1e6);
}

/* What is left, if it is known; else how long it has taken. */
static void timed(const progress_t *self, double seconds, int64_t now, char text[48])
{
    char time[32];
    double left = self->eta_s;
    *text = '\0';
    if (left >= 0) {
        left -= (double)(now - self->known_ms) / 1000;
    } else if (self->round == 0 && self->done > 0 && self->done <= self->total && seconds >= 1) {
        left = seconds / self->done * (self->total - self->done);
    } else {
        if (seconds * 1000 >= QUIET_MS) snprintf(text, 48, "%s", progress_duration(seconds, time));
        return;
    }
    snprintf(text, 48, "eta %s", progress_duration(left, time));
}

/* The phase in so many columns: its words first, then what there is room for. */
static void describe(const progress_t *self, int columns, int64_t now, str_t *line)
{
    char part[64], cells[BAR_CELLS + 3];
    double seconds = (double)(now - self->begun_ms) / 1000;
    str_t rest = {0};
    add_part(&rest, columns, self->phase);
    if (self->total > 0 && self->round == 0) {
        counted(self, part);
        add_part(&rest, columns, part);
    }
    timed(self, seconds, now, part);
    add_part(&rest, columns, part);
    if (self->total > 0 && self->round == 0) {
        rated(self, seconds, part);
        add_part(&rest, columns, part);
    }
    bar(self->total > 0 ? self->done / self->total : 0, cells);
    bool barred = self->total > 0 && columns_of(str_text(&rest)) + BAR_CELLS + 3 <= columns;
    str_addf(line, "%s%s%s", barred ? cells : "", barred ? " " : "", str_text(&rest));
    str_fini(&rest);
    cut(line, columns);
}

/* A terminal that has become narrower since has broken the line into several. */
static void clear_line(progress_t *self)
{
    if (self->drawn == 0) return;
    int rows = (self->drawn - 1) / (room(self) + 1);
    if (rows > 0) fprintf(self->out, "\033[%dA", rows);
    fputs("\r\033[J", self->out);
    self->drawn = 0;
}

static void draw(progress_t *self, int64_t now)
{
    if (!self->terminal || !*self->phase) return;
    str_t line = {0};
    describe(self, room(self), now, &line);
    clear_line(self);
    fputs(str_text(&line), self->out);
    self->drawn = columns_of(str_text(&line));
    self->drawn_ms = now;
    fflush(self->out);
    str_fini(&line);
}

/* --- phases --- */

static void begin(progress_t *self)
{
    self->round = 0;
    self->done = self->total = 0;
    self->eta_s = -1;
    self->begun_ms = self->told_ms = self->known_ms = clock_mono_ms();
}

void progress_phase(progress_t *self, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(self->phase, sizeof self->phase, format, args);
    va_end(args);
    begin(self);
    draw(self, self->begun_ms);
    if (self->terminal) return;
    fprintf(self->out, "%s\n", self->phase);
    fflush(self->out);
}

void progress_aside(progress_t *self, const char *text)
{
    progress_init(self, stderr);
    if (self->terminal) progress_phase(self, "%s", text);
}

void progress_state(progress_t *self, const char *text)
{
    if (strcmp(self->phase, text) != 0) progress_phase(self, "%s", text);
}

void progress_tick(progress_t *self)
{
    int64_t now = clock_mono_ms();
    if (!*self->phase) return;
    if (self->terminal && now - self->drawn_ms >= REDRAW_MS) draw(self, now);
    if (self->terminal || self->round > 0 || now - self->told_ms < TELL_MS) return;
    self->told_ms = now;
    str_t line = {0};
    describe(self, PROGRESS_TEXT, now, &line);
    fprintf(self->out, "%s\n", str_text(&line));
    fflush(self->out);
    str_fini(&line);
}

void progress_at(progress_t *self, double done, double total, progress_unit_t unit)
{
    self->done = done;
    self->total = total;
    self->unit = unit;
    progress_tick(self);
}

/* --- lines that stay --- */

static void round_line(progress_t *self, const Msg__RoundStats *r)
{
    char part[64];
    str_t line = {0};
    int columns = room(self);
    str_addf(&line, "round %u/%u  loss %.4f", r->round, r->rounds, r->loss);
    if (r->has_val_loss) snprintf(part, sizeof part, "val %.4f", r->val_loss);
    add_part(&line, columns, r->has_val_loss ? part : "");
    snprintf(part, sizeof part, "tokens %llu", (unsigned long long)r->tokens);
    add_part(&line, columns, self->terminal ? "" : part);
    snprintf(part, sizeof part, "%.0f tokens/s", r->tokens_per_s);
    add_part(&line, columns, part);
    snprintf(part, sizeof part, "workers %u", r->workers);
    add_part(&line, columns, part);
    if (!self->terminal) {
        char eta[32];
        str_addf(&line, "  eta %s", progress_duration(r->eta_s, eta));
    }
    cut(&line, columns);
    fprintf(self->out, "%s\n", str_text(&line));
    str_fini(&line);
}

static void enter_round(progress_t *self, uint32_t round, uint32_t rounds, double eta_s)
{
    begin(self);
    snprintf(self->phase, sizeof self->phase, "round %u/%u", round, rounds);
    self->round = round;
    self->rounds = rounds;
    self->step = 0;
    self->done = round - 1;
    self->total = rounds;
    self->eta_s = eta_s;
    draw(self, self->begun_ms);
}

void progress_in_round(progress_t *self, uint32_t round, uint32_t rounds)
{
    bool same = *self->phase && self->round == round && self->rounds == rounds;
    if (!same) enter_round(self, round, rounds, -1);
}

void progress_step(progress_t *self, uint32_t round, int64_t step, int64_t steps)
{
    if (!*self->phase || self->round != round || step <= self->step) return;
    self->step = step;
    snprintf(self->phase, sizeof self->phase, "round %u/%u  step %lld/%lld", round, self->rounds,
             (long long)step, (long long)steps);
    self->done = round - 1 + (double)step / (double)steps;
    progress_tick(self);
}

void progress_round(progress_t *self, const Msg__RoundStats *r)
{
    clear_line(self);
    round_line(self, r);
    fflush(self->out);
    *self->phase = '\0';
    if (r->round >= r->rounds) return;
    enter_round(self, r->round + 1, r->rounds, r->eta_s);
}

void progress_note(progress_t *self, const char *format, ...)
{
    va_list args;
    clear_line(self);
    va_start(args, format);
    vfprintf(self->out, format, args);
    va_end(args);
    fputc('\n', self->out);
    fflush(self->out);
    draw(self, clock_mono_ms());
}

void progress_end(progress_t *self)
{
    clear_line(self);
    *self->phase = '\0';
    fflush(self->out);
}
