/* Samples: texts that a model writes while it trains. The service fetches parameters, module and
 * tokenizer; a process of its own, caged and of the lowest priority, writes the text. */
#ifndef COMPILER_SAMPLE_H
#define COMPILER_SAMPLE_H

#include "compiler/compiler.h"

#define SAMPLE_COMMAND "sample-task" /* of pcp-compiler, for itself alone */
enum {
    SAMPLE_SECONDS = 600,          /* then it is given up */
    SAMPLE_TEXT_BYTES = 256 << 10, /* what is longer is cut: a message is small */
};

/* In the service: the text that the job asks for, UTF-8. Returns, caller frees. The parameters come first:
 * the shards have them for two rounds. Errors of the process are given as its own. */
char *sample_run(const compiler_t *self, const Msg__Sample *job, data_client_t *client,
                 const compiler_stop_t *stop, err_t *err);

/* In that process: its exit status. */
int sample_main(int argc, char **argv);

#endif
