/* Runners: a hand-made plan whose one kernel tries what the mode says, from inside a runner's cage. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cage.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "codegen/target.h"
#include "runtime/exec.h"
#include "runtime/runner.h"

#define MODES(X)                                                                           \
    X(ADDS, "in[1] + 1")                                                                   \
    X(READS_PASSWORDS, "outcome(open(\"/etc/passwd\", O_RDONLY))")                         \
    X(READS_MEMORY, "outcome(open(\"/proc/self/mem\", O_RDWR))")                           \
    X(WRITES_FILE, "outcome(open(\"/tmp/pcp-runner-spoiled\", O_WRONLY | O_CREAT, 0600))") \
    X(OPENS_SOCKET, "outcome(socket(AF_INET, SOCK_STREAM, 0))")                            \
    X(OPENS_UNIX, "outcome(socket(AF_UNIX, SOCK_STREAM, 0))")                              \
    X(FORKS, "outcome(fork())")                                                            \
    X(MAKES_THREAD, "pthread_create(&thread, 0, idle, 0)")                                 \
    X(EXECS, "outcome(execve(\"/bin/true\", argv, argv))")                                 \
    X(PEEKS, "outcome(process_vm_readv(getppid(), &at, 1, &at, 1, 0))")                    \
    X(KILLS_PARENT, "outcome(kill(getppid(), 0))")                                         \
    X(MAKES_MEMORY_FILE, "outcome(memfd_create(\"x\", 0))")                                \
    X(GROWS_WINDOW, "outcome(ftruncate(3, 1 << 30))")                                      \
    X(READS_CLOCK, "time(0) > 1000 ? 0 : EPERM")                                           \
    X(FILLS_MEMORY, "fill()")                                                              \
    X(SPEAKS, "dprintf(2, \"I am \\033[1mhere\\nevent=forged\\n\")")                       \
    X(CRASHES, "*(volatile int64_t *)8")                                                   \
    X(ABORTS, "(abort(), 0)")                                                              \
    X(EXITS, "(_exit(3), 0)")                                                              \
    X(HANGS, "hang()")                                                                     \
    X(CHATTERS, "chatter()")                                                               \
    X(HANGS_UP, "hang_up()")

#define NAME(name, text) name,
enum { MODES(NAME) N_MODE };
#define ROW(name, text) "case " #name ": return " text ";\n"
#define WORD(name, text) #name ","
static const char source[] =
    "#include <errno.h>\n#include <fcntl.h>\n#include <pthread.h>\n#include <signal.h>\n"
    "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
    "#include <sys/mman.h>\n#include <sys/socket.h>\n#include <sys/uio.h>\n#include <time.h>\n"
    "#include <unistd.h>\n"
    "enum {" MODES(WORD) "};\n"
                         "static pthread_t thread;\n"
                         "static char *const argv[] = {\"/bin/true\", 0};\n"
                         "static struct iovec at = {&thread, sizeof thread};\n"
                         "static void *idle(void *x) { return x; }\n"
                         "static int64_t outcome(long rc) { return rc < 0 ? errno : 0; }\n"
                         "static int64_t hang(void) { for (volatile int i = 0;; i++) continue; }\n"
                         /* MiB that it got, up to 16 GiB */
                         "static int64_t fill(void) {\n"
                         "    for (int64_t n = 0; n < 16384; n++)\n"
                         "        if (mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | "
                         "MAP_ANONYMOUS, -1, 0) ==\n"
                         "            MAP_FAILED) return n;\n"
                         "    return 16384;\n"
                         "}\n"
                         "static int64_t chatter(void) {\n"
                         "    char text[100] = {0};\n"
                         "    for (int fd = 3; fd < 20; fd++) if (write(fd, text, sizeof text) > "
                         "0) continue;\n"
                         "    return 0;\n"
                         "}\n"
                         "static int64_t hang_up(void) { for (int fd = 3; fd < 20; fd++) "
                         "close(fd); return hang(); }\n"
                         "static int64_t act(const int64_t *in) {\n"
                         "    switch (in[0]) {\n" MODES(
                             ROW) "    }\n"
                                  "    return -1;\n"
                                  "}\n"
                                  "void act_all(char *arena, const int64_t *arg, int64_t begin, "
                                  "int64_t end) {\n"
                                  "    (void)begin, (void)end;\n"
                                  "    *(int64_t *)(arena + arg[1]) = act((const int64_t *)(arena "
                                  "+ arg[0]));\n"
                                  "}\n"
                                  "";

