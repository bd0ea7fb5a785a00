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
        if (zip_read(m, to, n_read, &err) == 0) read_array(to, n_read);
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
