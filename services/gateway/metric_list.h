/* The metrics, once: their text for Prometheus and their line in docs/serving.md follow from a row.
 * X(id, name, type, labels, help) */
#ifndef GATEWAY_METRIC_LIST_H
#define GATEWAY_METRIC_LIST_H

/* Upper bounds of a histogram's buckets, in seconds; one more is without bound. */
#define METRIC_BUCKETS 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60

#define METRICS(X)                                                                                \
    X(REQUESTS, "pcp_gateway_requests_total", counter, "path, status",                            \
      "Answers, by status of HTTP.")                                                              \
    X(TEXTS, "pcp_gateway_texts_total", counter, "model, end",                                    \
      "Texts that ended: length, stop, context (it was full), cancelled (the client left, was "   \
      "too "                                                                                      \
      "slow, or out of time), failed.")                                                           \
    X(PROMPT, "pcp_gateway_prompt_tokens_total", counter, "model", "Tokens of prompts.")          \
    X(REUSED, "pcp_gateway_prompt_tokens_reused_total", counter, "model",                         \
      "Tokens of prompts that were not read again: another text began with them.")                \
    X(WRITTEN, "pcp_gateway_written_tokens_total", counter, "model", "Tokens that were written.") \
    X(USED, "pcp_gateway_token_use_total", counter, "name",                                       \
      "Tokens of prompts and texts, by the access token's name.")                                 \
    X(RUNNING, "pcp_gateway_texts_running", gauge, "model", "Texts that are being written.")      \
    X(WAITING, "pcp_gateway_texts_waiting", gauge, "model", "Texts that wait for a slot.")        \
    X(SLOTS, "pcp_gateway_slots", gauge, "model", "Texts that are written at a time at most.")    \
    X(FIRST, "pcp_gateway_first_token_seconds", histogram, "model",                               \
      "From a request to its first token.")                                                       \
    X(WHOLE, "pcp_gateway_answer_seconds", histogram, "model", "From a request to its end.")      \
    X(ROUND, "pcp_gateway_checkpoint_round", gauge, "model",                                      \
      "Round of the checkpoint that is served.")                                                  \
    X(LOADED, "pcp_gateway_weights_loaded", gauge, "model",                                       \
      "Checkpoints of a model in memory: 2 while texts of an older one end.")                     \
    X(LOADS, "pcp_gateway_loads_total", counter, "model, result",                                 \
      "Checkpoints that were loaded, or failed.")                                                 \
    X(MEMBERS, "pcp_gateway_members", gauge, "", "Members that have joined.")                     \
    X(MEMBER_RUNNING, "pcp_gateway_member_texts_running", gauge, "model, member",                 \
      "Texts that a member is writing.")                                                          \
    X(MEMBER_WAITING, "pcp_gateway_member_texts_waiting", gauge, "model, member",                 \
      "Texts that wait at a member; all others wait at the gateway.")                             \
    X(MEMBER_SLOTS, "pcp_gateway_member_slots", gauge, "model, member",                           \
      "Texts that a member writes at a time at most.")                                            \
    X(MEMBER_ROUND, "pcp_gateway_member_checkpoint_round", gauge, "model, member",                \
      "Round of the checkpoint that a member serves.")                                            \
    X(MEMBER_WRITTEN, "pcp_gateway_member_written_tokens_total", counter, "model, member",        \
      "Tokens that a member has written since it joined.")                                        \
    X(CONNECTIONS, "pcp_gateway_connections", gauge, "", "Connections that clients have open.")

#endif
