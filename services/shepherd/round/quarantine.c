/* Who gets no more work, for an audit has found that it lies: by its key's name, or without keys by its
 * id. The list is the store's, for all runs that share it; what we find is ours until the store has
 * it. An operator lifts it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "shepherd/round/audit.h"
#include "shepherd/round/blame.h"
#include "shepherd/shepherd.h"

static bool has_line(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at && *at; at = strchr(at, '\n') + 1)
        if (strncmp(at, name, n) == 0 && at[n] == '\n') return true;
    return false;
}

static size_t find(const audits_t *self, const char *name)
{
    size_t i = 0;
    while (i < self->found.n && strcmp(self->found.at[i].id, name) != 0) i++;
    return i;
}

static void forget(audits_t *self, const char *name)
{
    size_t i = find(self, name);
    if (i < self->found.n) self->found.at[i] = self->found.at[--self->found.n];
}

static bool is_in(const audits_t *self, const char *name)
{
    return has_line(self->listed, name) || find(self, name) < self->found.n;
}

/* All ids of a name. A refusal opens leases, but drops no member. */
static void refuse_all(shepherd_t *self)
{
    for (size_t i = 0; i < self->roster.members.n; i++) {
        const member_row_t *row = self->roster.members.at[i];
        if (row->kind == MSG__KIND__KIND_WORKER && !row->quarantined &&
            is_in(&self->audits, member_name(row)))
            blame_quarantine(self, row->serial);
    }
}

static void trust(shepherd_t *self, member_row_t *row)
{
    log_event(LOG_INFO, "trusted", "worker=%s", row->id);
    row->quarantined = false;
    roster_trust(&self->roster, row);
    self->round.stirred = true; /* it may have work */
}

void quarantine_add(shepherd_t *self, const liar_t *liar)
{
    if (is_in(&self->audits, liar->name)) return;
    log_event(LOG_ERROR, "quarantined",
              "worker=%s name=%s round=%u %s=%u digest=%.*s agreed=%.*s witnesses=%s", liar->member,
              liar->name, self->round.number, liar->part ? "part" : "replica", liar->replica,
              liar->part ? HASH_HEX : 12, liar->digest, liar->part ? HASH_HEX : 12, liar->agreed,
              liar->witnesses);
    records_quarantine(self, liar);
    records_happened(self, "quarantined", liar->member,
                     json_pack("{sIssssssss}", liar->part ? "part" : "replica",
                               (json_int_t)liar->replica, "name", liar->name, "digest",
                               liar->digest, "agreed", liar->agreed, "witnesses", liar->witnesses));
    blamed_t found = {0};
    snprintf(found.id, sizeof found.id, "%s", liar->name);
    VEC_PUSH(&self->audits.found, found);
    self->audits.n_found++;
    refuse_all(self);
}

void quarantine_met(shepherd_t *self, const member_row_t *row)
{
    if (is_in(&self->audits, member_name(row))) blame_quarantine(self, row->serial);
}

void quarantine_listed(shepherd_t *self, const char *names)
{
    audits_t *audits = &self->audits;
    char *before = audits->listed;
    audits->listed = mem_strdup(names);
    for (size_t i = audits->found.n; i-- > 0;)
        if (has_line(names, audits->found.at[i].id)) forget(audits, audits->found.at[i].id);
    for (size_t i = 0; i < self->roster.members.n; i++) {
        member_row_t *row = self->roster.members.at[i];
        if (row->quarantined && has_line(before, member_name(row)) &&
            !is_in(audits, member_name(row)))
            trust(self, row);
    }
    free(before);
    refuse_all(self);
}

/* The store's list follows when it is written there. */
static void unlist(audits_t *self, const char *name)
{
    str_t text = {0};
    for (const char *at = self->listed; at && *at;) {
        const char *stop = strchr(at, '\n');
        bool same = strncmp(at, name, strlen(name)) == 0 && at[strlen(name)] == '\n';
        if (!same) str_addf(&text, "%.*s\n", (int)(stop - at), at);
        at = stop + 1;
    }
    free(self->listed);
    self->listed = mem_strdup(str_text(&text));
    str_fini(&text);
    forget(self, name);
}

bool quarantine_lift(shepherd_t *self, const char *name, const member_row_t *by)
{
    const member_row_t *named = member_by_id(&self->roster, name);
    char who[MSG_ID_BYTES];
    snprintf(who, sizeof who, "%s", named ? member_name(named) : name);
    if (!is_in(&self->audits, who)) return false;
    unlist(&self->audits, who);
    for (size_t i = 0; i < self->roster.members.n; i++) {
        member_row_t *row = self->roster.members.at[i];
        if (row->quarantined && strcmp(member_name(row), who) == 0) trust(self, row);
    }
    records_deed(self, RECORD_TRUST, by, "trust", who, NULL);
    return true;
}
