/* Vectors as JSON. */
#include "serve/embeddings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void embeddings_normalise(float *vector, size_t width)
{
    double sum = 0;
    for (size_t i = 0; i < width; i++) sum += (double)vector[i] * vector[i];
    for (size_t i = 0; i < width && sum > 0; i++) vector[i] = (float)(vector[i] / sqrt(sum));
}

/* RFC 4648, with padding. */
static void add_base64(str_t *out, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        unsigned three = (unsigned)bytes[i] << 16;
        if (i + 1 < n) three |= (unsigned)bytes[i + 1] << 8;
        if (i + 2 < n) three |= bytes[i + 2];
        char text[4] = {digits[three >> 18], digits[three >> 12 & 63], digits[three >> 6 & 63],
                        digits[three & 63]};
        if (i + 1 >= n) text[2] = '=';
        if (i + 2 >= n) text[3] = '=';
        str_addn(out, text, 4);
    }
}

static void add_vector(str_t *out, const float *vector, size_t width, bool base64)
{
    if (!base64) {
        for (size_t i = 0; i < width; i++)
            str_addf(out, "%s%.9g", i == 0 ? "[" : ",", (double)vector[i]);
        str_add(out, "]");
        return;
    }
    unsigned char *bytes = mem_calloc(width + 1, 4);
    for (size_t i = 0; i < width; i++) {
        uint32_t bits;
        memcpy(&bits, &vector[i], sizeof bits);
        for (size_t k = 0; k < 4; k++) bytes[4 * i + k] = (unsigned char)(bits >> 8 * k);
    }
    str_add(out, "\"");
    add_base64(out, bytes, 4 * width);
    str_add(out, "\"");
    free(bytes);
}

void embeddings_answer(const char *model, float *const *vectors, size_t n, size_t width,
                       bool base64, answer_usage_t usage, str_t *out)
{
    str_add(out, "{\"object\":\"list\",\"data\":[");
    for (size_t i = 0; i < n; i++) {
        str_addf(out, "%s{\"object\":\"embedding\",\"index\":%zu,\"embedding\":", i ? "," : "", i);
        add_vector(out, vectors[i], width, base64);
        str_add(out, "}");
    }
    json_t *name = json_string(model);
    char *quoted = json_dumps(name, JSON_ENCODE_ANY);
    str_addf(out, "],\"model\":%s,\"usage\":{\"prompt_tokens\":%lld,\"total_tokens\":%lld}}",
             quoted, (long long)usage.prompt, (long long)usage.prompt);
    free(quoted);
    json_decref(name);
}
