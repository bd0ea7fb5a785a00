/* Files are mapped and stay so until the source is closed; what was read of them is given back. */
#include "pcp/record_source.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "ckpt/safetensors.h"
#include "data/npy.h"
#include "data/record_schema.h"
#include "data/zip.h"

typedef struct {
    char *path;
    file_map_t map;
    zip_t *zip;                 /* .npz */
    safetensors_t *safetensors; /* .safetensors */
} part_t;

struct record_bytes {
    const uint8_t *at;    /* of a file's mapping: the array, or the archive's member */
    size_t n_read;        /* bytes of the array */
    uint64_t n_passed;    /* of at[], that were given back */
    zip_stream_t *packed; /* NULL: they lie there as they are */
};

struct record_source {
    char *dir;        /* NULL: one file was given */
    VEC(part_t) part; /* archives and safetensors files, by name; then what was mapped later */
    record_schema_t schema; /* of the folder; empty: none */
    VEC(record_bytes_t *) bytes;
    VEC(char *) text; /* that arrays borrow */
};

/* --- files --- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

static part_t *map_part(record_source_t *self, const char *path, err_t *err)
{
    part_t part = {0};
    if (file_map(path, &part.map, err) < 0) return NULL;
    part.path = mem_strdup(path);
    VEC_PUSH(&self->part, part);
    return &self->part.at[self->part.n - 1];
}

static int open_part(record_source_t *self, const char *path, err_t *err)
{
    part_t *part = map_part(self, path, err);
    if (!part) return -1;
    if (ends_with(path, ".npz"))
        part->zip = zip_view(part->map.at, part->map.n, err);
    else if (ends_with(path, ".safetensors"))
        part->safetensors = safetensors_view(part->map.at, part->map.n, err);
    if (part->zip || part->safetensors || ends_with(path, ".npy")) return 0;
    if (!ends_with(path, ".npz") && !ends_with(path, ".safetensors"))
        err_set(err, ERR_ARG, "records are a folder, or a .npz or .safetensors file");
    return err_prefix(err, "%s: ", path);
}

static int is_part(const struct dirent *entry)
{
    return ends_with(entry->d_name, ".npz") || ends_with(entry->d_name, ".safetensors");
}

static int open_folder(record_source_t *self, err_t *err)
{
    struct dirent **entries;
    int n = scandir(self->dir, &entries, is_part, alphasort), rc = 0;
    if (n < 0) return err_set_errno(err, "%s", self->dir);
    for (int i = 0; i < n; i++) {
        char *path = mem_printf("%s/%s", self->dir, entries[i]->d_name);
        if (rc == 0) rc = open_part(self, path, err);
        free(path);
        free(entries[i]);
    }
    free(entries);
    return rc < 0 ? -1 : record_schema_read(self->dir, &self->schema, err);
}

record_source_t *record_source_open(const char *path, err_t *err)
{
    record_source_t *self = mem_calloc(1, sizeof *self);
    struct stat st;
    int rc = 0;
    if (stat(path, &st) < 0)
        rc = err_set_errno(err, "%s", path);
    else if (S_ISDIR(st.st_mode))
        self->dir = mem_strdup(path);
    if (rc == 0) rc = self->dir ? open_folder(self, err) : open_part(self, path, err);
    if (rc < 0) record_source_close(&self);
    return self;
}

void record_source_close(record_source_t **self_p)
{
    record_source_t *self = self_p ? *self_p : NULL;
    if (!self) return;
    for (size_t i = 0; i < self->bytes.n; i++) {
        zip_stream_close(&self->bytes.at[i]->packed);
        free(self->bytes.at[i]);
    }
    for (size_t i = 0; i < self->part.n; i++) {
        part_t *part = &self->part.at[i];
        zip_close(&part->zip);
        safetensors_close(&part->safetensors);
        file_unmap(&part->map);
        free(part->path);
    }
    for (size_t i = 0; i < self->text.n; i++) free(self->text.at[i]);
    VEC_FREE(&self->bytes);
    VEC_FREE(&self->part);
    VEC_FREE(&self->text);
    record_schema_fini(&self->schema);
    free(self->dir);
    free(self);
    *self_p = NULL;
}

static const char *keep_text(record_source_t *self, char *text)
{
    VEC_PUSH(&self->text, text);
    return text;
}

/* --- the bytes of an array --- */

static record_bytes_t *add_bytes(record_source_t *self, const void *at, zip_stream_t *packed)
{
    record_bytes_t *bytes = mem_calloc(1, sizeof *bytes);
    bytes->at = at;
    bytes->packed = packed;
    VEC_PUSH(&self->bytes, bytes);
    return bytes;
}

/* Pages are given back some at a time, from a page in front of where the last ones ended. */
static void pass(record_bytes_t *self, uint64_t n_done)
{
    enum { STRETCH = 1 << 20, PAGE = 1 << 12 };
    if (n_done - self->n_passed < STRETCH) return;
    uint64_t from = self->n_passed > PAGE ? self->n_passed - PAGE : 0;
    file_pages_forget(self->at + from, (size_t)(n_done - from));
    self->n_passed = n_done;
}

int record_bytes_read(record_bytes_t *self, void *to, size_t n, err_t *err)
{
    if (self->packed && zip_stream_read(self->packed, to, n, err) < 0) return -1;
    if (!self->packed) memcpy(to, self->at + self->n_read, n);
    self->n_read += n;
    pass(self, self->packed ? zip_stream_packed(self->packed) : self->n_read);
    return 0;
}

/* --- each format: 1 found, 0 not there, -1 error --- */

