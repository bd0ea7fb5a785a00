/* What a backup holds: a directory with
 *
 *   SHA256SUMS      hash and name of every file, as sha256sum writes and checks them; written last
 *   manifest.json   of what, when, by which program; how many files; symbolic links
 *   records/        the database (store/dump.h)
 *   runs/           the runs' directories
 *
 * Without SHA256SUMS it is no backup but the beginning of one. */
#ifndef PCP_BACKUP_LIST_H
#define PCP_BACKUP_LIST_H

#include "base/hash.h"
#include "base/vec.h"
#include "store/dump.h"

typedef struct {
    char *path; /* below the backup */
    char hash[HASH_HEX];
} backup_file_t;

typedef struct {
    char *path, *target;
} backup_link_t;

typedef struct {
    store_dump_t records;
    char *made_by, *runs_dir; /* version of the program; where the runs were */
    int64_t made_ms, n_bytes; /* of all files */
    VEC(backup_file_t) files;
    VEC(backup_link_t) links;
} backup_t;

void backup_fini(backup_t *self);
void backup_add(backup_t *self, const char *path, const char hash[HASH_HEX], int64_t n_bytes);
/* Forget the files and links from these numbers on. */
void backup_cut(backup_t *self, size_t n_files, size_t n_links, int64_t n_bytes);

/* Copy a file to DIR/PATH, which must not be there, and add it. Directories are made. ERR_IO. */
int backup_copy(backup_t *self, const char *from, const char *dir, const char *path, err_t *err);
/* Add a file that lies there already. */
int backup_take(backup_t *self, const char *dir, const char *path, err_t *err);

/* Add all that lies in a directory below it. */
int backup_take_dir(backup_t *self, const char *dir, const char *under, err_t *err);
size_t backup_runs(const backup_t *self); /* how many runs it has */

/* Write manifest.json and SHA256SUMS. */
int backup_write(const backup_t *self, const char *dir, err_t *err);

/* Read the two, and check every file: ERR_CORRUPT names one that is missing, damaged, or there
 * without being listed; ERR_UNSUPPORTED: of a newer program. Zero `self` before. */
int backup_read(backup_t *self, const char *dir, err_t *err);

/* ERR_IO when the file system of `path` (or of its nearest parent that is there) has no room for so
 * many bytes. `what`: for the text. */
int backup_fits(const char *path, int64_t n_bytes, const char *what, err_t *err);
/* 0: there is no such directory, or nothing in it. */
int backup_vacant(const char *path, err_t *err);
/* Make it so: what was copied is removed, the directory stays. */
int backup_clear(const char *path, err_t *err);

#endif
