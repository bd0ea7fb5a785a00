/* pcp devices: what this build can compile for, and what this machine can run. */
#include <stdio.h>

#include "codegen/backend.h"
#include "pcp/cmd.h"
#include "pcp/output.h"
#include "runtime/device.h"

typedef struct {
    char *output;
    bool json;
} options_t;

static const config_field_t fields[] = {OUTPUT_FIELDS(options_t, "")};
static const config_table_t table = {
    .usage =
        "usage: pcp devices [-o table|json|yaml]\n\n"
        "Prints this machine's devices, and the targets that plans can be compiled for: those\n"
        "marked * run here, the one marked ** is what this machine's workers take by themselves.",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .no_env = true,
};

static json_t *devices_json(void)
{
    json_t *list = json_array();
    const device_ops_t *ops;
    device_info_t info;
    for (int i = 0; (ops = device_row(i)); i++)
        for (int ordinal = 0; ops->info(ordinal, &info); ordinal++) {
            char name[32];
            snprintf(name, sizeof name, "%s:%d", ops->prefix, ordinal);
            json_array_append_new(list, json_pack("{s:s, s:o, s:I, s:i}", "device", name, "what",
                                                  output_text(info.text), "memory_bytes",
                                                  (json_int_t)info.memory_bytes, "threads",
                                                  info.threads));
        }
    return list;
}

static json_t *targets_json(void)
{
    json_t *list = json_array();
    const target_t *t, *host = target_find(target_host(), NULL);
    for (int i = 0; (t = target_row(i)); i++)
        json_array_append_new(list, json_pack("{s:s, s:b, s:b}", "target", t->name, "runs_here",
                                              t == host || target_runs_here(t->name, NULL) == 0,
                                              "chosen_by_workers", t == host));
    return list;
}

static void print_devices(const json_t *list)
{
    size_t i;
    const json_t *one;
    printf("%-8s %-44s %10s %8s\n", "device", "what", "memory", "threads");
    json_array_foreach(list, i, one)
    {
        const char *what = json_string_value(json_object_get(one, "what"));
        printf("%-8s %-44s %6.1f GiB %8" JSON_INTEGER_FORMAT "\n",
               json_string_value(json_object_get(one, "device")), what ? what : "",
               (double)json_integer_value(json_object_get(one, "memory_bytes")) / (1 << 30),
               json_integer_value(json_object_get(one, "threads")));
    }
}

static void print_targets(const json_t *list)
{
    size_t i;
    const json_t *one;
    printf("\ntargets\n");
    json_array_foreach(list, i, one)
    {
        const char *mark = json_is_true(json_object_get(one, "chosen_by_workers")) ? "**"
                           : json_is_true(json_object_get(one, "runs_here"))       ? "*"
                                                                                   : "";
        printf("  %-2s %s\n", mark, json_string_value(json_object_get(one, "target")));
    }
}

static int devices(const void *options, const config_args_t *args, err_t *err)
{
    const options_t *o = options;
    output_t format = output_of(o->output, o->json);
    if (args->n_operands > 0)
        return err_set(err, ERR_ARG, "unexpected word \"%s\"", args->operands[0]);
    json_t *all = json_pack("{s:o, s:o}", "devices", devices_json(), "targets", targets_json());
    if (format != OUTPUT_TABLE) {
        output_value(format, all, stdout);
        return 0;
    }
    print_devices(json_object_get(all, "devices"));
    print_targets(json_object_get(all, "targets"));
    json_decref(all);
    return 0;
}

int cmd_devices(int argc, char **argv)
{
    options_t options = {0};
    err_t err = {0};
    return cmd_run(&table, &options, argc, argv, devices, &err);
}
