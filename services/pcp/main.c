/* pcp, the command line: one table of subcommands. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/file_view.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/version.h"
#include "pcp/cmd.h"

static const struct {
    const char *name;
    cmd_fn *run;
    const char *help;
} commands[] = {
    {"train", cmd_train, "train a StableHLO model on a text with worker processes on this machine"},
    {"generate", cmd_generate, "let a trained checkpoint write text"},
    {"model", cmd_model, "print a model of a known family as StableHLO"},
    {"tokenizer", cmd_tokenizer, "train a tokenizer, or show what one does"},
    {"compile", cmd_compile, "show a module at any stage from IR to plan and C"},
    {"profile", cmd_profile, "tell where the time of a model's training step goes"},
    {"compare", cmd_compare, "take the same training steps on several targets, side by side"},
    {"devices", cmd_devices, "list this machine's devices and the targets of plans"},
    {"doctor", cmd_doctor,
     "look for what is wrong here and with a cluster, and tell what mends it"},
    {"ops", cmd_ops, "print the table of supported ops"},
    {"options", cmd_options, "print the table of training's options"},
    {"completion", cmd_completion, "print a script for the shell that completes pcp's words"},
    {"check", cmd_check, "run a StableHLO file's embedded checks"},
    {"eval", cmd_eval, "tell how well a model foretells a text"},
    {"checkpoint", cmd_checkpoint, "list, verify, export and prune checkpoints"},
    {"run", cmd_runs, "submit, watch, pause, resume and cancel the runs of a cluster"},
    {"top", cmd_top, "watch runs on the terminal: losses, speed, workers, events"},
    {"keys", cmd_keys, "make, issue, show and revoke the keys of a cluster's members"},
    {"audit", cmd_audit, "tell what operators have done, and verify the records of it"},
    {"worker", cmd_worker, "list, restart, drain, scale and trust the workers of a cluster"},
    {"backup", cmd_backup, "copy records and runs to where a cluster can be made again from"},
    {"restore", cmd_restore, "bring back what pcp backup has copied"},
    {"db", cmd_db, "bring a store's schema up to date, or tell its version"},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void usage(FILE *out)
{
    fprintf(out,
            "usage: pcp COMMAND [ARGUMENTS]\n\n"
            "Trains language models on machines that are unequal, far apart and unreliable.\n\n");
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
    fprintf(
        out,
        "\n`pcp COMMAND --help` tells each command's arguments; `pcp --version` its version.\n");
}

/* pcp's own page for man(1). */
static void man(FILE *out)
{
    fprintf(out,
            ".TH PCP 1 \"\" \"pcp %s\" \"Planetary Compute Protocol\"\n.SH NAME\npcp \\- trains "
            "language "
            "models on machines that are unequal, far apart and unreliable\n.SH SYNOPSIS\n.B pcp\n"
            "\\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n.SH COMMANDS\nEach has a page of its own.\n",
            pcp_version);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(out, ".TP\n.BR pcp\\-%s (1)\n%s\n", commands[i].name, commands[i].help);
}

/* The status to leave with: what could not be printed (a full disk) makes a command fail, for half a
 * model is none. Who has closed a pipe wants no more of it, and that is well. */
static int printed(const char *name, int status)
{
    if (status != CMD_OK) return status;
    errno = 0;
    bool flushed = fflush(stdout) == 0;
    struct pollfd out = {.fd = STDOUT_FILENO};
    bool left = poll(&out, 1, 0) == 1 && out.revents & POLLERR; /* who reads the pipe */
    if ((flushed && !ferror(stdout)) || left) return CMD_OK;
    fprintf(stderr, "pcp %s: standard output: %s\n", name,
            flushed ? "not all of it could be written" : strerror(errno));
    return CMD_FAILED;
}

static int run(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    bool help = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0;
    if (help && argc == 2) {
        usage(stdout);
        return CMD_OK;
    }
    if (strcmp(name, "--help-man") == 0) {
        man(stdout);
        return CMD_OK;
    }
    if (strcmp(name, "--commands") == 0) { /* for scripts */
        for (int i = 0; i < N_COMMANDS; i++) puts(commands[i].name);
        return CMD_OK;
    }
    if (strcmp(name, "--version") == 0) {
        printf("pcp %s\n", pcp_version);
        return CMD_OK;
    }
    char *help_args[] = {argc > 2 ? argv[2] : NULL, "--help", NULL};
    if (help) name = argv[2]; /* pcp help train */
    file_view_guard("pcp");
    log_init("pcp", LOG_WARN, LOG_LOGFMT);
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return help ? commands[i].run(2, help_args) : commands[i].run(argc - 1, argv + 1);
    if (*name) fprintf(stderr, "pcp: there is no command \"%s\"\n\n", name);
    usage(stderr);
    return CMD_USAGE;
}

int main(int argc, char **argv)
{
    err_t err = {0};
    file_hold_standard();
    if (secret_umask(&err) < 0) {
        fprintf(stderr, "pcp: %s\n", err.text);
        return CMD_USAGE;
    }
    return printed(argc > 1 ? argv[1] : "", run(argc, argv));
}
