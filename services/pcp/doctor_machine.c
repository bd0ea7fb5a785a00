/* This machine: can plans be compiled, loaded and run here, and with what? */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/memory.h"
#include "base/scratch.h"
#include "codegen/c/compiler.h"
#include "codegen/target.h"
#include "pcp/doctor.h"
#include "runtime/blas.h"

static const double gib = 1 << 30;

static void check_compiler(const doctor_options_t *o, doctor_finding_t *f)
{
    (void)o;
    static const char *const unit = "int pcp_doctor(int x) { return x + 1; }\n";
    err_t err = {0};
    size_t n;
    uint8_t *code = compiler_run(NULL, 1, &unit, "", &n, &err);
    const char *named = getenv("PCP_CC");
    if (code)
        doctor_say(f, DOCTOR_WELL, "", "%s compiles", named && *named ? named : "cc");
    else
        doctor_say(f, DOCTOR_BAD,
                   "apt install gcc libc6-dev; PCP_CC names another compiler. Workers of a cluster "
                   "need none",
                   "%s", err.text);
    free(code);
}

static void check_cores(const doctor_options_t *o, doctor_finding_t *f)
{
    (void)o;
    int usable = cpus_count();
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (usable < online)
        doctor_say(f, DOCTOR_WARN, "",
                   "%d of %ld cores: the affinity mask or the container's quota leaves no more",
                   usable, online);
    else
        doctor_say(f, DOCTOR_WELL, "", "%d", usable);
}

static void check_target(const doctor_options_t *o, doctor_finding_t *f)
{
    (void)o;
    doctor_say(f, DOCTOR_WELL, "", "%s", target_host());
}

static void check_blas(const doctor_options_t *o, doctor_finding_t *f)
{
    (void)o;
    err_t err = {0};
    if (blas_open(target_host(), &err) == 0)
        doctor_say(f, DOCTOR_WELL, "", "OpenBLAS");
    else
        doctor_say(f, DOCTOR_BAD, "apt install libopenblas0", "%s", err.text);
}

/* "MemAvailable:  123 kB" in GiB; below 0: unknown. */
static double meminfo(const char *key)
{
    size_t n;
    char *text = file_read("/proc/meminfo", &n, NULL), *at = text ? strstr(text, key) : NULL;
    double found = at ? strtod(at + strlen(key), NULL) * 1024 / gib : -1;
    free(text);
    return found;
}

static void check_memory(const doctor_options_t *o, doctor_finding_t *f)
{
    (void)o;
    double available = meminfo("MemAvailable:"), total = meminfo("MemTotal:");
    double limit = (double)memory_bytes() / gib;
    bool limited = limit < total * 0.99, little = available >= 0 && fmin(available, limit) < 2;
    char container[64] = "";
    if (limited)
        snprintf(container, sizeof container, "; the container's limit leaves %.1f", limit);
    doctor_say(f, little ? DOCTOR_WARN : DOCTOR_WELL,
               little ? "end other programs, or start fewer workers" : "",
               "%.1f of %.1f GiB free%s", available, total, container);
}

static void check_huge_pages(const doctor_options_t *o, doctor_finding_t *f)
{
    (void)o;
    size_t n;
    char *text = file_read("/sys/kernel/mm/transparent_hugepage/enabled", &n, NULL);
    if (text && strstr(text, "[never]"))
        doctor_say(f, DOCTOR_WARN,
                   "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled", "never");
    else if (text)
        doctor_say(f, DOCTOR_WELL, "", "%s", strstr(text, "[always]") ? "always" : "on request");
    else
        doctor_say(f, DOCTOR_SKIPPED, "", "this kernel does not tell");
    free(text);
}

