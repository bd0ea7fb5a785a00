/* Plans for aarch64 under qemu-aarch64. Products without a kernel of their own are plain loops
 * here: no OpenBLAS is needed on the other side. */
#include "plan_emulate.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "temp.h"

static const char cross_compiler[] = "aarch64-linux-gnu-gcc", emulator[] = "qemu-aarch64";

struct emulated {
    const plan_t *plan;
    char *dir, *arena;
};

/* Reads steps as write_programs has them: driver CODE ARENA STEPS PROGRAM */
static const char driver[] =
    "#include <dlfcn.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
    "#include <string.h>\n"
    "typedef void kernel_t(char *, const int64_t *, int64_t, int64_t);\n"
    "typedef struct { char kind, name[80]; int n; int64_t x[256]; } step_t;\n"
    "static step_t *step[256]; static int n_step[256];\n"
    "static char *arena; static void *code;\n"
    "static void product(const int64_t *x)\n{\n"
    "    int64_t wide = x[0], m = x[3], n = x[4], k = x[5], ta = x[15], tb = x[16];\n"
    "    for (int64_t e = 0; e < x[1] * x[2]; e++)\n"
    "        for (int64_t i = 0; i < m; i++)\n"
    "            for (int64_t j = 0; j < n; j++) {\n"
    "                int64_t o = e / x[2], h = e % x[2];\n"
    "                char *a = arena + x[18] + wide * (o * x[9] + h * x[12]);\n"
    "                char *b = arena + x[19] + wide * (o * x[10] + h * x[13]);\n"
    "                char *c = arena + x[20] + wide * (o * x[11] + h * x[14] + i * x[8] + j);\n"
    "                double sum = !x[17] ? 0 : wide == 8 ? *(double *)c : *(float *)c;\n"
    "                for (int64_t p = 0; p < k; p++) {\n"
    "                    int64_t s = ta ? p * x[6] + i : i * x[6] + p;\n"
    "                    int64_t t = tb ? j * x[7] + p : p * x[7] + j;\n"
    "                    sum += wide == 8 ? ((double *)a)[s] * ((double *)b)[t]\n"
    "                                     : (double)((float *)a)[s] * ((float *)b)[t];\n"
    "                }\n"
    "                if (wide == 8) *(double *)c = sum; else *(float *)c = (float)sum;\n"
    "            }\n}\n"
    "static void run(int p)\n{\n"
    "    for (int i = 0; i < n_step[p]; i++) {\n"
    "        step_t *s = &step[p][i];\n"
    "        if (s->kind == 'c') memmove(arena + s->x[1], arena + s->x[0], s->x[2]);\n"
    "        if (s->kind == 'g') product(s->x);\n"
    "        if (s->kind == 'l')\n"
    "            for (run(s->x[0]); arena[s->x[2]]; run(s->x[0])) run(s->x[1]);\n"
    "        if (s->kind != 'k') continue;\n"
    "        kernel_t *kernel = dlsym(code, s->name);\n"
    "        if (!kernel) exit(3);\n"
    "        int64_t end = s->x[0] + s->x[1], half = s->x[1] / 2; /* two ranges, as two threads "
    "have them */\n"
    "        half -= half % s->x[2];\n"
    "        kernel(arena, s->x + 3, s->x[0] + half, end);\n"
    "        if (half > 0) kernel(arena, s->x + 3, s->x[0], s->x[0] + half);\n"
    "    }\n}\n"
    "int main(int argc, char **argv)\n{\n"
    "    FILE *f = fopen(argv[2], \"rb\");\n"
    "    fseek(f, 0, SEEK_END);\n    long size = ftell(f);\n    rewind(f);\n"
    "    arena = aligned_alloc(4096, (size + 8191) / 4096 * 4096);\n"
    "    if (fread(arena, 1, size, f) != (size_t)size) return 4;\n    fclose(f);\n"
    "    code = dlopen(argv[1], RTLD_NOW);\n"
    "    if (!code) { fprintf(stderr, \"%s\\n\", dlerror()); return 5; }\n"
    "    f = fopen(argv[3], \"r\");\n    int n;\n"
    "    for (int p = 0; fscanf(f, \" program %d\", &n) == 1; p++) {\n"
    "        step[p] = calloc(n + 1, sizeof(step_t));\n        n_step[p] = n;\n"
    "        for (int i = 0; i < n; i++) {\n"
    "            step_t *s = &step[p][i];\n"
    "            if (fscanf(f, \" %c %79s %d\", &s->kind, s->name, &s->n) != 3) return 6;\n"
    "            for (int k = 0; k < s->n; k++)\n"
    "                if (fscanf(f, \"%ld\", &s->x[k]) != 1) return 7;\n"
    "        }\n    }\n    fclose(f);\n"
    "    run(atoi(argv[4]));\n"
    "    f = fopen(argv[2], \"wb\");\n"
    "    if (fwrite(arena, 1, size, f) != (size_t)size || fclose(f)) return 8;\n"
    "    return 0;\n}\n";

