/* Reading safetensors: map, parse the header, check every claim in it. */
#include "ckpt/safetensors.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "ckpt/safetensors_dtype.h"

enum { LENGTH_BYTES = 8, MAX_HEADER_BYTES = 100 << 20 /* the reference reader's limit */ };

typedef struct {
    char *name;
    safetensor_t view; /* its name points to `name` */
    uint64_t begin, end;
} entry_t;

struct safetensors {
    file_map_t map;
    bool borrowed;    /* the bytes are the caller's */
    uint8_t *head;    /* looked at: what was read of it; NULL: all of it is at hand */
    uint64_t n_file;  /* bytes */
    uint64_t begin;   /* of the data in the file */
    json_t *header;   /* owns metadata texts */
    json_t *metadata; /* borrowed from header; NULL: none */
    VEC(entry_t) entries;
    const entry_t **by_name; /* [entries.n] */
};

static int corrupt(err_t *err, const char *name, const char *what)
{
    return err_set(err, ERR_CORRUPT, "tensor \"%.200s\": %s", name, what);
}

static int read_shape(const char *name, json_t *shape, safetensor_t *t, err_t *err)
{
    if (!json_is_array(shape)) return corrupt(err, name, "shape is missing or no list");
    size_t rank = json_array_size(shape);
    if (rank > SAFETENSORS_MAX_RANK)
        return err_set(err, ERR_UNSUPPORTED, "tensor \"%.200s\": rank %zu is above %d", name, rank,
                       SAFETENSORS_MAX_RANK);
    size_t n = dtype_bytes(t->dtype);
    for (size_t i = 0; i < rank; i++) {
        json_t *dim = json_array_get(shape, i);
        json_int_t d = json_integer_value(dim);
        if (!json_is_integer(dim) || d < 0) return corrupt(err, name, "a dimension is no size");
        if (!size_mul(n, (size_t)d, &n) || n > SIZE_MAX / 2)
            return corrupt(err, name, "the shape's size does not fit into 64 bits");
        t->dims[i] = d;
    }
    t->rank = (int)rank;
    t->n_bytes = n;
    return 0;
}

static int read_offsets(const char *name, json_t *offsets, uint64_t n_data, entry_t *e, err_t *err)
{
    json_t *b = json_array_get(offsets, 0), *f = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(b) || !json_is_integer(f))
        return corrupt(err, name, "data_offsets is not [begin, end]");
    json_int_t begin = json_integer_value(b), end = json_integer_value(f);
    if (begin < 0 || end < begin || (uint64_t)end > n_data)
        return err_set(
            err, ERR_CORRUPT,
            "tensor \"%.200s\": data_offsets [%lld, %lld] lie outside the %llu data bytes", name,
            (long long)begin, (long long)end, (unsigned long long)n_data);
    if ((uint64_t)(end - begin) != e->view.n_bytes)
        return err_set(err, ERR_CORRUPT,
                       "tensor \"%.200s\": data_offsets span %lld bytes, the shape needs %zu", name,
                       (long long)(end - begin), e->view.n_bytes);
    e->begin = (uint64_t)begin;
    e->end = (uint64_t)end;
    return 0;
}

static int read_entry(safetensors_t *self, const char *name, json_t *object, const uint8_t *data,
                      uint64_t n_data, err_t *err)
{
    if (!json_is_object(object) || json_object_size(object) != 3)
        return corrupt(err, name, "the entry is not {dtype, shape, data_offsets}");
    const char *dtype = json_string_value(json_object_get(object, "dtype"));
    entry_t e = {0};
    e.view.dtype = dtype ? safetensors_dtype_parse(dtype) : DT_NONE;
    if (e.view.dtype == DT_NONE)
        return err_set(err, dtype ? ERR_UNSUPPORTED : ERR_CORRUPT, "tensor \"%.200s\": dtype %.40s",
                       name, dtype ? dtype : "is missing");
    if (read_shape(name, json_object_get(object, "shape"), &e.view, err) < 0) return -1;
    if (read_offsets(name, json_object_get(object, "data_offsets"), n_data, &e, err) < 0) return -1;
    e.view.data = data ? data + e.begin : NULL;
    e.name = mem_strdup(name);
    e.view.name = e.name;
    VEC_PUSH(&self->entries, e);
    return 0;
}

