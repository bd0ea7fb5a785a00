/* Options as lists of rows, so that an option is written once. A list is a macro LIST(X, T) of
 *
 *   X(T, kind, name, default, low, high, words, fixed, help)
 *
 * kind: BOOL, INT, FLOAT, ENUM or STRING; the default is written without quotes (of a STRING it may be
 * left out: ""); the range is 0, 0 where
 * there is none; words: of an ENUM, NULL for the rest; fixed: it may not change once a run has
 * begun, as the result would. What is made of a list:
 *
 *   struct { LIST(OPTION_MEMBER, ) } s;                      members of the option's names
 *   config_field_t fields[] = {LIST(OPTION_FIELD, type_t)};  flags, keys, --help: base/config.h
 *   s = (type_t){LIST(OPTION_TAKE, from)};                   values of another struct, by pointer
 *
 * Words are lists, too, LIST(X) of X(word, ...), which also make the table of what has the words:
 * OPTION_WORDS(LIST) is "one|two". */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include "base/config.h"

#define OPTION_BOOL bool
#define OPTION_INT int64_t
#define OPTION_FLOAT double
#define OPTION_ENUM char *
#define OPTION_STRING char *

#define OPTION_MEMBER(T, what, key, text, low, high, choice, is_fixed, say) OPTION_##what key;

#define OPTION_FIELD(T, what, key, text, low, high, choice, is_fixed, say) \
    {.name = #key,                                                         \
     .kind = CONFIG_##what,                                                \
     .offset = offsetof(T, key),                                           \
     .fallback = #text,                                                    \
     .help = say,                                                          \
     .min = low,                                                           \
     .max = high,                                                          \
     .words = choice},

#define OPTION_TAKE(from, what, key, text, low, high, choice, is_fixed, say) .key = (from)->key,

#define OPTION_WORD_(word, ...) "|" #word
#define OPTION_WORDS(LIST) (&LIST(OPTION_WORD_)[1])

#endif
