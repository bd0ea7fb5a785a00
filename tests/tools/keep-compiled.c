/* keep-compiled: stands before a compiler on PATH, under its name, and keeps what it makes of a plan's code beside
 * itself: tests compile the same kernels again and again, and most of a processor's time goes there.
 *
 *   cc FLAGS -c -o OUT .../kN.c        (codegen/c/compiler.c)
 *   g++ FLAGS -include SHIM -shared -o OUT N.cu    (cuda-emulated/compile; N.hip, too)
 *   glslc FLAGS N.comp N.comp ...      (codegen/batch.c), each file's .spv beside it
 *
 * What the same compiler made of the same bytes with the same flags is copied; who asks while another makes it waits
 * for that one. Any other command line, and any trouble, is the compiler's own business. Such code includes headers of
 * the system alone, but for those beside SHIM, which count as its own bytes. scripts/test keeps results of another
 * compiler, or processor, apart. */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"

enum { MAX_PATH = 4096 };

/* The next program of our name on PATH that is not this one; argv[0] afterwards, so that it finds its own parts. */
static char *find_real(const char *name)
{
    struct stat own, other;
    char *path = mem_strdup(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin"), *rest = NULL;
    char *found = NULL;
    if (stat("/proc/self/exe", &own) < 0) memset(&own, 0, sizeof own);
    for (char *dir = strtok_r(path, ":", &rest); dir && !found; dir = strtok_r(NULL, ":", &rest)) {
        char *at = mem_printf("%s/%s", dir, name);
        bool is_it = stat(at, &other) == 0 && S_ISREG(other.st_mode) && access(at, X_OK) == 0 &&
                     (other.st_dev != own.st_dev || other.st_ino != own.st_ino);
        if (is_it)
            found = at;
        else
            free(at);
    }
    free(path);
    return found;
}

/* "7.comp", ".../k7.c": named as plans' sources are. */
static bool is_source(const char *word, const char *end)
{
    const char *base = strrchr(word, '/');
    base = base ? base + 1 : word;
    if (*base == 'k') base++;
    size_t n = strspn(base, "0123456789");
    return n > 0 && strcmp(base + n, end) == 0;
}

static bool add_file(hash_stream_t *hash, const char *path)
{
    size_t n = 0;
    char *text = file_read(path, &n, NULL);
    if (text) hash_stream_add(hash, text, n);
    free(text);
    return text != NULL;
}

static int is_header(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');
    return end && strcmp(end, ".h") == 0;
}

/* All headers that lie where `shim` does, by name; which folder that is does not count. */
static bool add_headers(hash_stream_t *hash, const char *shim)
{
    const char *slash = strrchr(shim, '/');
    char *dir = slash ? mem_printf("%.*s", (int)(slash - shim), shim) : mem_strdup(".");
    struct dirent **names = NULL;
    int n = scandir(dir, &names, is_header, alphasort);
    bool read = n > 0;
    for (int i = 0; i < n; i++) {
        char *path = mem_printf("%s/%s", dir, names[i]->d_name);
        read = read && add_file(hash, path);
        free(path);
        free(names[i]);
    }
    free(names);
    free(dir);
    return read;
}

/* Where the result of one source with these flags is kept: DIR/HASH; NULL: something cannot be read. shim may be NULL. */
static char *place_of(const char *dir, const char *real, char **flags, int n_flag, const char *shim,
                      const char *source)
{
    char hex[HASH_HEX];
    hash_stream_t *hash = hash_stream_new();
    hash_stream_add(hash, real, strlen(real) + 1);
    for (int i = 0; i < n_flag; i++) hash_stream_add(hash, flags[i], strlen(flags[i]) + 1);
    bool read = (!shim || add_headers(hash, shim)) && add_file(hash, source);
    hash_stream_finish(&hash, hex);
    return read ? mem_printf("%s/%s", dir, hex) : NULL;
}

static bool copy(const char *from, const char *to)
{
    size_t n = 0;
    char *bytes = file_read(from, &n, NULL), *part = mem_printf("%s.%d", to, (int)getpid());
    int fd = bytes ? open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
    bool done = fd >= 0 && file_write_all(fd, bytes, n, part, NULL) == 0;
    if (fd >= 0 && close(fd) < 0) done = false;
    if (fd >= 0 && (!done || rename(part, to) < 0)) {
        unlink(part);
        done = false;
    }
    free(bytes);
    free(part);
    return done;
}

/* Run the compiler and wait; its exit status. */
static int run(const char *real, char **argv)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        execv(real, argv);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0) return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* One source to one result, from what is kept or by the compiler, with `argv`. */
static int make_one(const char *real, char **argv, const char *place, const char *out)
{
    char *guard = mem_printf("%s.lock", place);
    int lock = open(guard, O_RDWR | O_CREAT | O_CLOEXEC, 0644), status = 0;
    if (lock >= 0) (void)flock(lock, LOCK_EX);
    if (copy(place, out)) {
        (void)utimensat(AT_FDCWD, place, NULL, 0); /* when it was last asked for */
    } else {
        status = run(real, argv);
        if (status == 0) (void)copy(out, place);
    }
    if (lock >= 0) close(lock);
    free(guard);
    return status;
}

