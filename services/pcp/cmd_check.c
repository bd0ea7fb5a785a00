/* pcp check: run the checks embedded in a StableHLO file (check.expect_eq and its like). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_view.h"
#include "base/str.h"
#include "ops/check_expect.h"
#include "parse/parse.h"
#include "pcp/cmd.h"
#include "tools/check_compiled.h"

enum { CHECK_HOLDS = 0, CHECK_MISMATCH = 1, CHECK_UNSUPPORTED = 2 };

typedef struct {
    char *backend;
    int64_t memory_budget;
} options_t;

static const config_field_t fields[] = {
    {"backend", CONFIG_ENUM, offsetof(options_t, backend), "interp", "what runs the file", 0, 0,
     "interp|cpu", false},
    {"memory_budget", CONFIG_INT, offsetof(options_t, memory_budget), "0",
     "refuse what takes more bytes of tensors at once (512Mi, 2Gi); 0: 3/4 of this machine's "
     "memory",
     0, 1e15, NULL, false},
};
static const config_table_t table = {
    .usage =
        "usage: pcp check FILE [FLAGS]\n\n"
        "Runs the entry of each section of FILE and evaluates its checks: by the interpreter, or\n"
        "(--backend cpu) with what they check computed by a compiled plan.\n"
        "Each failed section is one line on stderr: where, what was found, what was expected.\n"
        "Exit status: 0 all hold, 1 a mismatch, 2 not valid or not supported.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .no_env = true,
};

/* One section: its status, and what is wrong with it on stderr. */
static int check_section(const parse_sections_t *s, const char *path, bool mapped,
                         const options_t *o)
{
    err_t err = {0};
    const parse_options_t options = {.mapped = mapped, .first_line = s->line};
    ir_module_t *module = parse_stablehlo_with(s->at, s->n, path, &options, &err);
    int result = -1;
    const eval_options_t limits = {.max_bytes = o->memory_budget};
    bool on_cpu = strcmp(o->backend, "cpu") == 0;
    if (module) cmd_notes(path, module);
    if (module)
        result = on_cpu ? check_module_on_cpu_within(module, &limits, &err)
                        : check_module_within(module, &limits, &err);
    if (result != 0) {
        bool placed = str_starts(err.text, path); /* the parser names the file itself */
        fprintf(stderr, "pcp check: %s%s%s\n", placed ? "" : path, placed ? "" : ": ", err.text);
    }
    ir_module_destroy(&module);
    return result < 0 ? CHECK_UNSUPPORTED : result;
}

/* The worst status over all sections. */
static int check_file(const char *path, const options_t *o, err_t *err)
{
    file_view_t text;
    if (parse_check_path(path, err) < 0 || file_view_open(path, &text, err) < 0)
        return CHECK_UNSUPPORTED;
    int worst = CHECK_HOLDS, n_run = 0;
    parse_sections_t s = parse_sections(text.at, text.n);
    s.mapped = text.mapped;
    while (parse_sections_next(&s)) {
        if (parse_is_blank(s.at, s.n)) continue;
        int status = check_section(&s, path, text.mapped, o);
        if (status > worst) worst = status;
        n_run++;
    }
    file_view_close(&text);
    if (n_run > 0) return worst;
    err_set(err, ERR_PARSE, "%s: holds no module", path);
    return CHECK_UNSUPPORTED;
}

int cmd_check(int argc, char **argv)
{
    options_t options = {0};
    config_args_t args = {0};
    err_t err = {0};
    bool done;
    int status = cmd_load(&table, &options, argc, argv, &args, &done);
    if (!done) {
        if (args.n_operands != 1) {
            err_set(&err, ERR_ARG, "give one StableHLO file (try --help)");
            status = CHECK_UNSUPPORTED;
        } else {
            status = check_file(args.operands[0], &options, &err);
        }
        if (err.code) fprintf(stderr, "pcp check: %s\n", err.text);
    }
    config_args_fini(&args);
    config_fini(&table, &options);
    return status;
}
