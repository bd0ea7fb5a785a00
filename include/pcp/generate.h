/* Text: tokenizers, and generators, which write texts by a model's scores. */
#ifndef PCP_GENERATE_H
#define PCP_GENERATE_H

#include <pcp/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Tokenizers: text to tokens and back. They do not change: threads may share one. --- */

typedef struct pcp_tokenizer pcp_tokenizer_t;

/* kind: "byte", 256 tokens; or "char", one for each Unicode character in text[n], sorted. */
pcp_tokenizer_t *pcp_tokenizer_new(const char *kind, const char *text, size_t n,
                                   pcp_error_t *error);
/* From a file: tokenizer.json as Hugging Face has it, vocab.json beside merges.txt, or a directory with them. */
pcp_tokenizer_t *pcp_tokenizer_open(const char *path, pcp_error_t *error);
void pcp_tokenizer_destroy(pcp_tokenizer_t **self_p);

int64_t pcp_tokenizer_vocab(const pcp_tokenizer_t *self); /* tokens lie below it */
/* A tensor [tokens] of i32. PCP_ERROR_PARSE names what the tokenizer does not know. */
pcp_tensor_t *pcp_tokenizer_encode(const pcp_tokenizer_t *self, const char *text, size_t n,
                                   pcp_error_t *error);
/* The text of a tensor of i32, ending with NUL: pcp_free. */
char *pcp_tokenizer_decode(const pcp_tokenizer_t *self, const pcp_tensor_t *tokens,
                           pcp_error_t *error);

/* --- Generators --- */

typedef struct pcp_generator pcp_generator_t;

/* The model is a graph with a function @logits (parameters, tokens [1, length] of i32) -> [1, length, vocabulary]; graphs of
 * model.h, and others that prove that they may, keep keys and values of what they have read; the rest compute their window for each
 * token (docs/generation.md). Parameters are those of the session, as they are now, or of a safetensors file. Compiles for this machine's processor: seconds, unless the user's cache has the
 * plan. threads 0: all. The tokenizer is borrowed as long as the generator lives. */
pcp_generator_t *pcp_generator_new(const pcp_graph_t *model, pcp_session_t *session,
                                   const pcp_tokenizer_t *tokenizer, int threads,
                                   pcp_error_t *error);
pcp_generator_t *pcp_generator_open(const pcp_graph_t *model, const char *safetensors,
                                    const pcp_tokenizer_t *tokenizer, int threads,
                                    pcp_error_t *error);
void pcp_generator_destroy(pcp_generator_t **self_p);

/* Write behind a prompt: the text alone, pcp_free. options: NULL or "tokens=100 temperature=1 top_k=0 top_p=1 min_p=0
 * repetition=1 seed=1", these being the defaults; temperature=0 takes the likeliest token each time. told (or NULL) hears each
 * piece, which is whole characters, as it comes. docs/generation.md says what the words mean. */
char *pcp_generate(pcp_generator_t *self, const char *prompt, const char *options,
                   void (*told)(void *user, const char *piece, size_t n), void *user,
                   pcp_error_t *error);

#ifdef __cplusplus
}
#endif
#endif
