/* Files of test material: a folder's files one by one, and the shared material's place. */
#ifndef TESTS_CORPUS_H
#define TESTS_CORPUS_H

#include <stddef.h>
#include <stdint.h>

#include "parse/parse.h"

/* Call `run` with the bytes of every file in the folder, in order by name. Returns how many there
 * were; 0 when the folder is missing. */
int corpus_each(const char *folder, int (*run)(const uint8_t *data, size_t n));

/* Call `run` with every section of the .mlir files in the folder, in order by name. Returns how
 * many there were. Fails the running test where the folder or a file cannot be read. */
typedef void corpus_section_fn(void *context, const char *path, const parse_sections_t *section);
int corpus_sections(const char *folder, corpus_section_fn *run, void *context);

/* The paths of the files in a folder that end with `suffix`, sorted; a NULL ends the list. Caller
 * frees with corpus_free. NULL when the folder is missing. */
char **corpus_list(const char *folder, const char *suffix, int *n);
void corpus_free(char **paths);

/* The same of a folder inside the shared material. Skips the running test, and says so, where there
 * is none. */
char **corpus_shared_list(const char *folder, const char *suffix, int *n);

/* `path` inside the shared material: $PCP_SHARED or ../shared. Caller frees. */
char *corpus_shared(const char *path);

#endif
