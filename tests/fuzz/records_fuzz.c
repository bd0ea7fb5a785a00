/* Fuzz target: the files of records: archives and their members, headers of arrays, the schema. The
 * first byte says which. What is accepted lies inside the bytes, and is as large as it says. */
#include "data/npy.h"
#include "data/record_schema.h"
#include "data/zip.h"

#include "fuzz.h"

static void read_array(const uint8_t *data, size_t n)
{
    err_t err = {0};
    ir_type_t type;
    const void *at;
    if (npy_view(data, n, &type, &at, &err) < 0) return;
    const uint8_t *from = at;
    if (from < data || from + ir_type_bytes(&type) > data + n) broken("inside the file", "npy");
}

/* Piece by piece a member is the same, and as good or bad. */
static void read_pieces(const zip_member_t *m, const uint8_t *whole, size_t n, bool good)
{
    err_t err = {0};
    zip_stream_t *stream = zip_stream_new(m, &err);
    uint8_t *to = malloc(n + 1);
    int rc = stream ? 0 : -1;
    for (size_t at = 0, some = 1; rc == 0 && (at < n || some == 1);
         at += some, some = 3 * some + 1) {
        if (some > n - at) some = n - at;
        rc = zip_stream_read(stream, to + at, some, &err);
        if (zip_stream_packed(stream) > m->n_packed) broken("inside the member", m->name);
        if (some == 0) break;
    }
    if ((rc == 0) != good) broken("pieces are as good as the whole", m->name);
    if (good && memcmp(to, whole, n) != 0) broken("pieces are the whole", m->name);
    zip_stream_close(&stream);
    free(to);
}

static void read_archive(const uint8_t *data, size_t n)
{
    enum { MOST = 1 << 20 };
    err_t err = {0};
    zip_t *zip = zip_view(data, n, &err);
    if (!zip && err.code == ERR_OK) broken("an error says so", "zip");
    for (size_t i = 0; zip && i < zip_count(zip) && i < 16; i++) {
        const zip_member_t *m = zip_at(zip, i);
        if (m->at < data || m->n_packed > n || m->at + m->n_packed > data + n)
            broken("inside the archive", m->name);
        size_t n_read = m->n_bytes < MOST ? (size_t)m->n_bytes : MOST;
        uint8_t *to = malloc(n_read + 1);
        bool good = zip_read(m, to, n_read, &err) == 0;
        if (good) read_array(to, n_read);
        read_pieces(m, to, n_read, good);
        free(to);
    }
    zip_close(&zip);
}

static void read_schema(const uint8_t *data, size_t n)
{
    err_t err = {0};
    record_schema_t schema;
    if (record_schema_parse((const char *)data, n, "schema.json", &schema, &err) < 0) {
        if (err.code == ERR_OK) broken("an error says so", "schema");
        return;
    }
    for (size_t i = 0; i < schema.n; i++)
        if (schema.column[i].file && ir_type_bytes(&schema.column[i].record) < 1)
            broken("records have bytes", schema.column[i].name);
    record_schema_fini(&schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0) return 0;
    if (data[0] == 'P') read_archive(data, n);
    if (data[0] == 0x93) read_array(data, n);
    if (data[0] == '{') read_schema(data, n);
    return 0;
}
