/* The migrations' texts, put into the program by the assembler: all files of deploy/postgres, in
 * the order of their numbers. The Makefile writes their list, build/gen/migrations.inc. */
#include "store/migrations.h"

#define MIGRATION(number, name)                                                  \
    __asm__(".pushsection .rodata\n"                                             \
            "migration_" #number ": .incbin \"deploy/postgres/" #name ".sql\"\n" \
            ".byte 0\n"                                                          \
            ".popsection\n");                                                    \
    extern const char migration_##number[] __attribute__((visibility("hidden")));
#include "migrations.inc"
#undef MIGRATION

#define MIGRATION(number, name) {#name, migration_##number},
const migration_t migrations[] = {
#include "migrations.inc"
};
const int n_migrations = sizeof migrations / sizeof *migrations;
