/* Drives Debian's chromium, without a window, by the commands on standard input, one a line: what
 * tests and scripts/screenshots look at pages with. Speaks the DevTools protocol over two pipes.
 *
 *   goto URL                open it and wait until it has loaded
 *   size WIDTH HEIGHT       of the window
 *   scheme light|dark       what the reader prefers
 *   motion reduce|no-preference
 *   wait EXPRESSION         until this JavaScript is true, 30 s at most
 *   print EXPRESSION        its value as text, on standard output
 *   key NAME                press Tab, Enter, ArrowRight ... or " "
 *   shot FILE [ID]          a PNG of the window, or of the whole element with this id
 *   clean                   fails when the page has complained: exceptions, errors, refused content
 *   forget                  what it complained of until now
 *   quit                    as the end of the input does
 *
 * Exit status: 0 all commands did well, 1 one did not (told on standard error), 3 no chromium. */
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

enum { LIMIT_MS = 30000, LIFE_S = 600, NO_BROWSER = 3 };

typedef struct {
    pid_t pid;
    int to, from;
    str_t in; /* what came and is not used yet */
    int number;
    char *session; /* of the page */
    char scheme[16], motion[16];
    bool loaded;      /* since `goto` */
    str_t complaints; /* of the page */
} browser_t;

/* --- messages: JSON with a NUL behind it --- */

static int say(browser_t *self, const char *method, json_t *params)
{
    json_t *message = json_pack("{s:i,s:s,s:o}", "id", ++self->number, "method", method, "params",
                                params ? params : json_object());
    if (self->session) json_object_set_new(message, "sessionId", json_string(self->session));
    char *text = json_dumps(message, JSON_COMPACT);
    size_t n = strlen(text) + 1, at = 0;
    for (ssize_t did; at < n && (did = write(self->to, text + at, n - at)) > 0;) at += (size_t)did;
    free(text);
    json_decref(message);
    return self->number;
}

/* What the page says by itself. */
static void notice(browser_t *self, const json_t *message)
{
    const char *method = json_string_value(json_object_get(message, "method"));
    const json_t *params = json_object_get(message, "params");
    if (!method) return;
    if (strcmp(method, "Page.loadEventFired") == 0) self->loaded = true;
    const char *level = json_string_value(
        json_object_get(json_object_get(params, "entry"), "level"));
    const char *type = json_string_value(json_object_get(params, "type"));
    bool bad = strcmp(method, "Runtime.exceptionThrown") == 0 ||
               (strcmp(method, "Log.entryAdded") == 0 && level && strcmp(level, "error") == 0) ||
               (strcmp(method, "Runtime.consoleAPICalled") == 0 && type &&
                strcmp(type, "error") == 0);
    if (!bad) return;
    char *text = json_dumps(params, JSON_COMPACT);
    str_addf(&self->complaints, "%.2000s\n", text);
    free(text);
}

/* One message, NULL at the end or when the time is up. Caller: json_decref. */
static json_t *hear(browser_t *self, int64_t deadline)
{
    const char *end;
    while (!self->in.n || !(end = memchr(self->in.at, '\0', self->in.n))) {
        char bytes[65536];
        struct pollfd p = {.fd = self->from, .events = POLLIN};
        int64_t left = deadline - clock_mono_ms();
        if (left <= 0 || poll(&p, 1, (int)left) <= 0) return NULL;
        ssize_t n = read(self->from, bytes, sizeof bytes);
        if (n <= 0) return NULL;
        str_addn(&self->in, bytes, (size_t)n);
    }
    size_t n = (size_t)(end - self->in.at) + 1;
    json_t *message = json_loadb(self->in.at, n - 1, 0, NULL);
    memmove(self->in.at, self->in.at + n, self->in.n - n);
    self->in.n -= n;
    return message ? message : json_object();
}