/* cc, g++: words but the result's, the shim's and the source's names are flags. -1: not a command line of ours. */
static int as_cc(const char *dir, const char *real, int argc, char **argv)
{
    char **flags = mem_calloc((size_t)argc, sizeof *flags);
    char *out = NULL, *source = NULL, *shim = NULL, *place = NULL;
    int n = 0, n_source = 0, status = -1;
    bool compiles = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "-o") == 0 && i + 1 < argc)
            out = argv[++i];
        else if (strcmp(word, "-include") == 0 && i + 1 < argc)
            shim = argv[++i];
        else if (is_source(word, ".c") || is_source(word, ".cu") || is_source(word, ".hip"))
            source = argv[i], n_source++;
        else
            flags[n++] = argv[i];
        compiles = compiles || strcmp(word, "-c") == 0 || strcmp(word, "-shared") == 0;
    }
    if (compiles && out && n_source == 1) place = place_of(dir, real, flags, n, shim, source);
    if (place) status = make_one(real, argv, place, out);
    free(place);
    free(flags);
    return status;
}

/* glslc: the words that are sources come last. Each is made by itself: the compiler starts within milliseconds. */
static int as_glslc(const char *dir, const char *real, int argc, char **argv)
{
    int n_flag = 1, status = 0;
    while (n_flag < argc && !is_source(argv[n_flag], ".comp")) n_flag++;
    for (int i = n_flag; i < argc; i++)
        if (!is_source(argv[i], ".comp")) return -1;
    if (n_flag == argc) return -1;
    char **words = mem_calloc((size_t)n_flag + 2, sizeof *words);
    memcpy(words, argv, (size_t)n_flag * sizeof *words);
    for (int i = n_flag; status == 0 && i < argc; i++) {
        char *place = place_of(dir, real, argv + 1, n_flag - 1, NULL, argv[i]);
        char *out = mem_printf("%s.spv", argv[i]);
        words[n_flag] = argv[i];
        status = place ? make_one(real, words, place, out) : run(real, words);
        free(out);
        free(place);
    }
    free(words);
    return status;
}

int main(int argc, char **argv)
{
    char dir[MAX_PATH];
    const char *name = strrchr(argv[0], '/');
    name = name ? name + 1 : argv[0];
    ssize_t n = readlink("/proc/self/exe", dir, sizeof dir - 1);
    char *real = find_real(name);
    if (!real) {
        fprintf(stderr, "keep-compiled: there is no %s on PATH but this one: install it\n", name);
        return 127;
    }
    argv[0] = real;
    int status = -1;
    if (n > 0) {
        dir[n] = '\0';
        *strrchr(dir, '/') = '\0';
        status = strcmp(name, "glslc") == 0 ? as_glslc(dir, real, argc, argv)
                                            : as_cc(dir, real, argc, argv);
    }
    if (status < 0) execv(real, argv);
    free(real);
    return status < 0 ? 127 : status;
}