static uint8_t *code;
static size_t n_code;
static runners_t *runners;

static int compile(void **state)
{
    char dir[] = "/tmp/pcp-runner-test-XXXXXX", command[256], path[64];
    err_t err = {0};
    (void)state;
    if (!mkdtemp(dir)) return -1;
    snprintf(command, sizeof command,
             "cc -w -D_GNU_SOURCE -std=gnu11 -O1 -shared -fPIC -x c -o %s/k.so -", dir);
    snprintf(path, sizeof path, "%s/k.so", dir);
    FILE *cc = popen(command, "w");
    fputs(source, cc);
    if (pclose(cc) != 0) return -1;
    code = (uint8_t *)file_read(path, &n_code, &err);
    unlink(path);
    rmdir(dir);
    runners = runners_start(&err);
    if (!runners) printf("# no runners: %s\n", err.text);
    return code ? 0 : -1;
}

static int finish(void **state)
{
    (void)state;
    runners_stop(&runners);
    free(code);
    return 0;
}

/* --- The plan: "act" runs the kernel, "multiply" a product of the BLAS --- */

enum { SIDE = 192, LARGE = 3 << 20, OFFSET_A = 4096, MATRIX = SIDE * SIDE * 4 };

typedef struct {
    plan_tensor_t tensor[6];
    int64_t arg[2];
    plan_step_t act, multiply;
    uint32_t used[6];
    plan_program_t program[2];
    char *kernel[1];
    plan_t plan;
} acts_t;

static plan_tensor_t tensor(const char *name, plan_role_t role, dtype_t dtype, int64_t n,
                            uint64_t offset)
{
    ir_type_t type = ir_type(dtype, 1, &n);
    return (plan_tensor_t){(char *)name, role, type, offset, (uint64_t)ir_type_bytes(&type)};
}

static const plan_t *acts(acts_t *p)
{
    *p = (acts_t){
        .tensor = {tensor("in", ROLE_BATCH, DT_I64, 2, 0),
                   tensor("out", ROLE_RESULT, DT_I64, 1, 64),
                   tensor("a", ROLE_PARAM, DT_F32, SIDE * SIDE, OFFSET_A),
                   tensor("b", ROLE_STATE, DT_F32, SIDE * SIDE, OFFSET_A + MATRIX),
                   tensor("c", ROLE_RESULT, DT_F32, SIDE * SIDE, OFFSET_A + 2 * MATRIX),
                   tensor("large", ROLE_PARAM, DT_F32, LARGE / 4, OFFSET_A + 3 * MATRIX)},
        .arg = {0, 64},
        .used = {0, 1, 2, 3, 4, 5},
        .kernel = {"act_all"},
    };
    p->act = (plan_step_t){.kind = STEP_KERNEL,
                           .kernel = {.extent = 1, .grain = 1, .n_arg = 2, .arg = p->arg}};
    p->multiply = (plan_step_t){.kind = STEP_GEMM,
                                .gemm = {.dtype = DT_F32,
                                         .batch = 1,
                                         .inner = 1,
                                         .m = SIDE,
                                         .n = SIDE,
                                         .k = SIDE,
                                         .a = OFFSET_A,
                                         .b = OFFSET_A + MATRIX,
                                         .c = OFFSET_A + 2 * MATRIX,
                                         .lda = SIDE,
                                         .ldb = SIDE,
                                         .ldc = SIDE}};
    p->program[0] = (plan_program_t){
        .name = "act", .n_step = 1, .step = &p->act, .n_tensor = 2, .tensor = p->used};
    p->program[1] = (plan_program_t){.name = "multiply",
                                     .n_step = 1,
                                     .step = &p->multiply,
                                     .n_tensor = 3,
                                     .tensor = p->used + 2};
    p->plan = (plan_t){.target = (char *)target_host(),
                       .module_hash = "",
                       .spec = "",
                       .accumulate = 1,
                       .arena_bytes = OFFSET_A + 3 * MATRIX + LARGE,
                       .alignment = 64,
                       .n_tensor = 6,
                       .n_program = 2,
                       .n_kernel = 1,
                       .tensor = p->tensor,
                       .program = p->program,
                       .kernel_name = p->kernel,
                       .code = code,
                       .n_code = n_code};
    p->plan.fixed_bytes = p->plan.arena_bytes;
    return &p->plan;
}

static exec_t *open_in(const plan_t *plan, runners_t *where, bool (*stopped)(void *))
{
    err_t err = {0};
    const exec_options_t options = {.threads = 2, .runners = where, .stopped = stopped};
    exec_t *exec = exec_new(plan, &options, &err);
    if (!exec) fail_msg("%s", err.text);
    return exec;
}

