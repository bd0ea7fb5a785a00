/* Numbers, times and details as texts. */
#include "pcp/top_text.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void top_loss(double value, char text[32])
{
    if (!isfinite(value))
        snprintf(text, 32, TOP_NONE);
    else
        snprintf(text, 32, fabs(value) < 1e6 ? "%.4f" : "%.3g", value);
}

void top_count(double value, char text[32])
{
    static const struct {
        double step;
        const char *letter;
    } steps[] = {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}, {1, ""}};
    enum { N = sizeof steps / sizeof *steps };
    size_t i = 0;
    if (!isfinite(value)) {
        snprintf(text, 32, TOP_NONE);
        return;
    }
    while (i + 1 < N && fabs(value) < steps[i].step) i++;
    snprintf(text, 32, "%.4g%s", value / steps[i].step, steps[i].letter);
}

void top_age(double ms, char text[32])
{
    if (!(ms >= 0) || ms > 1e15) {
        snprintf(text, 32, TOP_NONE);
        return;
    }
    long long s = (long long)(ms / 1000);
    if (s < 60)
        snprintf(text, 32, "%llds", s);
    else if (s < 3600)
        snprintf(text, 32, "%lldm%02llds", s / 60, s % 60);
    else if (s < 86400)
        snprintf(text, 32, "%lldh%02lldm", s / 3600, s / 60 % 60);
    else
        snprintf(text, 32, "%lldd", s / 86400);
}

int64_t top_time_ms(const char *iso)
{
    struct tm t = {0};
    int ms = 0;
    if (!iso || sscanf(iso, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ", &t.tm_year, &t.tm_mon, &t.tm_mday,
                       &t.tm_hour, &t.tm_min, &t.tm_sec, &ms) != 7)
        return -1;
    t.tm_year -= 1900, t.tm_mon--;
    return (int64_t)timegm(&t) * 1000 + ms;
}

void top_clock(int64_t ms, char text[32])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm local;
    if (ms < 0 || !localtime_r(&seconds, &local))
        snprintf(text, 32, TOP_NONE);
    else
        strftime(text, 32, "%H:%M:%S", &local);
}

/* One of the details, ", " before it if it is not the first. Who it is about stands in a column. */
static void add_detail(str_t *out, const char *key, const json_t *value)
{
    if (json_is_null(value) || strcmp(key, "member") == 0 || strcmp(key, "worker") == 0) return;
    if (json_is_string(value) && !*json_string_value(value)) return;
    if (out->n) str_add(out, ", ");
    if (strcmp(key, "reason") != 0 && strcmp(key, "text") != 0) str_addf(out, "%s ", key);
    if (json_is_string(value)) {
        str_add(out, json_string_value(value));
        return;
    }
    char *plain = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
    if (plain) str_add(out, plain);
    free(plain);
}

void top_detail(str_t *out, const char *json)
{
    json_t *all = json ? json_loads(json, JSON_DECODE_ANY, NULL) : NULL;
    const char *key;
    json_t *value;
    if (json && !json_is_object(all)) str_add(out, json);
    json_object_foreach(all, key, value) add_detail(out, key, value);
    json_decref(all);
}