static int read_metadata(safetensors_t *self, json_t *object, err_t *err)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object)) return err_set(err, ERR_CORRUPT, "__metadata__ is no object");
    json_object_foreach(object, key, value)
    {
        if (!json_is_string(value))
            return err_set(err, ERR_CORRUPT, "__metadata__ \"%.200s\" is no text", key);
    }
    self->metadata = object;
    return 0;
}

static int compare_begin(const void *a, const void *b)
{
    const entry_t *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    /* Empty tensors share their place with the next one; they come first, by name. */
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Sorted by place, each tensor must begin where the one before it ended. */
static int check_cover(safetensors_t *self, uint64_t n_data, err_t *err)
{
    uint64_t at = 0;
    if (self->entries.n)
        qsort(self->entries.at, self->entries.n, sizeof *self->entries.at, compare_begin);
    for (size_t i = 0; i < self->entries.n; i++) {
        const entry_t *e = &self->entries.at[i];
        if (e->begin != at)
            return err_set(err, ERR_CORRUPT,
                           "tensor \"%.200s\" begins at data byte %llu, the one before it ends at "
                           "%llu (%s)",
                           e->name, (unsigned long long)e->begin, (unsigned long long)at,
                           e->begin < at ? "overlap" : "gap");
        at = e->end;
    }
    if (at == n_data) return 0;
    return err_set(err, ERR_CORRUPT, "tensors end at data byte %llu of %llu",
                   (unsigned long long)at, (unsigned long long)n_data);
}

static int compare_name(const void *a, const void *b)
{
    return strcmp((*(const entry_t *const *)a)->name, (*(const entry_t *const *)b)->name);
}

static void sort_names(safetensors_t *self)
{
    self->by_name = mem_calloc(self->entries.n + 1, sizeof *self->by_name);
    for (size_t i = 0; i < self->entries.n; i++) self->by_name[i] = &self->entries.at[i];
    qsort(self->by_name, self->entries.n, sizeof *self->by_name, compare_name);
}

/* What follows the length: the header's bytes. 0 and ERR_CORRUPT: there cannot be so many. */
static int read_length(const uint8_t bytes[LENGTH_BYTES], uint64_t n_file, uint64_t *n_header,
                       err_t *err)
{
    *n_header = 0;
    for (int i = 0; i < LENGTH_BYTES; i++) *n_header |= (uint64_t)bytes[i] << 8 * i;
    if (*n_header <= MAX_HEADER_BYTES && *n_header <= n_file - LENGTH_BYTES) return 0;
    return err_set(err, ERR_CORRUPT, "a header of %llu bytes in a file of %llu",
                   (unsigned long long)*n_header, (unsigned long long)n_file);
}

static int check_size(uint64_t n_file, err_t *err)
{
    if (n_file >= LENGTH_BYTES) return 0;
    return err_set(err, ERR_CORRUPT, "%llu bytes are too few for a header",
                   (unsigned long long)n_file);
}

/* data NULL: it is not at hand. */
static int read_header(safetensors_t *self, const uint8_t *text, uint64_t n_header,
                       const uint8_t *data, err_t *err)
{
    self->begin = LENGTH_BYTES + n_header;
    uint64_t n_data = self->n_file - self->begin;
    json_error_t at;
    self->header = json_loadb((const char *)text, n_header, JSON_REJECT_DUPLICATES, &at);
    if (!self->header) return err_set(err, ERR_CORRUPT, "header byte %d: %s", at.position, at.text);
    if (!json_is_object(self->header)) return err_set(err, ERR_CORRUPT, "the header is no object");
    const char *key;
    json_t *value;
    json_object_foreach(self->header, key, value)
    {
        int rc = strcmp(key, "__metadata__") == 0 ? read_metadata(self, value, err)
                                                  : read_entry(self, key, value, data, n_data, err);
        if (rc < 0) return -1;
    }
    if (check_cover(self, n_data, err) < 0) return -1;
    sort_names(self);
    return 0;
}

static int read_all(safetensors_t *self, err_t *err)
{
    uint64_t n_header;
    self->n_file = self->map.n;
    if (check_size(self->n_file, err) < 0 ||
        read_length(self->map.at, self->n_file, &n_header, err) < 0)
        return -1;
    const uint8_t *text = self->map.at + LENGTH_BYTES;
    return read_header(self, text, n_header, text + n_header, err);
}

static int read_head(safetensors_t *self, const source_t *file, err_t *err)
{
    uint8_t length[LENGTH_BYTES];
    uint64_t n_header;
    self->n_file = file->n;
    if (check_size(file->n, err) < 0 || source_read(file, 0, length, sizeof length, err) < 0 ||
        read_length(length, file->n, &n_header, err) < 0)
        return -1;
    self->head = mem_calloc((size_t)n_header + 1, 1);
    if (source_read(file, LENGTH_BYTES, self->head, (size_t)n_header, err) < 0) return -1;
    return read_header(self, self->head, n_header, NULL, err);
}

safetensors_t *safetensors_open(const char *path, err_t *err)
{
    safetensors_t *self = mem_calloc(1, sizeof *self);
    int rc = file_map(path, &self->map, err);
    if (rc == 0 && (rc = read_all(self, err)) < 0) err_prefix(err, "%s: ", path);
    if (rc < 0) safetensors_close(&self);
    return self;
}

safetensors_t *safetensors_view(const void *bytes, size_t n, err_t *err)
{
    safetensors_t *self = mem_calloc(1, sizeof *self);
    self->map = (file_map_t){bytes, n};
    self->borrowed = true;
    if (read_all(self, err) < 0) safetensors_close(&self);
    return self;
}

safetensors_t *safetensors_look(const source_t *file, err_t *err)
{
    safetensors_t *self = mem_calloc(1, sizeof *self);
    self->borrowed = true;
    if (read_head(self, file, err) < 0) safetensors_close(&self);
    return self;
}

void safetensors_close(safetensors_t **self_p)
{
    if (!self_p || !*self_p) return;
    safetensors_t *self = *self_p;
    for (size_t i = 0; i < self->entries.n; i++) free(self->entries.at[i].name);
    VEC_FREE(&self->entries);
    free(self->by_name);
    json_decref(self->header);
    if (!self->borrowed) file_unmap(&self->map);
    free(self->head);
    free(self);
    *self_p = NULL;
}

size_t safetensors_count(const safetensors_t *self)
{
    return self->entries.n;
}

const safetensor_t *safetensors_at(const safetensors_t *self, size_t i)
{
    return i < self->entries.n ? &self->entries.at[i].view : NULL;
}

const safetensor_t *safetensors_find(const safetensors_t *self, const char *name)
{
    const entry_t key = {.name = (char *)name}, *pointer = &key;
    const entry_t *const *found = bsearch(&pointer, self->by_name, self->entries.n,
                                          sizeof *self->by_name, compare_name);
    return found ? &(*found)->view : NULL;
}

uint64_t safetensors_place(const safetensors_t *self, const safetensor_t *tensor)
{
    const entry_t *entry = (const entry_t *)((const char *)tensor - offsetof(entry_t, view));
    return self->begin + entry->begin;
}

const char *safetensors_meta(const safetensors_t *self, const char *key)
{
    return json_string_value(json_object_get(self->metadata, key));
}
