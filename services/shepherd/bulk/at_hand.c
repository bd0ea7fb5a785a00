/* States of this machine's workers: found by the end of their names, which is their hash (worker/states.h). */
#include "shepherd/bulk/at_hand.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/pieces.h"
#include "base/str.h"

/* Which replica begins with the state that the file's name ends with: the next one behind `after`; -1: none. */
static ssize_t replica_of(const ledger_t *ledger, const char *name, ssize_t after)
{
    static const char end[] = ".safetensors";
    size_t n = strlen(name), n_end = sizeof end - 1;
    if (n < n_end + HASH_HEX || !str_ends(name, end)) return -1;
    const char *hash = name + n - n_end - (HASH_HEX - 1);
    for (size_t k = (size_t)(after + 1); k < ledger->n_state; k++)
        if (hash[-1] == '-' && strncmp(hash, ledger->state[k], HASH_HEX - 1) == 0)
            return (ssize_t)k;
    return -1;
}

int *at_hand_open(const char *dir, const ledger_t *ledger)
{
    int *fd = mem_calloc(ledger->n_state + 1, sizeof *fd);
    for (size_t k = 0; k < ledger->n_state; k++) fd[k] = -1;
    DIR *at = dir && ledger->n_state <= AT_HAND_STATES ? opendir(dir) : NULL;
    for (struct dirent *e; at && (e = readdir(at));)
        for (ssize_t k = -1; (k = replica_of(ledger, e->d_name, k)) >= 0;)
            if (fd[k] < 0) fd[k] = openat(dirfd(at), e->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (at) closedir(at);
    return fd;
}

void at_hand_close(int **fd, const ledger_t *ledger)
{
    for (size_t k = 0; *fd && k < ledger->n_state; k++)
        if ((*fd)[k] >= 0) close((*fd)[k]);
    free(*fd);
    *fd = NULL;
}

bool at_hand_all(const char *dir, const ledger_t *ledger)
{
    bool all = true, any = false;
    int *fd = at_hand_open(dir, ledger);
    for (size_t k = 0; k < ledger->n_state; k++) {
        any |= fd[k] >= 0;
        all &= fd[k] >= 0 || !*ledger->state[k];
    }
    at_hand_close(&fd, ledger);
    return all && any;
}

/* State files are replaced, never written to, so that a second name is as good as a copy. */
static bool link_to(int fd, const char *path)
{
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, name, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

/* It has lost its name meanwhile, or lies on another file system. */
static int copy_to(int fd, const char *path, err_t *err)
{
    struct stat info;
    file_part_t in = {.fd = fd, .path = path};
    if (fstat(fd, &info) < 0) return err_set_errno(err, "%s", path);
    const source_t from = source_of_file(&in, (uint64_t)info.st_size);
    file_part_t out = {.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600),
                       .path = path};
    if (out.fd < 0) return err_set_errno(err, "%s", path);
    const sink_t to = sink_to_file(&out);
    int rc = source_save(&from, &to, NULL, err);
    if (close(out.fd) < 0 && rc == 0) rc = err_set_errno(err, "%s: close", path);
    return rc;
}

int at_hand_take(int fd, const char *path, err_t *err)
{
    return link_to(fd, path) ? 0 : copy_to(fd, path, err);
}