/* Say and wait for the result; NULL with `err`. Caller: json_decref. */
static json_t *call(browser_t *self, const char *method, json_t *params, err_t *err)
{
    int number = say(self, method, params);
    int64_t deadline = clock_mono_ms() + LIMIT_MS;
    json_t *message;
    while ((message = hear(self, deadline))) {
        if (json_integer_value(json_object_get(message, "id")) == number) break;
        notice(self, message);
        json_decref(message);
    }
    json_t *result = json_incref(json_object_get(message, "result"));
    if (!result) {
        char *why = message ? json_dumps(json_object_get(message, "error"), JSON_ENCODE_ANY) : NULL;
        err_set(err, ERR_NET, "%s: %.300s", method, why ? why : "no answer from the browser");
        free(why);
    }
    json_decref(message);
    return result;
}

static int tell(browser_t *self, const char *method, json_t *params, err_t *err)
{
    json_t *result = call(self, method, params, err);
    json_decref(result);
    return result ? 0 : -1;
}

/* --- the browser --- */

static int start(browser_t *self, const char *profile)
{
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0) return -1;
    char *dir = mem_printf("--user-data-dir=%s", profile);
    self->pid = fork();
    if (self->pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0), dup2(null, 1), dup2(null, 2);
        int in = fcntl(to[0], F_DUPFD, 10), out = fcntl(from[1], F_DUPFD, 10);
        dup2(in, 3), dup2(out, 4);
        close(in), close(out);
        setpgid(0, 0);
        execlp("chromium", "chromium", "--headless", "--remote-debugging-pipe", "--no-sandbox",
               "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
               "--disable-background-networking", "--force-device-scale-factor=1",
               "--font-render-hinting=none", dir, "about:blank", (char *)NULL);
        _exit(127);
    }
    free(dir);
    close(to[0]), close(from[1]);
    self->to = to[1], self->from = from[0];
    return self->pid > 0 ? 0 : -1;
}

/* A page of our own, with the news that we want. */
static int attach(browser_t *self, err_t *err)
{
    static const char *const news[] = {"Page.enable", "Runtime.enable", "Log.enable"};
    json_t *made = call(self, "Target.createTarget", json_pack("{s:s}", "url", "about:blank"), err);
    if (!made) return -1;
    json_t *attached = call(self, "Target.attachToTarget",
                            json_pack("{s:s,s:b}", "targetId",
                                      json_string_value(json_object_get(made, "targetId")),
                                      "flatten", 1),
                            err);
    const char *session = json_string_value(json_object_get(attached, "sessionId"));
    if (session) self->session = mem_strdup(session);
    json_decref(attached);
    json_decref(made);
    int rc = session ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < sizeof news / sizeof *news; i++)
        rc = tell(self, news[i], NULL, err);
    return rc;
}

/* --- commands --- */

/* The value as text: strings as they are, all else as JSON. NULL with `err`. Caller frees. */
static char *evaluate(browser_t *self, const char *expression, err_t *err)
{
    json_t *result = call(
        self, "Runtime.evaluate",
        json_pack("{s:s,s:b,s:b}", "expression", expression, "returnByValue", 1, "awaitPromise", 1),
        err);
    if (!result) return NULL;
    json_t *thrown = json_object_get(result, "exceptionDetails");
    json_t *value = json_object_get(json_object_get(result, "result"), "value");
    char *text = NULL;
    if (thrown) {
        char *why = json_dumps(thrown, JSON_COMPACT);
        err_set(err, ERR_STATE, "%.80s: %.400s", expression, why);
        free(why);
    } else if (json_is_string(value)) {
        text = mem_strdup(json_string_value(value));
    } else {
        text = value ? json_dumps(value, JSON_ENCODE_ANY) : mem_strdup("undefined");
    }
    json_decref(result);
    return text;
}

static int do_print(browser_t *self, const char *expression, err_t *err)
{
    char *text = evaluate(self, expression, err);
    if (text) puts(text);
    fflush(stdout);
    free(text);
    return text ? 0 : -1;
}

