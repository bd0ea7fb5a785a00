/* Keys pcp:<kind>:<id> for the shepherd and its members, renewed as long as news come. */
#include "shepherd/roster/herald.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/hand_over.h"
#include "base/log.h"

typedef struct {
    const char *kind;
    char *id, *text;
} line_t;

struct herald_news {
    VEC(line_t) lines;
};

static void add(herald_news_t *self, const char *kind, const char *id, json_t *what)
{
    line_t line = {.kind = kind, .id = mem_strdup(id)};
    line.text = what ? json_dumps(what, JSON_COMPACT) : NULL;
    if (!line.text) line.text = mem_strdup("{}"); /* a name that is no UTF-8 */
    json_decref(what);
    VEC_PUSH(&self->lines, line);
}

herald_news_t *herald_news(const shepherd_t *shepherd, const char *id)
{
    herald_news_t *self = mem_calloc(1, sizeof *self);
    bool leads = shepherd->phase != PHASE_STANDBY;
    add(self, "shepherd", id,
        json_pack("{s:s, s:b, s:s, s:I}", "run", shepherd->config->run, "leads", leads, "bind",
                  shepherd->config->bind ? shepherd->config->bind : "", "round",
                  (json_int_t)shepherd->round.number));
    for (size_t i = 0; i < shepherd->roster.members.n; i++) {
        const member_row_t *row = shepherd->roster.members.at[i];
        if (row->kind == MSG__KIND__KIND_CLI) continue;
        add(self, msg_who_name(row->kind), row->id,
            json_pack("{s:s, s:s, s:s, s:s, s:I, s:I}", "run", shepherd->config->run, "host",
                      row->host, "target", row->target, "supervisor", row->supervisor, "threads",
                      (json_int_t)row->threads, "pid", (json_int_t)row->pid));
    }
    return self;
}

void herald_news_destroy(herald_news_t **self_p)
{
    herald_news_t *self = *self_p;
    if (!self) return;
    for (size_t i = 0; i < self->lines.n; i++) {
        free(self->lines.at[i].id);
        free(self->lines.at[i].text);
    }
    VEC_FREE(&self->lines);
    free(self);
    *self_p = NULL;
}

/* --- The actor --- */

typedef struct {
    liveness_t *liveness;
    bool down;        /* told */
    size_t shepherds; /* seen last, we among them */
} herald_t;

static int announce(herald_t *self, const herald_news_t *news, err_t *err)
{
    for (size_t i = 0; i < news->lines.n; i++) {
        const line_t *line = &news->lines.at[i];
        if (liveness_announce(self->liveness, line->kind, line->id, HERALD_TTL_MS, line->text,
                              err) < 0)
            return -1;
    }
    return 0;
}

/* How many shepherds there are: with one alone nobody takes over. */
static int look_around(herald_t *self, err_t *err)
{
    liveness_list_t list = {0};
    if (liveness_list(self->liveness, "shepherd", &list, err) < 0) return -1;
    if (list.n != self->shepherds)
        log_event(LOG_INFO, "shepherds", "n=%zu before=%zu", list.n, self->shepherds);
    self->shepherds = list.n;
    liveness_list_fini(&list);
    return 0;
}

static void work(herald_t *self, const herald_news_t *news)
{
    err_t err = {0};
    bool good = announce(self, news, &err) == 0 && look_around(self, &err) == 0;
    if (good == !self->down) return;
    self->down = !good;
    if (good)
        log_event(LOG_INFO, "liveness_back", "shepherds=%zu", self->shepherds);
    else
        log_event(LOG_WARN, "liveness_lost", "error=\"%s\"", err.text);
}

static void herald_main(zsock_t *pipe, void *arg)
{
    herald_t self = {.liveness = arg};
    zsock_signal(pipe, 0);
    for (;;) {
        char *command = NULL;
        void *pointer = NULL;
        int rc = zsock_recv(pipe, "sp", &command, &pointer);
        bool news = rc == 0 && strcmp(command, "NEWS") == 0;
        free(command);
        if (!news) break;
        herald_news_t *latest = take_over(pointer);
        work(&self, latest);
        herald_news_destroy(&latest);
        zsock_send(pipe, "s", "DONE");
    }
    liveness_destroy(&self.liveness);
}

zactor_t *herald_new(liveness_t *liveness)
{
    return zactor_new(herald_main, liveness);
}

void herald_tell(zactor_t *self, herald_news_t *news)
{
    zsock_send(self, "sp", "NEWS", hand_over(news));
}

void herald_heard(zactor_t *self)
{
    char *word = NULL;
    zsock_recv(self, "s", &word);
    free(word);
}
