/* pcp options: the options of training as the page docs/options.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "pcp/cmd.h"
#include "pcp/train_config.h"
#include "pcp/train_resume.h"

static const config_table_t table = {
    .usage = "usage: pcp options\n\n"
             "Prints the options of training with defaults, values and where they are read, in\n"
             "markdown. docs/options.md is its output.",
    .no_env = true,
};

static const char head[] =
    "# Options of training\n\n"
    "Written by `pcp options > docs/options.md` from the tables that the programs read\n"
    "(optim/spec_options.h, options/train.h, pcp/train_config.c); tests/cluster/options.sh fails "
    "when it is stale.\n\n"
    "The option `some_name` is the flag `--some-name`, the key `some_name` of a JSON file (that of "
    "`pcp train`,\n"
    "the shepherd's run.json) and PCP_SOME_NAME in the environment, which `pcp compile` does not "
    "read. A flag\n"
    "wins over the environment, that over the file. What is true by default is turned off by "
    "`--no-some-name`.\n\n"
    "**fixed**: it may not change once a run has begun: `--resume` refuses another value (`rounds` "
    "may grow), and the\n"
    "shepherds of a run must agree on what comes to them.\n";

/* Which rows a section has. */
typedef bool choose_fn(const config_field_t *field);

static bool of_steps(const config_field_t *field)
{
    const train_option_t *option = train_option_find(field->name);
    return option && option->in_spec;
}

static bool of_runs(const config_field_t *field)
{
    const train_option_t *option = train_option_find(field->name);
    return option && !option->in_spec;
}

static bool of_train(const config_field_t *field)
{
    return !train_option_find(field->name);
}

static const struct {
    const char *title, *text;
    choose_fn *choose;
} sections[] = {
    {"The training step",
     "Read by `pcp train`, `pcp run submit`, `pcp compile` and in run.json. Part of a plan's "
     "identity: another value\nis another plan.",
     of_steps},
    {"The run", "Read by `pcp train`, `pcp run submit` and in run.json.", of_runs},
    {"The experiment",
     "Read by `pcp train` and `pcp run submit`, which make from it what run.json and the "
     "processes need.",
     of_train},
};

/* Returns, caller frees. */
static char *values_of(const config_field_t *f)
{
    static const char *const kinds[] = {"true, false", "whole number", "number", "text", ""};
    str_t out = {0};
    char *range = f->max > f->min ? config_range(f) : NULL;
    if (f->kind == CONFIG_ENUM)
        for (const char *p = f->words; *p; p++) str_addf(&out, *p == '|' ? ", " : "%c", *p);
    else
        str_add(&out, range ? range : kinds[f->kind]);
    free(range);
    if (f->kind == CONFIG_INT && f->words) str_addf(&out, ", %s", f->words);
    return out.at;
}

static void print_row(const config_field_t *f)
{
    const train_option_t *option = train_option_find(f->name);
    bool fixed = option ? option->fixed : !train_resume_is_free(f->name);
    char *values = values_of(f);
    printf("| %-16s | %-8s | %-25s | %-5s | %s |\n", f->name, f->fallback ? f->fallback : "",
           values, fixed ? "yes" : "", f->help);
    free(values);
}

static void print_page(void)
{
    fputs(head, stdout);
    for (size_t s = 0; s < sizeof sections / sizeof *sections; s++) {
        printf("\n## %s\n\n%s\n\n", sections[s].title, sections[s].text);
        printf("| %-16s | %-8s | %-25s | fixed | what |\n", "option", "default", "values");
        printf("|------------------|----------|---------------------------|-------|------|\n");
        for (size_t i = 0; i < train_config_table.n_fields; i++)
            if (sections[s].choose(&train_config_table.fields[i]))
                print_row(&train_config_table.fields[i]);
    }
}

static int print_options(const void *nothing, const config_args_t *args, err_t *err)
{
    (void)nothing;
    if (args->n_operands > 0) return err_set(err, ERR_ARG, "takes no operands (try --help)");
    print_page();
    return 0;
}

int cmd_options(int argc, char **argv)
{
    char nothing = 0;
    err_t err = {0};
    return cmd_run(&table, &nothing, argc, argv, print_options, &err);
}
