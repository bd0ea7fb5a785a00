/* What names from outside may be: those of runs, which are folders under RUNS_DIR, and those of a
 * submission's files, which lie in them beside what the front and the run's shepherd write there.
 */
#ifndef SHEPHERD_FRONT_NAMES_H
#define SHEPHERD_FRONT_NAMES_H

enum { FRONT_FILE_NAME = 64 }; /* bytes, with the NUL */

/* NULL: good; else what is wrong with it, without its bytes. Letters, digits, '.', '_', '-'; none
 * of '.' and '-' in front; 1 to 63 bytes; none that the cluster uses itself. */
const char *front_name_fault(const char *name);

/* NULL: good; a key is any text of at most 127 bytes in UTF-8 without control characters. */
const char *front_key_fault(const char *key);

#endif