static bool has(const char *tool)
{
    char *command = mem_printf("command -v %s >/dev/null 2>&1", tool);
    bool found = system(command) == 0;
    free(command);
    return found;
}

static void write_file(const emulated_t *self, const char *name, const void *bytes, size_t n)
{
    temp_write(temp_path(self->dir, name), bytes, n);
}

/* "KIND NAME N X..." */
static void write_step(const plan_t *plan, const plan_step_t *s, str_t *out)
{
    const plan_gemm_step_t *g = &s->gemm;
    if (s->kind == STEP_KERNEL) {
        str_addf(out, "k %s %d %" PRId64 " %" PRId64 " %" PRId64,
                 plan->kernel_name[s->kernel.kernel], s->kernel.n_arg + 3, s->kernel.begin,
                 s->kernel.extent, s->kernel.grain);
        for (int i = 0; i < s->kernel.n_arg; i++) str_addf(out, " %" PRId64, s->kernel.arg[i]);
    } else if (s->kind == STEP_COPY) {
        str_addf(out, "c - 3 %" PRId64 " %" PRId64 " %" PRId64, s->copy.from, s->copy.to,
                 s->copy.n_bytes);
    } else if (s->kind == STEP_LOOP) {
        str_addf(out, "l - 3 %u %u %" PRId64, s->loop.condition, s->loop.body, s->loop.more);
    } else if (g->parts > 0) {
        str_addf(out, "k %s 6 0 %" PRId64 " 1 %" PRId64 " %" PRId64 " %" PRId64,
                 plan->kernel_name[g->kernel], g->parts, g->a, g->b, g->c);
    } else {
        const int64_t x[] = {(int64_t)dtype_bytes(g->dtype),
                             g->batch,
                             g->inner,
                             g->m,
                             g->n,
                             g->k,
                             g->lda,
                             g->ldb,
                             g->ldc,
                             g->stride_a,
                             g->stride_b,
                             g->stride_c,
                             g->inner_a,
                             g->inner_b,
                             g->inner_c,
                             g->trans_a,
                             g->trans_b,
                             g->accumulate,
                             g->a,
                             g->b,
                             g->c};
        str_addf(out, "g - %zu", sizeof x / sizeof x[0]);
        for (size_t i = 0; i < sizeof x / sizeof x[0]; i++) str_addf(out, " %" PRId64, x[i]);
    }
    str_add(out, "\n");
}

static void write_programs(const emulated_t *self)
{
    str_t out = {0};
    for (int p = 0; p < self->plan->n_program; p++) {
        const plan_program_t *program = &self->plan->program[p];
        str_addf(&out, "program %d\n", program->n_step);
        for (int i = 0; i < program->n_step; i++) write_step(self->plan, &program->step[i], &out);
    }
    write_file(self, "steps", str_text(&out), out.n);
    str_fini(&out);
}

static void command(const char *text)
{
    if (system(text) != 0) fail_msg("%s", text);
}

emulated_t *emulated_new(const plan_t *plan)
{
    if (strcmp(plan->target, "cpu:aarch64") != 0 || !has(cross_compiler) || !has(emulator))
        return NULL;
    emulated_t *self = mem_calloc(1, sizeof *self);
    *self = (emulated_t){.plan = plan, .dir = temp_dir()};
    self->arena = mem_calloc(1, (size_t)plan->arena_bytes + 1);
    for (int i = 0; i < plan->n_constant; i++)
        memcpy(self->arena + plan->constant[i].offset, plan->constant[i].bytes,
               (size_t)plan->constant[i].n_bytes);
    write_file(self, "code.so", plan->code, plan->n_code);
    write_file(self, "driver.c", driver, sizeof driver - 1);
    write_programs(self);
    char *text = mem_printf("cd '%s' && %s -O2 -w -o driver driver.c -ldl", self->dir,
                            cross_compiler);
    command(text);
    free(text);
    return self;
}

void emulated_destroy(emulated_t **self_p)
{
    emulated_t *self = *self_p;
    *self_p = NULL;
    if (!self) return;
    temp_remove(&self->dir);
    free(self->arena);
    free(self);
}

char *emulated_tensor(emulated_t *self, int tensor)
{
    return self->arena + self->plan->tensor[tensor].offset;
}

void emulated_run(emulated_t *self, const char *program)
{
    const plan_program_t *found = plan_find_program(self->plan, program);
    assert_non_null(found);
    write_file(self, "arena", self->arena, (size_t)self->plan->arena_bytes);
    char *text = mem_printf(
        "cd '%s' && %s -L /usr/aarch64-linux-gnu ./driver ./code.so arena steps %d", self->dir,
        emulator, (int)(found - self->plan->program));
    command(text);
    free(text);
    size_t n = 0;
    char *arena = file_read(temp_path(self->dir, "arena"), &n, NULL);
    assert_true(arena && n == self->plan->arena_bytes);
    memcpy(self->arena, arena, n);
    free(arena);
}
