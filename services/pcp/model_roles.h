/* The flags that say what a model's arguments are (compile/roles.h), and the model's text with it. */
#ifndef PCP_MODEL_ROLES_H
#define PCP_MODEL_ROLES_H

#include "base/config.h"
#include "base/file_view.h"
#include "compile/roles.h"

/* Fields `entry`, `loss_result`, `role`, `roles` and `constants_as_params` of a command's options of type T. */
#define MODEL_ROLES_FIELDS(T)                                                                      \
    {"entry",                                                                                      \
     CONFIG_STRING,                                                                                \
     offsetof(T, entry),                                                                           \
     NULL,                                                                                         \
     "the function to train (default: main, or the only public one)",                              \
     0,                                                                                            \
     0,                                                                                            \
     NULL,                                                                                         \
     false},                                                                                       \
        {"loss_result",                                                                            \
         CONFIG_INT,                                                                               \
         offsetof(T, loss_result),                                                                 \
         "-1",                                                                                     \
         "which result is the loss, from 0; -1: the first, or the only float scalar",              \
         -1,                                                                                       \
         1e6,                                                                                      \
         NULL,                                                                                     \
         false},                                                                                   \
        {"role",                                                                                   \
         CONFIG_STRING,                                                                            \
         offsetof(T, role),                                                                        \
         NULL,                                                                                     \
         "NAME=ROLE of an argument, may be given again: param, frozen, state:RESULT, batch, "      \
         "seed, "                                                                                  \
         "scalar:step, scalar:lr, scalar:NUMBER (docs/models.md)",                                 \
         0,                                                                                        \
         0,                                                                                        \
         ",",                                                                                      \
         false},                                                                                   \
        {"roles", CONFIG_STRING, offsetof(T, roles), NULL, "file of such rules, one a line", 0, 0, \
         NULL,    false},                                                                          \
        {"shape",                                                                                  \
         CONFIG_STRING,                                                                            \
         offsetof(T, shape),                                                                       \
         NULL,                                                                                     \
         "NAME=8x128: the shape of an argument that the text writes with ?, may be given again",   \
         0,                                                                                        \
         0,                                                                                        \
         ",",                                                                                      \
         false},                                                                                   \
        {"constants_as_params",                                                                    \
         CONFIG_BOOL,                                                                              \
         offsetof(T, constants_as_params),                                                         \
         "false",                                                                                  \
         "constants of the text that look like weights become parameters, which start with them",  \
         0,                                                                                        \
         0,                                                                                        \
         NULL,                                                                                     \
         false},                                                                                   \
        {"freeze",                                                                                 \
         CONFIG_STRING,                                                                            \
         offsetof(T, freeze),                                                                      \
         NULL,                                                                                     \
         "NAME of a parameter that keeps its value, may hold * and be given again",                \
         0,                                                                                        \
         0,                                                                                        \
         ",",                                                                                      \
         false},                                                                                   \
        {"group",                                                                                  \
         CONFIG_STRING,                                                                            \
         offsetof(T, group),                                                                       \
         NULL,                                                                                     \
         "PATTERN:lr=X,decay=Y: factors of the learning rate and the weight decay for parameters " \
         "of such names; may be given again",                                                      \
         0,                                                                                        \
         0,                                                                                        \
         ";",                                                                                      \
         false},                                                                                   \
        {"lora",                                                                                   \
         CONFIG_STRING,                                                                            \
         offsetof(T, lora),                                                                        \
         NULL,                                                                                     \
         "train adapters beside the weights instead: "                                             \
         "rank=8,alpha=16,targets=PATTERN,train=PATTERN "                                          \
         "(docs/models.md)",                                                                       \
         0,                                                                                        \
         0,                                                                                        \
         NULL,                                                                                     \
         false},

/* From the members of the same names. */
#define MODEL_ROLES_OPTIONS(o)                                                           \
    {                                                                                    \
        .entry = (o)->entry, .loss_result = (int)(o)->loss_result, .rules = (o)->role,   \
        .file = (o)->roles, .shapes = (o)->shape, .constants = (o)->constants_as_params, \
        .freeze = (o)->freeze, .group = (o)->group, .lora = (o)->lora                    \
    }

/* Read the file, settle the roles, show notes and the table on stderr (quiet: only where the module
 * says more than the file, or is unsure). The text of the module as it is to be compiled: the
 * file's own, or printed anew. sure: ERR_ARG when a role is unsure. *module is what was read, with
 * the roles; the caller destroys it, and closes *text. -1 with the error: both are empty. */
int model_roles_text(const char *path, const roles_options_t *options, bool sure, bool quiet,
                     ir_module_t **module, file_view_t *text, err_t *err);

#endif
