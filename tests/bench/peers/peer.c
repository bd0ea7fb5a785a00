/* Peers as child processes with a pipe each way. */
#include "peer.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

bool peer_has_torch(const char *python)
{
    char *command = mem_printf("'%s' -c 'import torch, numpy' 2>/dev/null", python);
    int status = system(command);
    free(command);
    return status == 0;
}

static void become(char *const argv[], char *const environment[], int in, int out)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; environment[i]; i++) putenv(environment[i]);
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0) _exit(126);
    execv(argv[0], argv);
    _exit(127);
}

static int read_line(peer_t *self, char **line, size_t *space, err_t *err)
{
    if (getline(line, space, self->from) > 0) return 0;
    return err_set(err, ERR_IO, "%s ended before it answered; its messages are above", self->name);
}

int peer_start(peer_t *self, const char *name, char *const argv[], char *const environment[],
               err_t *err)
{
    int to[2], from[2];
    *self = (peer_t){.name = name};
    if (pipe2(to, O_CLOEXEC) < 0) return err_set_errno(err, "pipe");
    if (pipe2(from, O_CLOEXEC) < 0) {
        close(to[0]);
        close(to[1]);
        return err_set_errno(err, "pipe");
    }
    self->pid = fork();
    if (self->pid == 0) become(argv, environment, to[0], from[1]);
    close(to[0]);
    close(from[1]);
    self->to = fdopen(to[1], "w");
    self->from = fdopen(from[0], "r");
    if (self->pid < 0 || !self->to || !self->from) return err_set_errno(err, argv[0]);
    char *line = NULL;
    size_t space = 0;
    int status = read_line(self, &line, &space, err);
    if (status == 0 && strcmp(line, "ready\n") != 0)
        status = err_set(err, ERR_IO, "%s said \"%s\", expected \"ready\"", name, line);
    free(line);
    return status;
}

int peer_ask(peer_t *self, const char *word, double *number, err_t *err)
{
    char *line = NULL;
    size_t space = 0;
    fprintf(self->to, "%s\n", word);
    fflush(self->to);
    int status = read_line(self, &line, &space, err);
    if (status == 0 && sscanf(line, "%lf", number) != 1)
        status = err_set(err, ERR_IO, "%s: asked for %s, answered \"%s\"", self->name, word, line);
    free(line);
    return status;
}

int peer_evaluate(peer_t *self, double *loss, err_t *err)
{
    return peer_ask(self, "eval", loss, err);
}

int peer_run(peer_t *self, int n, double rate, peer_step_t *step, err_t *err)
{
    char *line = NULL, *at;
    size_t space = 0;
    fprintf(self->to, "run %d %.9g\n", n, rate);
    fflush(self->to);
    int status = read_line(self, &line, &space, err);
    at = line;
    for (int i = 0; status == 0 && i < n; i++) {
        int used = 0;
        peer_step_t *s = &step[i];
        if (sscanf(at, "%lf:%lf:%lf%n", &s->seconds, &s->cpu_seconds, &s->loss, &used) != 3)
            status = err_set(err, ERR_IO, "%s: expected %d steps, answered \"%s\"", self->name, n,
                             line);
        at += used;
    }
    free(line);
    return status;
}

double peer_peak_mib(const peer_t *self)
{
    char path[64], text[256];
    long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)self->pid);
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    while (fgets(text, sizeof text, file))
        if (sscanf(text, "VmHWM: %ld", &kib) == 1) break;
    fclose(file);
    return (double)kib / 1024;
}

void peer_stop(peer_t *self)
{
    if (self->to) fclose(self->to);
    if (self->from) fclose(self->from);
    if (self->pid > 0) {
        kill(self->pid, SIGTERM);
        waitpid(self->pid, NULL, 0);
    }
    *self = (peer_t){.name = self->name};
}
