/* Plans that generation keeps on disk: made once, made again where they are damaged or gone, and refused where they are
 * another model's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/entries.h"
#include "base/file.h"
#include "base/mem.h"
#include "infer_rig.h"
#include "plan/format/plan.h"
#include "temp.h"

static infer_t *open_as(const model_t *model, const infer_options_t *options)
{
    err_t err = {0};
    infer_t *self = infer_open(&model->source, options, &err);
    check(self ? 0 : -1, &err);
    return self;
}

/* The second time the plan is there already; a damaged one is made again. */
static void test_cache(void **state)
{
    (void)state;
    model_t model;
    char *dir = temp_dir();
    model_of_family(&model, rig_gpt2(false));
    for (int i = 0; i < 6; i++) {
        infer_t *self = open_as(&model, &(infer_options_t){.cache_dir = dir, .window = i % 2});
        assert_int_equal(infer_facts(self).compiled, i < 2 || i > 3);
        infer_close(&self);
        assert_int_equal(temp_count(dir), i < 1 ? 1 : 2);
        if (i < 3) continue;
        char *command = mem_printf("for f in %s/*; do echo >>$f; done", dir);
        assert_int_equal(system(command), 0);
        free(command);
    }
    temp_remove(&dir);
    model_fini(&model);
}

/* A whole plan under the name of this one, with tensors of other sizes: an error, no byte beyond a buffer. */
static void test_cache_foreign(void **state)
{
    (void)state;
    static const char *const odd[] = {"tokens", "first", "logits", "hidden"};
    model_t model;
    char *dir = temp_dir();
    size_t n = 0;
    err_t err = {0};
    model_of_family(&model, rig_gpt2(false));
    infer_options_t o = {.cache_dir = dir, .slots = 2};
    infer_t *self = open_as(&model, &o);
    infer_close(&self);
    entries_t list = entries_list(dir, "", ".plan");
    assert_int_equal(list.n, 1);
    char *bytes = file_read(list.at[0].path, &n, &err);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        plan_t *plan = plan_unpack((uint8_t *)bytes, n, &err);
        for (int k = 0; k < plan->n_tensor; k++) {
            plan_tensor_t *t = &plan->tensor[k];
            if (!str_starts(t->name, "next1x") || !str_ends(t->name, odd[i])) continue;
            t->type.dim[t->type.rank - 1] += 300;
            t->n_bytes = (uint64_t)ir_type_bytes(&t->type);
            t->offset = 0;
        }
        size_t n_odd;
        uint8_t *other = plan_pack(plan, &n_odd, NULL);
        assert_int_equal(file_write_atomic(list.at[0].path, other, n_odd, &err), 0);
        assert_null(infer_open(&model.source, &o, &err));
        assert_non_null(strstr(err.text, "not for this model"));
        free(other);
        plan_destroy(&plan);
    }
    free(bytes);
    entries_fini(&list);
    temp_remove(&dir);
    model_fini(&model);
}

/* Beyond the limit go plans that nobody uses. */
static void test_cache_limit(void **state)
{
    (void)state;
    model_t model;
    char *dir = temp_dir();
    model_of_family(&model, rig_gpt2(false));
    infer_options_t o[3];
    infer_t *open[3];
    for (int i = 0; i < 3; i++)
        o[i] = (infer_options_t){.cache_dir = dir, .cache_limit = 1, .slots = i + 1};
    o[1].window = true;
    open[0] = open_as(&model, &o[0]);
    open[1] = open_as(&model, &o[1]);
    assert_int_equal(temp_count(dir), 2);
    infer_close(&open[0]);
    open[2] = open_as(&model, &o[2]); /* the first goes for it */
    assert_int_equal(temp_count(dir), 2);
    infer_close(&open[1]);
    infer_close(&open[2]);
    for (int i = 2; i >= 0; i--) {
        open[i] = open_as(&model, &o[i]);
        assert_int_equal(infer_facts(open[i]).compiled, i == 0);
    }
    for (int i = 0; i < 3; i++) infer_close(&open[i]);
    temp_remove(&dir);
    model_fini(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_cache_foreign),
        cmocka_unit_test(test_cache_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