static void check_files(const doctor_options_t *o, doctor_finding_t *f)
{
    enum { FEW = 4096 };
    (void)o;
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    bool few = limit.rlim_max < FEW;
    doctor_say(
        f, few ? DOCTOR_WARN : DOCTOR_WELL,
        few ? "raise it (ulimit -Hn 65536, LimitNOFILE=): a shepherd needs one for each member"
            : "",
        "at most %llu", (unsigned long long)limit.rlim_max);
}

static void check_space(const char *dir, doctor_finding_t *f)
{
    enum { LITTLE = 2 };
    struct statvfs disk;
    scratch_t scratch = {0};
    err_t err = {0};
    if (scratch_make(&scratch, dir, "doctor", &err) < 0) {
        doctor_say(f, DOCTOR_BAD, "make it, or give this user the right to write there", "%s",
                   err.text);
        return;
    }
    scratch_remove(&scratch);
    double room = statvfs(dir, &disk) == 0 ? (double)disk.f_bavail * (double)disk.f_frsize / gib
                                           : 0;
    doctor_say(f, room < LITTLE ? DOCTOR_WARN : DOCTOR_WELL,
               room < LITTLE ? "make room: runs pause on a full disk" : "", "%.1f GiB free in %s",
               room, dir);
}

static void check_dir(const doctor_options_t *o, doctor_finding_t *f)
{
    check_space(o->dir, f);
}

static void check_temporary(const doctor_options_t *o, doctor_finding_t *f)
{
    (void)o;
    const char *dir = getenv("TMPDIR");
    check_space(dir && *dir ? dir : "/tmp", f);
}

static void check_clock(const doctor_options_t *o, doctor_finding_t *f)
{
    (void)o;
    struct timex clock = {0};
    int state = adjtimex(&clock);
    if (state < 0)
        doctor_say(f, DOCTOR_SKIPPED, "", "this kernel does not tell");
    else if (state == TIME_ERROR || (clock.status & STA_UNSYNC))
        doctor_say(f, DOCTOR_WARN,
                   "start a time service (systemd-timesyncd, chrony): records of several machines "
                   "are read side by side",
                   "nobody keeps it right");
    else
        doctor_say(f, DOCTOR_WELL, "", "kept right, to %.3f s", (double)clock.maxerror / 1e6);
}

/* Can a server listen there? errno-like: 0 yes. */
static int try_port(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    if (fd < 0) return errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    int rc = bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ? errno : 0;
    close(fd);
    return rc;
}

static void check_ports(const doctor_options_t *o, doctor_finding_t *f)
{
    char taken[DOCTOR_TEXT / 2] = "";
    size_t n = 0;
    for (const char *at = o->ports; at && *at;) {
        char *end;
        long port = strtol(at, &end, 10);
        if (end == at || port < 1 || port > 65535 || (*end && *end != ',')) {
            doctor_say(f, DOCTOR_BAD, "say numbers of 1 to 65535, with commas between them",
                       "--ports %s", o->ports);
            return;
        }
        int why = try_port((int)port);
        if (why && n < sizeof taken)
            n += (size_t)snprintf(taken + n, sizeof taken - n, "%s%ld (%s)", n ? ", " : "", port,
                                  strerror(why));
        at = *end ? end + 1 : end;
    }
    if (!o->ports || !*o->ports)
        doctor_say(f, DOCTOR_SKIPPED, "", "--ports names none");
    else if (n)
        doctor_say(f, DOCTOR_WARN,
                   "fine where PCP's own services have them; else end who has them (ss -ltnp), or "
                   "--bind elsewhere",
                   "taken: %s", taken);
    else
        doctor_say(f, DOCTOR_WELL, "", "%s are free", o->ports);
}

const doctor_row_t doctor_machine[] = {
    {"C compiler", check_compiler}, {"target", check_target}, {"BLAS", check_blas},
    {"cores", check_cores},         {"memory", check_memory}, {"huge pages", check_huge_pages},
    {"open files", check_files},    {"disk", check_dir},      {"temporary disk", check_temporary},
    {"clock", check_clock},         {"ports", check_ports},   {NULL, NULL},
};