static int view_npy(record_source_t *self, const part_t *part, record_array_t *out, err_t *err)
{
    const void *data;
    out->where = part->path;
    if (npy_view(part->map.at, part->map.n, &out->type, &data, err) < 0)
        return err_prefix(err, "%s: ", part->path);
    out->bytes = add_bytes(self, data, NULL);
    return 1;
}

static int find_npy(record_source_t *self, const char *name, record_array_t *out, err_t *err)
{
    if (!self->dir || strchr(name, '/')) return 0;
    char *path = mem_printf("%s/%s.npy", self->dir, name);
    const part_t *part = NULL;
    bool there = file_exists(path);
    if (there) part = map_part(self, path, err);
    free(path);
    return !there ? 0 : part ? view_npy(self, part, out, err) : -1;
}

/* The header first: nothing is unpacked whose size does not fit its shape. Then a stream that stands behind
 * the header. */
static int open_packed(record_source_t *self, const zip_member_t *m, record_array_t *out,
                       err_t *err)
{
    enum { HEAD = 1 << 17 };
    size_t n_head = m->n_bytes < HEAD ? (size_t)m->n_bytes : HEAD, n_header = 0;
    uint8_t *head = mem_calloc(n_head + 1, 1);
    int rc = zip_read(m, head, n_head, err);
    if (rc == 0) rc = npy_header(head, n_head, &out->type, &n_header, err);
    if (rc == 0 && n_header + (uint64_t)ir_type_bytes(&out->type) != m->n_bytes)
        rc = err_set(err, ERR_CORRUPT, "its shape does not fit its size");
    zip_stream_t *stream = rc == 0 ? zip_stream_new(m, err) : NULL;
    if (stream) {
        out->bytes = add_bytes(self, m->at, stream);
        rc = zip_stream_read(stream, head, n_header, err);
    }
    free(head);
    return stream ? rc : -1;
}

static int find_npz(record_source_t *self, const part_t *part, const char *name,
                    record_array_t *out, err_t *err)
{
    char *member = mem_printf("%s.npy", name);
    const zip_member_t *m = zip_find(part->zip, member);
    free(member);
    if (!m) return 0;
    out->where = keep_text(self, mem_printf("%s: %s", part->path, m->name));
    const void *data;
    int rc = m->stored ? npy_view(m->at, (size_t)m->n_bytes, &out->type, &data, err)
                       : open_packed(self, m, out, err);
    if (rc < 0) return err_prefix(err, "%s: ", out->where);
    if (m->stored) out->bytes = add_bytes(self, data, NULL);
    return 1;
}

static int find_safetensor(record_source_t *self, const part_t *part, const char *name,
                           record_array_t *out)
{
    const safetensor_t *t = safetensors_find(part->safetensors, name);
    if (!t) return 0;
    out->where = keep_text(self, mem_printf("%s: %s", part->path, t->name));
    out->type = ir_type(t->dtype, t->rank, t->dims);
    out->bytes = add_bytes(self, t->data, NULL);
    return 1;
}

/* As many records as the file has room for behind its offset. */
static int find_raw(record_source_t *self, const record_column_t *c, record_array_t *out,
                    err_t *err)
{
    char *path = mem_printf("%s/%s", self->dir, c->file);
    const part_t *part = map_part(self, path, err);
    free(path);
    if (!part) return -1;
    out->where = part->path;
    int64_t row = ir_type_bytes(&c->record); /* checked, not 0 */
    uint64_t n = part->map.n < c->offset ? 0 : part->map.n - c->offset;
    if (n == 0 || n % (uint64_t)row != 0)
        return err_set(err, ERR_SHAPE,
                       "%s: %llu bytes behind the first %llu are no whole number of records of "
                       "%lld bytes",
                       part->path, (unsigned long long)n, (unsigned long long)c->offset,
                       (long long)row);
    int64_t dims[IR_MAX_RANK] = {(int64_t)(n / (uint64_t)row)};
    for (int d = 0; d < c->record.rank; d++) dims[d + 1] = c->record.dim[d];
    out->type = ir_type(c->record.dtype, c->record.rank + 1, dims);
    out->bytes = add_bytes(self, part->map.at + c->offset, NULL);
    return ir_type_check(&out->type, err) < 0 ? err_prefix(err, "%s: ", part->path) : 1;
}

static int find_one(record_source_t *self, const char *name, record_array_t *out, err_t *err)
{
    const record_column_t *column = record_schema_find(&self->schema, name);
    size_t n_part = self->part.n; /* .npy and raw files are put behind */
    int rc = column && column->file ? find_raw(self, column, out, err)
                                    : find_npy(self, name, out, err);
    for (size_t i = 0; rc == 0 && i < n_part; i++) {
        const part_t *part = &self->part.at[i];
        if (part->zip) rc = find_npz(self, part, name, out, err);
        if (part->safetensors) rc = find_safetensor(self, part, name, out);
        if (rc == 0 && !self->dir && !part->zip && !part->safetensors)
            rc = view_npy(self, part, out, err);
    }
    if (rc == 1 && column && column->scaled)
        out->scaled = true, out->scale = column->scale, out->shift = column->shift;
    return rc;
}

int record_source_find(record_source_t *self, const char *const *names, int n_names,
                       record_array_t *out, err_t *err)
{
    int rc = 0;
    *out = (record_array_t){.scale = 1};
    for (int i = 0; rc == 0 && i < n_names; i++)
        if (names[i] && *names[i]) rc = find_one(self, names[i], out, err);
    return rc;
}
