/* The services of a cluster, as this machine reaches them. */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/version.h"
#include "msg/keyring.h"
#include "pcp/doctor.h"
#include "pcp/run_talk.h"
#include "store/liveness.h"
#include "store/store.h"

static void check_shepherd(const doctor_options_t *o, doctor_finding_t *f)
{
    if (!o->shepherd) {
        doctor_say(f, DOCTOR_SKIPPED, "", "--shepherd names none");
        return;
    }
    err_t err = {0};
    Msg__RunAsk ask = MSG__RUN_ASK__INIT;
    ask.verb = MSG__RUN_ASK__VERB__LIST;
    ask.limit = 1;
    msg_envelope_t *answer = NULL;
    run_talk_t *talk = run_talk_new(o->shepherd, o->wait_ms, &err);
    double from = clock_mono_s();
    if (talk && run_talk_ask(talk, &ask, false, &answer, &err) == 0)
        doctor_say(f, DOCTOR_WELL, "", "%s answers within %.0f ms", o->shepherd,
                   1e3 * (clock_mono_s() - from));
    else
        doctor_say(f, DOCTOR_BAD,
                   keyring_own()
                       ? "is it started, does a firewall let its port through, and is the "
                         "key an operator's of that cluster? (pcp keys show)"
                       : "is it started, does a firewall let its port through, and has "
                         "that cluster keys? (--key-file, PCP_KEY)",
                   "%s", err.text);
    msg_free(&answer);
    run_talk_destroy(&talk);
}

static void check_store(const doctor_options_t *o, doctor_finding_t *f)
{
    if (!o->store) {
        doctor_say(f, DOCTOR_SKIPPED, "", "--store names none");
        return;
    }
    static const char file[] = "sqlite://";
    if (strncmp(o->store, file, sizeof file - 1) == 0 &&
        access(o->store + sizeof file - 1, F_OK) < 0) {
        doctor_say(f, DOCTOR_BAD, "pcp db migrate --store ... makes it", "%s: no such file",
                   o->store); /* to look is not to make */
        return;
    }
    err_t err = {0};
    const store_options_t limits = {.statement_ms = o->wait_ms};
    store_schema_t schema = {0};
    store_t *store = store_open(o->store, &limits, &err);
    double from = clock_mono_s();
    if (!store || store_schema(store, &schema, &err) < 0)
        doctor_say(f, DOCTOR_BAD,
                   "is the server there, do user, password and database hold, does pg_hba.conf let "
                   "this host in?",
                   "%s", err.text);
    else if (schema.present > schema.known)
        doctor_say(f, DOCTOR_BAD, "bring this machine's programs up to date",
                   "schema %d, and pcp %s knows %d", schema.present, pcp_version, schema.known);
    else if (schema.present < schema.known)
        doctor_say(f, DOCTOR_BAD, "pcp db migrate --store ...", "schema %d, and pcp %s needs %d",
                   schema.present, pcp_version, schema.known);
    else
        doctor_say(f, DOCTOR_WELL, "", "schema %d, answers within %.0f ms", schema.present,
                   1e3 * (clock_mono_s() - from));
    store_destroy(&store);
}

static void check_liveness(const doctor_options_t *o, doctor_finding_t *f)
{
    if (!o->liveness) {
        doctor_say(f, DOCTOR_SKIPPED, "", "--liveness names none");
        return;
    }
    err_t err = {0};
    liveness_list_t list = {0};
    liveness_t *liveness = liveness_open(o->liveness, o->wait_ms, &err);
    if (liveness && liveness_list(liveness, "worker", &list, &err) == 0)
        doctor_say(f, DOCTOR_WELL, "", "answers; %zu workers are alive", list.n);
    else
        doctor_say(f, DOCTOR_WARN, "is Redis there? Training goes on without it", "%s", err.text);
    liveness_list_fini(&list);
    liveness_destroy(&liveness);
}

const doctor_row_t doctor_cluster[] = {
    {"shepherd", check_shepherd},
    {"database", check_store},
    {"Redis", check_liveness},
    {NULL, NULL},
};
