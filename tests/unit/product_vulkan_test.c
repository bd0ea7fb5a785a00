/* Products on a Vulkan device, both ways, against plain C, to the last bit: sizes that end inside a tile, that are smaller
 * than one, and whose elements do not come by fours. And how tiles are chosen; what modules say of
 * buffers that are one memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "codegen/vulkan/shaders.h"
#include "compile/compile.h"
#include "leaks.h"
#include "plan/kernel/tiles.h"
#include "runtime/exec.h"

typedef struct {
    int batch, m, n, k;
    bool ta, tb; /* [k, m], [n, k] */
} shape_t;

static const shape_t shapes[] = {
    {1, 64, 64, 64, false, false},
    {1, 65, 33, 17, false, true},
    {1, 33, 65, 66, true, false},
    {1, 1, 9, 300, false, false},
    {1, 3, 5, 7, true, true},
    {4, 32, 16, 32, false, true},
    {4, 18, 34, 20, true, false},
    {1, 64, 20, 515, true, true},
    {2, 9, 12, 600, false, false},
    /* tiles of 128 x 128 and of 64 x 64 for a group of a GPU */
    {30, 130, 130, 20, true, true},
    {30, 131, 133, 19, false, false},
    {15, 130, 130, 21, true, true},
    {15, 132, 132, 36, false, true},
};
enum { N_SHAPE = sizeof shapes / sizeof *shapes };

static char *program(const shape_t *s)
{
    int a0 = s->ta ? s->k : s->m, a1 = s->ta ? s->m : s->k, b0 = s->tb ? s->n : s->k,
        b1 = s->tb ? s->k : s->n;
    return mem_printf("func.func @main(%%a: tensor<%dx%dx%dxf32>, %%b: tensor<%dx%dx%dxf32>) -> "
                      "tensor<%dx%dx%dxf32> {\n"
                      "  %%0 = stablehlo.dot_general %%a, %%b, batching_dims = [0] x [0], "
                      "contracting_dims = [%d] x [%d] : (tensor<%dx%dx%dxf32>, "
                      "tensor<%dx%dx%dxf32>) -> tensor<%dx%dx%dxf32>\n"
                      "  return %%0 : tensor<%dx%dx%dxf32>\n}\n",
                      s->batch, a0, a1, s->batch, b0, b1, s->batch, s->m, s->n, s->ta ? 1 : 2,
                      s->tb ? 2 : 1, s->batch, a0, a1, s->batch, b0, b1, s->batch, s->m, s->n,
                      s->batch, s->m, s->n);
}

/* Small whole numbers: every sum of them is exact, in any order. */
static float number(int seed, int i)
{
    return (float)((i * 7 + i / 5 + seed) % 9 - 4);
}

static float wanted(const shape_t *s, const float *a, const float *b, int e, int i, int j)
{
    float sum = 0;
    a += e * s->m * s->k, b += e * s->k * s->n;
    for (int k = 0; k < s->k; k++)
        sum += a[s->ta ? k * s->m + i : i * s->k + k] * b[s->tb ? j * s->k + k : k * s->n + j];
    return sum;
}

static void compare(const shape_t *s, const float *a, const float *b, const float *c)
{
    for (int e = 0; e < s->batch; e++)
        for (int i = 0; i < s->m; i++)
            for (int j = 0; j < s->n; j++) {
                float want = wanted(s, a, b, e, i, j), have = c[(e * s->m + i) * s->n + j];
                if (want != have)
                    fail_msg("%dx%dx%dx%d %s%s: [%d,%d,%d] is %g, not %g", s->batch, s->m, s->n,
                             s->k, s->ta ? "t" : "n", s->tb ? "t" : "n", e, i, j, (double)have,
                             (double)want);
            }
}

/* Each variable at the arena's binding is decorated. Returns how many there are. */
static int check_aliased(const shader_t *shader)
{
    enum { OP_DECORATE = 71, BINDING = 33, ALIASED = 20 };
    int bound = 0, aliased = 0;
    for (size_t i = 5; i < shader->n_word; i += shader->word[i] >> 16) {
        const uint32_t *word = &shader->word[i];
        if ((word[0] & 0xFFFF) != OP_DECORATE) continue;
        bound += word[2] == BINDING && word[3] == 0;
        aliased += word[2] == ALIASED;
    }
    assert_int_equal(aliased, bound);
    return bound;
}

