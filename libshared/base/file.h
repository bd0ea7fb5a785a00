/* Whole files: read, and write so that a reader sees the old bytes or the new, never a mixture. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* The whole file and a NUL behind it (not counted in *n). Returns, caller frees; NULL: ERR_IO. */
char *file_read(const char *path, size_t *n, err_t *err);

/* Write to a temporary file beside `path`, fsync, rename over `path`, fsync the directory. On error
 * (ERR_IO: full disk, no permission) the temporary file is removed and `path` is as it was. A
 * device or a pipe (/dev/null, /dev/stdout) is written to as it stands. The mode is 0644 less the
 * umask, or what file_write_as is told: 0600 for what is nobody else's business. */
int file_write_atomic(const char *path, const void *bytes, size_t n, err_t *err);
int file_write_as(const char *path, mode_t mode, const void *bytes, size_t n, err_t *err);

/* The parts of the above for writers that stream.
 * file_temporary: a name beside `path` that nobody else has ("PATH.tmp." and 128 random bits); for
 *   a directory or a link, made by calls that fail where the name exists. Returns, caller frees.
 * file_open_temporary: the same, made as an empty file, open for reading and writing. It never
 * opens what exists, and its lock (flock) tells until the descriptor is closed that its writer
 * lives. -1: ERR_IO. *name: caller frees. file_write_all: all n bytes to fd; an error names `path`.
 * file_commit: fsync(fd), close(fd), rename, fsync of the directory. It always closes fd; on error
 *   the temporary file is removed and `path` is as it was.
 * A file that others may have mapped is only ever replaced so, never written to or truncated. */
char *file_temporary(const char *path);
int file_open_temporary(const char *path, mode_t mode, char **name, err_t *err);
int file_write_all(int fd, const void *bytes, size_t n, const char *path, err_t *err);
int file_commit(int fd, const char *temporary, const char *path, err_t *err);

/* Remove the temporary files in `dir` whose writers were killed: those without a lock that nobody
 * wrote to for a minute; on file systems without locks, for a day. Writers in other containers hold
 * their locks, too. Returns how many. */
size_t file_sweep_temporaries(const char *dir);

/* A read-only mapping of a file; n may be 0 (then at is ""). */
typedef struct {
    const uint8_t *at;
    size_t n;
} file_map_t;
int file_map(const char *path, file_map_t *map, err_t *err);
void file_unmap(file_map_t *map);
/* The whole pages of bytes [from, to) need not stay in memory: read again, they come from the file. */
void file_map_forget(const file_map_t *map, size_t from, size_t to);
/* The same by addresses, for any mapping of a file that is shared or was never written to: other memory
 * would lose its contents. */
void file_pages_forget(const void *at, size_t n);

bool file_exists(const char *path);
bool file_is_special(const char *path); /* a device, pipe or socket */
/* May we read it? ERR_IO names its mode, its owner and us. */
int file_readable(const char *path, err_t *err);
int64_t file_size(const char *path); /* -1 if it cannot be read */

/* Make renames and new names in a directory durable. ERR_IO. */
int file_sync_dir(const char *dir, err_t *err);

/* mkdir -p, mode 0755. */
int file_make_dirs(const char *path, err_t *err);

/* Where this user's programs keep what they can make again: $XDG_CACHE_HOME/pcp or ~/.cache/pcp, made
 * or not. Returns, caller frees; NULL: the environment names neither. */
char *file_cache_dir(void);

/* rm -rf of a directory, as far as it goes. No link is followed, nor is `path` if it is one itself:
 * links inside are removed, one at `path` stays as it is, as does a file there and whatever is
 * mounted inside. 0: there is no such directory (any more); -1: not all of it is gone, errno. */
int file_remove_tree(const char *path);

/* At the start of a program: standard input, output and error that are closed become descriptors that can no more be read or
 * written than closed ones. Else the next file or socket takes their number, and what is logged or printed goes into it. */
void file_hold_standard(void);

#endif
