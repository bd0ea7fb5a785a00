/* What the fuzz targets share. A target is LLVMFuzzerTestOneInput over one decoder: it asserts the
 * decoder's promise, not merely that nothing crashes. scripts/fuzz builds and runs them with
 * libFuzzer; fuzz_replay_test and parse_fuzz_test replay their corpora. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static inline void broken(const char *promise, const char *detail)
{
    fprintf(stderr, "%s\n%s\n", promise, detail);
    __builtin_trap();
}

/* The bytes as a file without a disk; path[32] is its name until close(fd). */
static inline int fuzz_file(const uint8_t *data, size_t n, char *path)
{
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data, n) != (ssize_t)n) broken("memfd", "cannot be written");
    snprintf(path, 32, "/proc/self/fd/%d", fd);
    return fd;
}

#endif