static int do_wait(browser_t *self, const char *expression, err_t *err)
{
    int64_t deadline = clock_mono_ms() + LIMIT_MS;
    char *boolean = mem_printf("Boolean(%s)", expression);
    int rc = 1;
    while (rc > 0) {
        char *text = evaluate(self, boolean, err);
        rc = !text ? -1 : strcmp(text, "true") != 0;
        free(text);
        if (rc > 0 && clock_mono_ms() > deadline)
            rc = err_set(err, ERR_STATE, "after %d s it is still not true: %s", LIMIT_MS / 1000,
                         expression);
        if (rc > 0) usleep(50000);
    }
    free(boolean);
    return rc;
}

static int do_goto(browser_t *self, const char *url, err_t *err)
{
    self->loaded = false;
    if (tell(self, "Page.navigate", json_pack("{s:s}", "url", url), err) < 0) return -1;
    int64_t deadline = clock_mono_ms() + LIMIT_MS;
    while (!self->loaded) {
        json_t *message = hear(self, deadline);
        if (!message) return err_set(err, ERR_NET, "%s does not load", url);
        notice(self, message);
        json_decref(message);
    }
    return 0;
}

static int do_size(browser_t *self, const char *text, err_t *err)
{
    int width, height;
    if (sscanf(text, "%d %d", &width, &height) != 2)
        return err_set(err, ERR_ARG, "size WIDTH HEIGHT");
    return tell(self, "Emulation.setDeviceMetricsOverride",
                json_pack("{s:i,s:i,s:i,s:b}", "width", width, "height", height,
                          "deviceScaleFactor", 1, "mobile", width < 600),
                err);
}

/* Both at a time: one call replaces what the one before said. */
static int prefer(browser_t *self, err_t *err)
{
    return tell(self, "Emulation.setEmulatedMedia",
                json_pack("{s:[{s:s,s:s},{s:s,s:s}]}", "features", "name", "prefers-color-scheme",
                          "value", self->scheme, "name", "prefers-reduced-motion", "value",
                          self->motion),
                err);
}

static int do_scheme(browser_t *self, const char *value, err_t *err)
{
    snprintf(self->scheme, sizeof self->scheme, "%s", value);
    return prefer(self, err);
}

static int do_motion(browser_t *self, const char *value, err_t *err)
{
    snprintf(self->motion, sizeof self->motion, "%s", value);
    return prefer(self, err);
}

static int do_key(browser_t *self, const char *key, err_t *err)
{
    static const struct {
        const char *key;
        int code;
    } codes[] = {{"Tab", 9},        {"Enter", 13},      {" ", 32},
                 {"ArrowLeft", 37}, {"ArrowRight", 39}, {"ArrowUp", 38},
                 {"ArrowDown", 40}, {"Home", 36},       {"End", 35}};
    int code = 0;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(codes[i].key, key) == 0) code = codes[i].code;
    const char *text = code == 13 ? "\r" : code == 32 ? " " : "";
    if (tell(self, "Input.dispatchKeyEvent",
             json_pack("{s:s,s:s,s:s,s:i,s:s}", "type", *text ? "keyDown" : "rawKeyDown", "key",
                       key, "code", code == 32 ? "Space" : key, "windowsVirtualKeyCode", code,
                       "text", text),
             err) < 0)
        return -1;
    return tell(
        self, "Input.dispatchKeyEvent",
        json_pack("{s:s,s:s,s:i}", "type", "keyUp", "key", key, "windowsVirtualKeyCode", code),
        err);
}

/* A box around the element, for the screenshot; NULL with `err`. */
static json_t *box_of(browser_t *self, const char *id, err_t *err)
{
    char *expression = mem_printf(
        "(() => { const b = document.getElementById('%s').getBoundingClientRect(); return "
        "JSON.stringify({x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: b.height, "
        "scale: 1}); })()",
        id);
    char *text = evaluate(self, expression, err);
    json_t *box = text ? json_loads(text, 0, NULL) : NULL;
    free(expression);
    free(text);
    return box;
}