static void run_product(const shape_t *s)
{
    err_t err = {0};
    shaders_t shaders;
    size_t n = 0, n_a = (size_t)s->batch * (size_t)(s->m * s->k),
           n_b = (size_t)s->batch * (size_t)(s->k * s->n),
           n_c = (size_t)s->batch * (size_t)(s->m * s->n);
    float *a = mem_calloc(n_a, sizeof *a), *b = mem_calloc(n_b, sizeof *b),
          *c = mem_calloc(n_c, sizeof *c);
    char *text = program(s);
    uint8_t *bytes = compile_text(text, strlen(text), "t", NULL, "vulkan:spirv1.3", &n, &err);
    if (!bytes) fail_msg("%s", err.text);
    plan_t *plan = plan_unpack(bytes, n, &err);
    assert_int_equal(shaders_load(&shaders, plan->code, plan->n_code, &err), 0);
    int most = 0;
    for (int i = 0; i < shaders.n; i++) {
        int bound = check_aliased(&shaders.shader[i]);
        most = bound > most ? bound : most;
    }
    assert_true(most >= 2);
    shaders_fini(&shaders);
    for (size_t i = 0; i < n_a; i++) a[i] = number(1, (int)i);
    for (size_t i = 0; i < n_b; i++) b[i] = number(2, (int)i);
    exec_t *exec = exec_new(plan, &(exec_options_t){0}, &err);
    if (!exec) fail_msg("%s", err.text);
    if (exec_write(exec, plan_find_tensor(plan, ROLE_BATCH, "arg0"), a, n_a * 4, &err) < 0 ||
        exec_write(exec, plan_find_tensor(plan, ROLE_BATCH, "arg1"), b, n_b * 4, &err) < 0 ||
        exec_run(exec, "main", &err) < 0 ||
        exec_read(exec, plan_find_tensor(plan, ROLE_RESULT, "result0"), c, n_c * 4, &err) < 0)
        fail_msg("%s", err.text);
    compare(s, a, b, c);
    exec_destroy(&exec);
    plan_destroy(&plan);
    free(bytes);
    free(text);
    free(a);
    free(b);
    free(c);
}

static void test_products(void **state)
{
    device_info_t info;
    (void)state;
    leaks_look_now();
    if (!device_vulkan.info(0, &info)) {
        print_message("no Vulkan driver here\n");
        skip();
    }
    for (int gpu = 0; gpu < 2; gpu++) { /* by eight threads of a subgroup, by groups with panels */
        if (gpu) setenv("PCP_VULKAN_AS_GPU", "1", 1);
        for (int i = 0; i < N_SHAPE; i++) run_product(&shapes[i]);
    }
    unsetenv("PCP_VULKAN_AS_GPU");
}

/* A thread has so many registers, a tile is whole rows of eight threads, and a small product gets no
 * larger tile than it is. */
static void test_tiles(void **state)
{
    (void)state;
    for (int64_t m = 1; m <= 4096; m = m * 3 + 1)
        for (int64_t n = 1; n <= 4096; n = n * 2 + 1) {
            product_t p = {
                .step = {.dtype = DT_F32, .batch = 1, .inner = 1, .m = m, .n = n, .k = 99}};
            tiles_choose_many(&p.tiles, &p.step);
            int rows = p.tiles.rows, cols = p.tiles.cols;
            assert_true(rows >= 1 && cols >= TILES_LANES && cols % TILES_LANES == 0);
            assert_true(rows * cols <= 128 * TILES_LANES);
            assert_true(rows < m + TILES_LANES && cols < n + TILES_LANES * 4);
            assert_int_equal(tiles_n_many(&p), ((m + rows - 1) / rows) * ((n + cols - 1) / cols));
        }
    product_t large = {.step = {.batch = 1, .inner = 1, .m = 2048, .n = 2048, .k = 256}};
    tiles_choose_many(&large.tiles, &large.step);
    assert_true(large.tiles.rows * large.tiles.cols >= 64 * TILES_LANES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
