/* How threads share a kernel's work, for languages of many threads: which share of a piece of its
 * extent is a thread's (render_share.c), and loops and accumulators as such threads run them
 * (render_turns.c). */
#ifndef CODEGEN_RENDER_SHARE_H
#define CODEGEN_RENDER_SHARE_H

#include "codegen/render/render_expr.h"

/* How threads share a piece of a kernel's work. */
typedef enum {
    SHARE_ALONE,   /* one thread does it */
    SHARE_COLUMNS, /* `lanes` threads take turns at its columns, and never look at each other's */
    SHARE_GROUP,   /* a group of threads takes turns, and puts together what each has folded */
} share_t;

typedef struct {
    share_t share;
    int lanes; /* COLUMNS: a power of two; GROUP: the threads, where the language knows them, else 0 */
    /* COLUMNS: how many columns of a loop a thread takes at most, where arrays need an element for each of these, and not for
     * all columns: what a thread keeps is then in registers. 0: they need all. */
    int64_t turns;
    int64_t columns; /* of the longest loop, as far as it is known */
    /* GROUP: threads keep and read what is their own columns' alone, so that `turns` may be set */
    bool own;
    bool apart; /* no column reads what another one has written */
    /* GROUP: the same, for groups whose columns of a turn divide this; 0: of any; -1: of none */
    int64_t apart_by;
    /* A thread takes four neighbouring columns at a time (render_fours.h); `turns` is a multiple of four. */
    bool fours;
    bool searches;       /* COLUMNS: it has a loop that is a search */
    int slices;          /* sets of threads that share ... */
    const kstmt_t *rows; /* ... this loop's rounds (render_slices.c); 0: one has them all */
} share_plan_t;

/* warp: threads that look through a search together; 0: a thread looks alone. */
share_plan_t share_choose(const kernel_t *kernel, int warp);
/* Is it a loop that does something in some of its rounds alone, whatever the column? Threads may look through it together. */
bool share_is_search(const kstmt_t *s);
/* Accumulators that the loop folds and does not start: folds[kernel->acc.n], false before. */
void share_find_folds(const kernel_t *kernel, const kstmt_t *loop, bool *folds);

/* Rounds of a loop, where its bounds differ by a constant alone; -1 else. */
int64_t share_columns(const kernel_t *kernel, const kstmt_t *loop);

/* share_plan_t.apart_by; used: by node (render_apart.c). */
int64_t share_apart_by(const kernel_t *kernel, const bool *used);

/* Nodes that the kernel's statements need: used[kernel->graph.node.n], false before. */
void share_find_used(const kernel_t *kernel, bool *used);

/* How many rounds of loops a thread makes at most, loops without known bounds aside; INT32_MAX: as
 * many or more. */
int64_t share_rounds(const kernel_t *kernel, const share_plan_t *plan);

/* What threads cannot do of a kernel: a sentence, static; NULL: nothing. */
const char *share_refuses(const kernel_t *kernel);

/* --- Loops in turns ---------------------------------------------------------------------------- */

/* How a language writes what it writes otherwise than others; its source has `uint`, `piece` (the
 * work's number), where threads share it `lane` and LANES, and the prelude's pcp_fold_sum. */
typedef struct {
    void (*index)(render_t *self, kx_t x, str_t *out); /* x as `int` */
    void (*op)(str_t *out, op_code_t op, dtype_t result, dtype_t operand, int n_in,
               const char *const *in);
    /* Put this thread's part<acc> among shares<acc>, of which there are n_share then. */
    void (*share)(render_t *self, int acc);
    const char *n_share; /* "LANES" */
    const char *unroll;  /* a line before a loop of few rounds, whose number is known */
    bool fours;          /* it has pcp_quad_t */
    const char *barrier; /* threads of a group wait for each other; shares are seen */
    /* Or NULL: a constant that says whether the threads of a group are one subgroup, which folds f32 by
     * pcp_share(part, shares[k], k), the k-th thread's part, and does not wait. */
    const char *together;
    const char *visible; /* the same, and what they wrote is seen by all */
    const char *all;     /* the same of all slices (render_slices.c) */
    bool fetches;        /* loads of a round stand before its first store (render_fetch) */
} turns_lang_t;

/* Between render_turns.c and render_fours.c. */
typedef struct {
    int *number; /* by node seen in the loop: of the variable with its four elements, 0: none */
    int *seen;   /* by node: number of the last loop */
    VEC(const kstmt_t *) store; /* of the loop: those that write four elements */
    int n, n_loop;
    bool inside;
} fours_t;

/* What is known while a kernel is written: render_t.own. */
typedef struct {
    const turns_lang_t *lang;
    share_plan_t plan;
    bool inside; /* a loop over columns that threads share */
    int loops;   /* around it, other than that over pieces */
    bool *part;  /* by accumulator: the thread's share of it is being folded */
    bool *used;  /* by accumulator: its place for shares was */
    fours_t fours;
} turns_t;

/* Chooses the share; warp: as for share_choose. turns_end is due. */
void turns_begin(turns_t *self, const kernel_t *kernel, const turns_lang_t *lang, int warp);
void turns_end(turns_t *self);

/* Entries of render_lang_t: KS_FOR; KS_START and KS_FOLD. Sums of f32 over columns are carried in two
 * floats, so that one thread's long sum is as good as many short ones. */
void turns_loop(render_t *self, const kstmt_t *s);
void turns_accumulate(render_t *self, const kstmt_t *s);
/* Around a store, from its indentation on: outside of shared loops one thread does it, and the others
 * wait where they may read it. */
void turns_store_begin(render_t *self);
void turns_store_end(render_t *self);

/* Sums over rows by slices: whether and how many, where a thread keeps its sums in registers, and where a group of so
 * many threads has rows; the places where they give each other what they have; the loop over rows with what
 * puts them together. */
void slices_choose(const kernel_t *kernel, share_plan_t *plan);
void slices_choose_rows(const kernel_t *kernel, share_plan_t *plan, int group);
void slices_room(const kernel_t *kernel, const share_plan_t *plan, str_t *out);
void turns_slices(render_t *self, const kstmt_t *s);

/* A loop that is a search, by whole warps, with room for what each of them has found: render_search.c. */
void turns_search(render_t *self, const kstmt_t *s);
void turns_search_room(str_t *out, int threads);

#endif