static int do_shot(browser_t *self, const char *text, err_t *err)
{
    char file[512] = "", id[128] = "";
    if (sscanf(text, "%511s %127s", file, id) < 1) return err_set(err, ERR_ARG, "shot FILE [ID]");
    json_t *params = json_pack("{s:s,s:b}", "format", "png", "captureBeyondViewport", *id != '\0');
    json_t *box = *id ? box_of(self, id, err) : NULL;
    if (*id && !box) return -1;
    if (box) json_object_set_new(params, "clip", box);
    json_t *result = call(self, "Page.captureScreenshot", params, err);
    const char *data = json_string_value(json_object_get(result, "data"));
    size_t n = data ? strlen(data) : 0, n_bytes = 0;
    unsigned char *bytes = mem_calloc(n + 1, 1);
    int rc = data ? 0 : -1;
    if (rc == 0 && sodium_base642bin(bytes, n, data, n, NULL, &n_bytes, NULL,
                                     sodium_base64_VARIANT_ORIGINAL) != 0)
        rc = err_set(err, ERR_PARSE, "the browser's picture is no base64");
    if (rc == 0) rc = file_write_as(file, 0644, bytes, n_bytes, err);
    free(bytes);
    json_decref(result);
    return rc;
}

static int do_clean(browser_t *self, const char *text, err_t *err)
{
    (void)text;
    char *nothing = evaluate(self, "0", err); /* what was said until now is in */
    free(nothing);
    if (!nothing) return -1;
    return self->complaints.n == 0 ? 0
                                   : err_set(err, ERR_STATE, "the page complains: %.1500s",
                                             str_text(&self->complaints));
}

static int do_forget(browser_t *self, const char *text, err_t *err)
{
    (void)text;
    char *nothing = evaluate(self, "0", err);
    if (self->complaints.n > 0) str_fini(&self->complaints);
    self->complaints = (str_t){0};
    int rc = nothing ? 0 : -1;
    free(nothing);
    return rc;
}

static const struct {
    const char *name;
    int (*run)(browser_t *self, const char *text, err_t *err);
} commands[] = {{"goto", do_goto},     {"size", do_size}, {"scheme", do_scheme},
                {"motion", do_motion}, {"wait", do_wait}, {"print", do_print},
                {"key", do_key},       {"shot", do_shot}, {"clean", do_clean},
                {"forget", do_forget}};

static int obey(browser_t *self, char *line, err_t *err)
{
    line[strcspn(line, "\n")] = '\0';
    size_t n = strcspn(line, " ");
    const char *rest = line[n] ? line + n + 1 : "";
    if (n == 0 || *line == '#') return 0;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strlen(commands[i].name) == n && strncmp(line, commands[i].name, n) == 0)
            return commands[i].run(self, rest, err);
    return err_set(err, ERR_ARG, "there is no command \"%s\"", line);
}

static void stop(browser_t *self)
{
    free(self->session);
    self->session = NULL;
    say(self, "Browser.close", NULL);
    int status;
    for (int i = 0; i < 100 && waitpid(self->pid, &status, WNOHANG) == 0; i++) usleep(50000);
    kill(-self->pid, SIGKILL);
    waitpid(self->pid, &status, 0);
    str_fini(&self->in);
    str_fini(&self->complaints);
}

int main(void)
{
    browser_t self = {0};
    err_t err = {0};
    char *line = NULL;
    size_t space = 0;
    const char *tmp = getenv("TMPDIR");
    char *profile = mem_printf("%s/pcp-browse.XXXXXX", tmp ? tmp : "/tmp");
    signal(SIGPIPE, SIG_IGN);
    alarm(LIFE_S); /* who has forgotten us does not keep the browser */
    if (system("command -v chromium >/dev/null") != 0) {
        fprintf(stderr, "browse: chromium is not installed (scripts/setup --with-browser)\n");
        free(profile);
        return NO_BROWSER;
    }
    int rc = mkdtemp(profile) && start(&self, profile) == 0 ? 0 : -1;
    if (rc == 0) rc = attach(&self, &err);
    while (rc == 0 && getline(&line, &space, stdin) > 0 && strcmp(line, "quit\n") != 0)
        rc = obey(&self, line, &err);
    if (rc < 0) fprintf(stderr, "browse: %s\n", err.text);
    if (self.pid > 0) stop(&self);
    file_remove_tree(profile);
    free(line);
    free(profile);
    return rc < 0 ? 1 : 0;
}
