/* Progress lines of a training run. */
#include "pcp/progress.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

enum { BAR_CELLS = 20 };

void progress_init(progress_t *self, FILE *out)
{
    *self = (progress_t){.out = out, .terminal = isatty(fileno(out)) == 1};
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

static void clear_line(progress_t *self)
{
    if (self->drawn) fputs("\r\033[K", self->out);
    self->drawn = false;
}

static void bar(char cells[BAR_CELLS + 1], double share)
{
    int full = (int)(share * BAR_CELLS + 0.5);
    memset(cells, '.', BAR_CELLS);
    memset(cells, '#', (size_t)(full < 0 ? 0 : full > BAR_CELLS ? BAR_CELLS : full));
    cells[BAR_CELLS] = '\0';
}

void progress_round(progress_t *self, const Msg__RoundStats *r)
{
    char eta[32], cells[BAR_CELLS + 1], val[32] = "";
    progress_duration(r->eta_s, eta);
    if (r->has_val_loss) snprintf(val, sizeof val, "  val %.4f", r->val_loss);
    clear_line(self);
    if (self->terminal) {
        bar(cells, r->rounds ? (double)r->round / r->rounds : 1.0);
        fprintf(self->out, "[%s] round %u/%u  loss %.4f%s  %.0f tokens/s  eta %s", cells, r->round,
                r->rounds, r->loss, val, r->tokens_per_s, eta);
        if (r->has_val_loss)
            fputc('\n', self->out); /* stays, as a record of the curve */
        else
            self->drawn = true;
    } else {
        fprintf(self->out,
                "round %u/%u  loss %.4f%s  tokens %llu  %.0f tokens/s  workers %u  eta %s\n",
                r->round, r->rounds, r->loss, val, (unsigned long long)r->tokens, r->tokens_per_s,
                r->workers, eta);
    }
    fflush(self->out);
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
}

void progress_end(progress_t *self)
{
    if (self->drawn) fputc('\n', self->out);
    self->drawn = false;
    fflush(self->out);
}
