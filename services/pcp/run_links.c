/* Rates of links and shares of time, from what a round's leases took. */
#include "pcp/run_links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum { NAME_BYTES = 15 };

/* Mbit/s of so many bytes in that time; negative: unknown. */
static double rate(int64_t bytes, double seconds)
{
    return bytes > 0 && seconds > 0 ? (double)bytes * 8e-6 / seconds : -1;
}

/* Of the worker's whole round, from its opening to its end. */
static double computing(const Msg__Link *link)
{
    double all = link->lease_s + link->held_s + link->others_s;
    return all > 0 && link->compute_s >= 0 ? link->compute_s / all : -1;
}

/* What it waited for longest, and how long. */
static const char *waits_for(const Msg__Link *link, double *seconds)
{
    const struct {
        const char *what;
        double seconds;
    } waits[] = {{"parameters", link->download_s},
                 {"upload", link->upload_s},
                 {"others", link->others_s},
                 {"lease", link->lease_s}};
    size_t most = 0;
    for (size_t i = 1; i < sizeof waits / sizeof *waits; i++)
        if (waits[i].seconds > waits[most].seconds) most = i;
    *seconds = waits[most].seconds > 0 ? waits[most].seconds : 0;
    return *seconds > 0 ? waits[most].what : "nothing";
}

static json_t *known(double value)
{
    return value >= 0 ? json_real(value) : json_null();
}

static json_t *json_of(const Msg__Link *link)
{
    double longest;
    const char *what = waits_for(link, &longest);
    json_t *json = json_pack("{s:s, s:I, s:I, s:I, s:s}", "worker", link->worker, "replica",
                             (json_int_t)link->replica, "steps", (json_int_t)link->steps, "lag",
                             (json_int_t)link->lag, "waits_for", what);
    if (!json) return json_null(); /* a name that is no UTF-8 */
    const struct {
        const char *key;
        double value;
    } values[] = {{"down_mbits", rate(link->received_bytes, link->download_s)},
                  {"up_mbits", rate(link->sent_bytes, link->upload_s)},
                  {"received_bytes", (double)link->received_bytes},
                  {"sent_bytes", (double)link->sent_bytes},
                  {"computing", computing(link)},
                  {"compute_s", link->compute_s},
                  {"parameters_s", link->download_s},
                  {"upload_s", link->upload_s},
                  {"others_s", link->others_s},
                  {"lease_s", link->lease_s},
                  {"held_s", link->held_s}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        json_object_set_new(json, values[i].key, known(values[i].value));
    return json;
}

char *run_links_json(const Msg__Links *links)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < links->n_links; i++)
        json_array_append_new(rows, json_of(links->links[i]));
    json_t *all = json_pack("{s:I, s:I, s:o}", "round", (json_int_t)links->round, "leases",
                            (json_int_t)links->n_lease, "links", rows);
    char *text = json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(6));
    json_decref(all);
    return text;
}

/* As many digits as say something, in eight columns. */
static void add_rate(str_t *text, double mbits)
{
    int digits = mbits < 9.995 ? 2 : mbits < 99.95 ? 1 : 0;
    if (mbits < 0)
        str_addf(text, " %8s", "-");
    else
        str_addf(text, " %8.*f", digits, mbits < 9999999 ? mbits : 9999999);
}

/* Names begin alike ("supervisor-1d2b21a0-w0") and end apart. */
static void shorten(char name[NAME_BYTES + 1], const char *worker)
{
    size_t n = strlen(worker);
    const char *end = n > NAME_BYTES ? worker + n - (NAME_BYTES - 1) : worker;
    while (n > NAME_BYTES && (*end & 0xc0) == 0x80) end++; /* whole characters */
    snprintf(name, NAME_BYTES + 1, "%s%s", n > NAME_BYTES ? "~" : "", end);
}

char *run_links_table(const Msg__Links *links)
{
    str_t text = {0};
    str_addf(&text, "%-*s %8s %8s %8s  %s", NAME_BYTES, "WORKER", "DOWN", "UP", "COMPUTES",
             "WAITS FOR");
    for (size_t i = 0; i < links->n_links; i++) {
        const Msg__Link *link = links->links[i];
        double share = computing(link), longest;
        const char *what = waits_for(link, &longest);
        char name[NAME_BYTES + 1];
        shorten(name, link->worker);
        str_addf(&text, "\n%-*s", NAME_BYTES, name);
        add_rate(&text, rate(link->received_bytes, link->download_s));
        add_rate(&text, rate(link->sent_bytes, link->upload_s));
        if (share < 0)
            str_addf(&text, " %8s", "-");
        else
            str_addf(&text, " %7.0f%%", share < 1 ? share * 100 : 100);
        str_addf(&text, "  %s", what);
        if (longest > 0) str_addf(&text, " %.*fs", longest < 10, longest < 9999 ? longest : 9999);
        if (link->lag) str_addf(&text, ", late by %u", link->lag);
    }
    if (links->n_links < links->n_lease)
        str_addf(&text, "\nand %u more", links->n_lease - (uint32_t)links->n_links);
    char *all = mem_strdup(str_text(&text));
    str_fini(&text);
    return all;
}