static int act(exec_t *exec, int64_t mode, int64_t *out, err_t *err)
{
    const int64_t in[2] = {mode, 41};
    *out = -2;
    if (exec_write(exec, 0, in, sizeof in, err) < 0 || exec_run(exec, "act", err) < 0) return -1;
    return exec_read(exec, 1, out, sizeof *out, err);
}

/* --- Tests --- */

static void need_runners(bool caged)
{
    if (!runners || (caged && !runners_caged(runners))) skip();
}

/* The same bytes and bits as in this process, in a process of its own. */
static void computes(void **state)
{
    (void)state;
    need_runners(false);
    acts_t p;
    int64_t out = 0;
    float *c[2];
    char *large = mem_calloc(LARGE, 1), *back = mem_calloc(LARGE, 1);
    for (size_t i = 0; i < LARGE; i++) large[i] = (char)(i * 7 + i / 1000);
    for (int s = 0; s < 2; s++) {
        exec_t *exec = open_in(acts(&p), s ? runners : NULL, NULL);
        float *a = mem_calloc(MATRIX, 1);
        for (int i = 0; i < SIDE * SIDE; i++) a[i] = (float)(i % 37) / 8 - 2;
        c[s] = mem_calloc(MATRIX, 1);
        assert_int_equal(act(exec, ADDS, &out, NULL), 0);
        assert_int_equal(out, 42);
        assert_int_equal(exec_write(exec, 2, a, MATRIX, NULL), 0);
        assert_int_equal(exec_write(exec, 3, a, MATRIX, NULL), 0);
        assert_int_equal(exec_run(exec, "multiply", NULL), 0);
        assert_int_equal(exec_read(exec, 4, c[s], MATRIX, NULL), 0);
        assert_int_equal(exec_write(exec, 5, large, LARGE, NULL), 0); /* several windows long */
        assert_int_equal(exec_read(exec, 5, back, LARGE, NULL), 0);
        assert_memory_equal(large, back, LARGE);
        assert_int_equal(exec_zero(exec, ROLE_STATE, NULL), 0);
        assert_int_equal(exec_read(exec, 3, a, MATRIX, NULL), 0);
        for (int i = 0; i < SIDE * SIDE; i++) assert_true(a[i] == 0);
        err_t err = {0};
        assert_int_equal(exec_run(exec, "absent", &err), -1);
        assert_int_equal(err.code, ERR_ARG);
        free(a);
        exec_destroy(&exec);
    }
    assert_memory_equal(c[0], c[1], MATRIX);
    assert_int_equal(runners_refusals(runners, NULL), 0); /* what computes asks for nothing else */
    for (int s = 0; s < 2; s++) free(c[s]);
    free(large);
    free(back);
}

static void refused(void **state)
{
    static const int modes[] = {READS_PASSWORDS, READS_MEMORY, WRITES_FILE,  OPENS_SOCKET,
                                OPENS_UNIX,      FORKS,        MAKES_THREAD, EXECS,
                                PEEKS,           KILLS_PARENT, GROWS_WINDOW, MAKES_MEMORY_FILE};
    (void)state;
    need_runners(true);
    acts_t p;
    exec_t *exec = open_in(acts(&p), runners, NULL);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        int64_t out = 0;
        uint64_t before = runners_refusals(runners, NULL);
        assert_int_equal(act(exec, modes[i], &out, NULL), 0);
        if (out != EPERM) fail_msg("mode %d: %d, want EPERM", modes[i], (int)out);
        assert_true(runners_refusals(runners, NULL) > before);
    }
    int64_t out = 0;
    assert_int_equal(act(exec, READS_CLOCK, &out, NULL), 0);
    assert_int_equal(out, 0);
    assert_int_equal(act(exec, ADDS, &out, NULL), 0); /* it lives */
    assert_int_equal(out, 42);
    exec_destroy(&exec);
    assert_int_equal(access("/tmp/pcp-runner-spoiled", F_OK), -1);
}

static void memory_is_bounded(void **state)
{
    (void)state;
    need_runners(true);
    acts_t p;
    int64_t mib = 0;
    int call = 0;
    uint64_t before = runners_refusals(runners, NULL);
    exec_t *exec = open_in(acts(&p), runners, NULL);
    assert_int_equal(act(exec, FILLS_MEMORY, &mib, NULL), 0);
    assert_in_range(mib, 1, 3 * 256);
    assert_int_equal(act(exec, ADDS, &mib, NULL), 0); /* it still holds it, which is no news */
    assert_int_equal(runners_refusals(runners, &call), before + 1);
    assert_int_equal(call, SYS_mmap);
    exec_destroy(&exec);
}

