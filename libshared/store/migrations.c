/* The migrations' texts, put into the program by the assembler. A new migration: a file in
 * deploy/postgres and one line in each table below; a test compares them with the directory. */
#include "store/migrations.h"

#define TEXT(number, name)                                                                  \
    __asm__(".pushsection .rodata\n"                                                        \
            "migration_" #number ": .incbin \"deploy/postgres/" #number "_" name ".sql\"\n" \
            ".byte 0\n"                                                                     \
            ".popsection\n");                                                               \
    extern const char migration_##number[] __attribute__((visibility("hidden")));

TEXT(0001, "runs")
TEXT(0002, "rounds")
TEXT(0003, "telemetry")
TEXT(0004, "views")
TEXT(0005, "recovery")
TEXT(0006, "submissions")
TEXT(0007, "admission")
TEXT(0008, "rewinds")
TEXT(0009, "replicas")
TEXT(0010, "late")
TEXT(0011, "records")

const migration_t migrations[] = {
    {"0001_runs", migration_0001},      {"0002_rounds", migration_0002},
    {"0003_telemetry", migration_0003}, {"0004_views", migration_0004},
    {"0005_recovery", migration_0005},  {"0006_submissions", migration_0006},
    {"0007_admission", migration_0007}, {"0008_rewinds", migration_0008},
    {"0009_replicas", migration_0009},  {"0010_late", migration_0010},
    {"0011_records", migration_0011},
};
const int n_migrations = sizeof migrations / sizeof *migrations;
