/* pcp doctor: what is wrong here, and what mends it. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pcp/cmd.h"
#include "pcp/doctor.h"
#include "pcp/output.h"

#define OPTION(member) offsetof(doctor_options_t, member)
static const config_field_t fields[] = {
    {"shepherd", CONFIG_STRING, OPTION(shepherd), NULL,
     "control endpoint of a cluster's front, to be asked", 0, 0, NULL, false},
    CMD_KEY_FIELD(doctor_options_t),
    {"store", CONFIG_STRING, OPTION(store), NULL, "URL of a cluster's records, to be asked", 0, 0,
     NULL, true},
    {"liveness", CONFIG_STRING, OPTION(liveness), NULL, "URL of a cluster's Redis, to be asked", 0,
     0, NULL, true},
    {"dir", CONFIG_STRING, OPTION(dir), ".", "where runs and caches are to be", 0, 0, NULL, false},
    {"ports", CONFIG_STRING, OPTION(ports), "7000,7002,7100,9464", "to be free on this machine", 0,
     0, NULL, false},
    {"wait_ms", CONFIG_INT, OPTION(wait_ms), "5000", "how long a service may take to answer", 1,
     3600000, NULL, false},
    OUTPUT_FIELDS(doctor_options_t, ""),
};
static const config_table_t table = {
    .purpose = "look for what is wrong on this machine and with a cluster, and tell what mends it",
    .usage =
        "usage: pcp doctor [FLAGS]\n\n"
        "Looks at what PCP needs of this machine and, where --shepherd, --store or --liveness\n"
        "name them, at a cluster's services as this machine reaches them. Tells what mends what\n"
        "it finds. Changes nothing.\n"
        "Exit status: 0 nothing will fail, 1 something will, 2 usage.\n\n"
        "  pcp doctor --shepherd tcp://host:7000 --key-file operator.key --store "
        "postgresql://pcp@host/pcp",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
};

static const char *const words[] = {"ok", "warn", "BAD", "-"};

void doctor_say(doctor_finding_t *finding, doctor_verdict_t verdict, const char *remedy,
                const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(finding->what, sizeof finding->what, format, args);
    va_end(args);
    snprintf(finding->remedy, sizeof finding->remedy, "%s", remedy);
    finding->verdict = verdict;
}

static void print_finding(const char *name, const doctor_finding_t *f)
{
    printf("%-5s %-15s %s\n", words[f->verdict], name, f->what);
    if (*f->remedy) printf("      %-15s -> %s\n", "", f->remedy);
}

static json_t *finding_json(const char *name, const doctor_finding_t *f)
{
    static const char *const verdicts[] = {"ok", "warn", "bad", "skipped"};
    return json_pack("{s:s, s:s, s:s, s:s}", "check", name, "verdict", verdicts[f->verdict],
                     "found", f->what, "remedy", f->remedy);
}

static int run(const void *options, const config_args_t *args, err_t *err)
{
    const doctor_options_t *o = options;
    const doctor_row_t *const tables[] = {doctor_machine, doctor_cluster};
    output_t format = output_of(o->output, o->json);
    int count[4] = {0};
    json_t *list = json_array();
    if (args->n_operands > 0) {
        json_decref(list);
        return err_set(err, ERR_ARG, "\"%s\": unexpected word", args->operands[0]);
    }
    signal(SIGPIPE, SIG_IGN);
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const doctor_row_t *row = tables[t]; row->name; row++) {
            doctor_finding_t finding = {.verdict = DOCTOR_SKIPPED};
            row->check(o, &finding);
            count[finding.verdict]++;
            if (format != OUTPUT_TABLE)
                json_array_append_new(list, finding_json(row->name, &finding));
            else
                print_finding(row->name, &finding);
            fflush(stdout);
        }
    if (format != OUTPUT_TABLE)
        output_value(format, list, stdout);
    else
        json_decref(list);
    int bad = count[DOCTOR_BAD];
    return bad == 0 ? 0
                    : err_set(err, ERR_STATE, "%d of %d checks found what will fail", bad,
                              count[DOCTOR_WELL] + count[DOCTOR_WARN] + bad);
}

int cmd_doctor(int argc, char **argv)
{
    doctor_options_t options = {0};
    err_t err = {0};
    return cmd_run(&table, &options, argc, argv, run, &err);
}