static bool is_impatient(void *user)
{
    (void)user;
    return true;
}

static void look_lost(int mode, bool (*stopped)(void *), const char *want)
{
    acts_t p;
    int64_t out = 0;
    err_t err = {0};
    exec_t *exec = open_in(acts(&p), runners, stopped);
    int pid = runners_last(runners);
    assert_int_equal(act(exec, mode, &out, &err), -1);
    if (err.code != ERR_CRASH || !strstr(err.text, want))
        fail_msg("mode %d: %d %s, want %s", mode, (int)err.code, err.text, want);
    err = (err_t){0};
    assert_int_equal(act(exec, ADDS, &out, &err), -1); /* it stays lost */
    assert_int_equal(err.code, ERR_CRASH);
    assert_int_equal(kill(pid, 0), -1);
    exec_destroy(&exec);
    exec = open_in(&p.plan, runners, NULL); /* and the next has a fresh one */
    assert_int_equal(act(exec, ADDS, &out, NULL), 0);
    assert_int_equal(out, 42);
    exec_destroy(&exec);
}

static void ends(void **state)
{
    (void)state;
    need_runners(true);
    look_lost(CRASHES, NULL, "signal 11");
    look_lost(ABORTS, NULL, "signal 6");
    look_lost(EXITS, NULL, "status 3");
    look_lost(CHATTERS, NULL, "out of turn");
    look_lost(HANGS, is_impatient, "stopped");
    look_lost(HANGS_UP, NULL, "signal 9");
}

static void speaks(void **state)
{
    (void)state;
    need_runners(true);
    acts_t p;
    int64_t out = 0;
    exec_t *exec = open_in(acts(&p), runners, NULL);
    assert_int_equal(act(exec, SPEAKS, &out, NULL), 0); /* and nobody waits for a reader */
    for (int i = 0; i < 4000; i++) assert_int_equal(act(exec, SPEAKS, &out, NULL), 0);
    exec_destroy(&exec);
}

/* A plan that cannot be loaded: the reason as without a runner. */
static void reasons(void **state)
{
    (void)state;
    need_runners(false);
    acts_t p;
    err_t err = {0};
    acts(&p);
    p.kernel[0] = "absent";
    assert_null(exec_new(&p.plan, &(exec_options_t){.threads = 1, .runners = runners}, &err));
    assert_int_equal(err.code, ERR_CORRUPT);
    assert_non_null(strstr(err.text, "absent"));
    acts(&p);
    err = (err_t){0};
    assert_null(exec_new(
        &p.plan, &(exec_options_t){.threads = 1, .runners = runners, .memory_limit = 4096}, &err));
    assert_int_equal(err.code, ERR_MEMORY);
}

static bool lives(int pid)
{
    char *path = mem_printf("/proc/%d/stat", pid);
    char *text = file_read(path, &(size_t){0}, NULL), state = 'Z';
    const char *at = text ? strrchr(text, ')') : NULL;
    if (at) state = at[2];
    free(path);
    free(text);
    return state != 'Z';
}

/* In a process that is killed: nothing of it stays. */
static void die_with_their_owner(void **state)
{
    (void)state;
    need_runners(false);
    int ends[2], pid = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        acts_t p;
        err_t err = {0};
        int64_t out;
        runners_t *own = runners_start(&err);
        const exec_options_t options = {.threads = 1, .runners = own};
        exec_t *exec = own ? exec_new(acts(&p), &options, &err) : NULL;
        pid = own ? runners_last(own) : -1;
        if (!exec || write(ends[1], &pid, sizeof pid) != sizeof pid) _exit(1);
        act(exec, HANGS, &out, NULL);
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &pid, sizeof pid), sizeof pid);
    close(ends[0]);
    assert_true(pid > 0 && lives(pid));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    for (double end = clock_mono_s() + 30; lives(pid) && clock_mono_s() < end;) usleep(1000);
    assert_false(lives(pid));
}

int main(int argc, char **argv)
{
    runners_main(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computes),
        cmocka_unit_test(refused),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(ends),
        cmocka_unit_test(speaks),
        cmocka_unit_test(reasons),
        cmocka_unit_test(die_with_their_owner),
    };
    return cmocka_run_group_tests(tests, compile, finish);
}
