/* Configuration by table: each field is one row, which serves the JSON file, the environment, the
 * command line, --help and the printed effective configuration.
 *
 * Precedence: flag (--inner-steps 50) over environment (PCP_INNER_STEPS) over file
 * ({"inner_steps": 50}) over the row's default. Unknown flags and keys are errors that name the
 * nearest known one, if one is near. Nested objects in the file are joined with '_':
 * {"outer": {"lr": 0.7}} sets outer_lr. One thread at a time. */
#ifndef BASE_CONFIG_H
#define BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

typedef enum {
    CONFIG_BOOL,   /* bool: --flag, --no-flag, --flag=true */
    CONFIG_INT,    /* int64_t, within [min, max] when max > min; k M G = 1000s, Ki Mi Gi = 1024s */
    CONFIG_FLOAT,  /* double, finite, within [min, max] when max > min */
    CONFIG_STRING, /* char *, owned by the struct; NULL when the default is NULL */
    CONFIG_ENUM,   /* char *: one of the words in `words`, split by '|' */
} config_kind_t;

enum { CONFIG_WORD = -1 }; /* value of a CONFIG_INT that was given as its word */

typedef struct {
    const char *name; /* snake_case, as in the file; the flag is --snake-case */
    config_kind_t kind;
    size_t offset;        /* of the field in the caller's struct */
    const char *fallback; /* default, as text; NULL: unset (strings only) */
    const char *help;     /* one line for --help */
    double min, max;
    const char *words; /* CONFIG_ENUM; CONFIG_INT: a word besides the numbers, for CONFIG_WORD;
                          CONFIG_STRING: what stands between the values of a flag that is given
                          several times, NULL: the last one counts */
    bool secret; /* masked when printed; in the environment and as a flag, @FILE stands for the
                    first line of that file */
} config_field_t;

/* What a field was called before: files and flags may still say so. */
typedef struct {
    const char *was, *is;
} config_former_t;

typedef struct {
    const char *usage; /* first lines of --help: what the command does and its operands */
    const config_field_t *fields;
    size_t n_fields;
    bool no_env;
    const char *env_field; /* with no_env: the one that is read from the environment all the same */
    const char *flag_only; /* the one that is not: its variable means something else; NULL: none */
    const char *base;      /* a JSON file that is read before the others; NULL: none */
    const config_former_t *former; /* ends with {NULL, NULL}; NULL: none */
    const char *purpose; /* one line for the head of a page for man; NULL: usage's first sentence */
} config_table_t;

/* What is asked of the program in the place of its work. */
typedef enum {
    CONFIG_ASKS_NOTHING,
    CONFIG_ASKS_HELP,    /* --help, -h */
    CONFIG_ASKS_VERSION, /* --version */
    CONFIG_ASKS_MAN,     /* --help-man: its page for man(1) */
    CONFIG_ASKS_FLAGS,   /* --help-flags: its table for scripts, such as completion */
} config_asks_t;

typedef struct {
    int n_operands;     /* words that are no flags, in order */
    char **operands;    /* borrowed from argv */
    config_asks_t asks; /* to be answered by config_answer */
} config_args_t;

/* Defaults, then `file` (NULL: none), then environment, then argv[1..argc). `--config FILE` in argv
 * names the file when `file` is NULL and the table has no field of that name. An empty environment
 * variable counts as unset. At --help and its like reading stops: only defaults are set, *args says so.
 * Without `args`, words that are no flags are errors. ERR_ARG names source, field, value, range or
 * nearest name, if one is near; ERR_PARSE file:line:column; ERR_IO the file. Free target with
 * config_fini, also after an error, and args (zeroed on error) with config_args_fini. */
int config_load(const config_table_t *table, void *target, const char *file, int argc, char **argv,
                config_args_t *args, err_t *err);

/* After config_load: overwrite the passwords of secret fields in argv, which everybody on the
 * machine may read (ps). Returns the name of a flag that had one; NULL: none had. Not for literals.
 */
const char *config_hide(const config_table_t *table, int argc, char **argv);

/* The field of this name, or that once had it; NULL: there is none. */
const config_field_t *config_find(const config_table_t *table, const char *name);

/* The letter that stands for a field's flag in all programs: 'o' for "output"; '\0': it has none. */
char config_letter(const config_field_t *field);

/* What numbers of a field with max > min may be: "0 to 0.999". Returns, caller frees. */
char *config_range(const config_field_t *field);

/* A yes-or-no flag that is on where nobody says anything: --no-flag turns it off. */
bool config_on(const config_field_t *field);

/* Set one field from text, as a flag would, but for @FILE. */
int config_set(const config_table_t *table, void *target, const char *name, const char *value,
               err_t *err);

/* The effective configuration as a JSON object that config_load reads back; secrets masked when
 * `mask`. Returns, caller frees. */
char *config_print(const config_table_t *table, const void *target, bool mask);

void config_help(const config_table_t *table, FILE *out);
/* The page for man(1) of a command ("pcp train": section 1) or a service ("pcp-worker": section 8). */
void config_man(const config_table_t *table, const char *name, FILE *out);
/* A line for each flag and what it takes: nothing, NUMBER, TEXT or a|b; and, in lines that begin with
 * "=", the first words that usage has for the command of this name: "= list|verify". */
void config_flags(const config_table_t *table, const char *name, FILE *out);
/* What args asks of the program or command of this name. */
void config_answer(const config_table_t *table, const config_args_t *args, const char *name,
                   FILE *out);
void config_fini(const config_table_t *table, void *target);
void config_args_fini(config_args_t *args);

#endif
