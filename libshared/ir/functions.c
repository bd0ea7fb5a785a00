/* The functions of a module: a list in order, and a table of their names (chained hashing), so that thousands that call
 * each other cost no more each than a few. */
#include <string.h>

#include "base/hash.h"
#include "ir/functions.h"

enum { FIRST_SPACE = 8 }; /* of list and table; both are doubled when the list is full */

/* The chain that a function of this name belongs to. */
static ir_fn_t **chain_of(const ir_module_t *self, const char *name)
{
    return &self->named[hash_fast(name, strlen(name)) & (uint64_t)(self->fn_space - 1)];
}

/* Where the pointer to fn stands; of NULL: the end of the chain, so that the older of two with one name is found. */
static ir_fn_t **link_to(const ir_module_t *self, const char *name, const ir_fn_t *fn)
{
    ir_fn_t **link = chain_of(self, name);
    while (*link && *link != fn) link = &(*link)->next_named;
    return link;
}

static void enter(ir_module_t *self, ir_fn_t *fn)
{
    fn->next_named = NULL;
    *link_to(self, fn->name, NULL) = fn;
}

static void leave(ir_module_t *self, const ir_fn_t *fn)
{
    ir_fn_t **link = link_to(self, fn->name, fn);
    if (*link) *link = fn->next_named;
}

static void make_room(ir_module_t *self)
{
    int space = self->fn_space ? 2 * self->fn_space : FIRST_SPACE;
    ir_fn_t **fresh = ARENA_ARRAY(self->arena, ir_fn_t *, space);
    if (self->n_fn) memcpy(fresh, self->fn, sizeof *fresh * (size_t)self->n_fn);
    self->fn = fresh;
    self->fn_space = space;
    self->named = ARENA_ARRAY(self->arena, ir_fn_t *, space);
    for (int i = 0; i < self->n_fn; i++) enter(self, self->fn[i]);
}

void ir_module_add(ir_module_t *self, ir_fn_t *fn)
{
    if (self->n_fn == self->fn_space) make_room(self);
    self->fn[self->n_fn++] = fn;
    enter(self, fn);
}

void ir_fn_rename(ir_fn_t *self, const char *name)
{
    leave(self->module, self);
    self->name = arena_strdup(self->module->arena, name);
    enter(self->module, self);
}

ir_fn_t *ir_module_find(const ir_module_t *self, const char *name)
{
    if (!self->named) return NULL;
    ir_fn_t *fn = *chain_of(self, name);
    while (fn && strcmp(fn->name, name) != 0) fn = fn->next_named;
    return fn;
}

ir_fn_t *ir_module_entry(const ir_module_t *self, err_t *err)
{
    ir_fn_t *found = ir_module_find(self, "main");
    if (found) return found;
    int n_public = 0;
    for (int i = 0; i < self->n_fn; i++) {
        if (self->fn[i]->is_private) continue;
        found = self->fn[i];
        n_public++;
    }
    if (n_public == 1) return found;
    if (self->n_fn == 1) return self->fn[0];
    err_set(err, ERR_ARG, "the module has %d functions and none is called @main", self->n_fn);
    return NULL;
}

void ir_module_remove(ir_module_t *self, const ir_fn_t *fn)
{
    for (int i = self->n_fn - 1; i >= 0; i--) { /* mostly one of the last */
        if (self->fn[i] != fn) continue;
        leave(self, fn);
        memmove(&self->fn[i], &self->fn[i + 1], sizeof *self->fn * (size_t)(self->n_fn - i - 1));
        self->n_fn--;
        return;
    }
}

void ir_module_replace(ir_module_t *self, const ir_fn_t *old, ir_fn_t *fresh)
{
    ir_module_remove(self, fresh);
    for (int i = 0; i < self->n_fn; i++) {
        if (self->fn[i] != old) continue;
        self->fn[i] = fresh;
        if (strcmp(old->name, fresh->name) != 0) {
            leave(self, old);
            enter(self, fresh);
        } else {
            fresh->next_named = old->next_named;
            *link_to(self, old->name, old) = fresh;
        }
        return;
    }
}
