/* Mapped or read; and the last words of a process whose file was cut short. */
#include "base/file_view.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int file_view_open(const char *path, file_view_t *self, err_t *err)
{
    struct stat info;
    file_map_t map = {0};
    *self = (file_view_t){0};
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode)) {
        if (file_map(path, &map, err) < 0) return -1;
        *self = (file_view_t){.at = (const char *)map.at, .n = map.n, .mapped = map.n > 0};
        return 0;
    }
    self->read = file_read(path, &self->n, err);
    self->at = self->read;
    return self->read ? 0 : -1;
}

void file_view_close(file_view_t *self)
{
    file_map_t map = {(const uint8_t *)self->at, self->n};
    if (self->mapped) file_unmap(&map);
    free(self->read);
    *self = (file_view_t){0};
}

static char last_words[160];

/* Only calls that a signal handler may make. */
static void say_and_leave(int signal)
{
    (void)signal;
    ssize_t done = write(STDERR_FILENO, last_words, strlen(last_words));
    _exit(done < 0 ? 2 : 1);
}

void file_view_guard(const char *program)
{
    snprintf(last_words, sizeof last_words,
             "%s: a file was cut short while it was read, or its disk failed: write files anew and "
             "rename them over the old ones\n",
             program);
    struct sigaction action = {.sa_handler = say_and_leave};
    sigaction(SIGBUS, &action, NULL);
}
