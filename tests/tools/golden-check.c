/* golden-check MODEL.mlir GOLDEN.json: compare a model's loss and gradients, or its training, with
 * golden values made by another library in f64 (format and input generator: conformance/README.md
 * of the shared material). One line per entry with the largest deviation; exit 0 all hold, 1 a
 * mismatch, 2 an error. */
#include "golden/golden.h"

static const char USAGE[] =
    "golden-check MODEL.mlir GOLDEN.json [--backend interp|cpu] [--training]\n"
    "  Checks the entries of GOLDEN.json whose \"file\" is MODEL's file name.\n"
    "  --backend    interp (reference evaluators; the default) or cpu (compiled plan)\n"
    "  --training   GOLDEN.json holds training traces (AdamW steps, DiLoCo), not gradients\n"
    "  Exit status: 0 all entries hold, 1 a mismatch, 2 an error or no such entry.\n";

static int worse(int a, int b)
{
    return a > b ? a : b;
}

static int check_entries(const options_t *o, const json_t *entries, err_t *err)
{
    const char *slash = strrchr(o->model, '/'), *base = slash ? slash + 1 : o->model;
    machine_t machine = {0};
    int result = MATCH, n = 0;
    for (size_t i = 0; i < json_array_size(entries) && result != FAILED; i++) {
        const json_t *entry = json_array_get(entries, i);
        const char *file = json_string_value(json_object_get(entry, "file"));
        if (!file || strcmp(file, base) != 0) continue;
        if (o->training) {
            result = worse(result, check_training(o, entry, err));
        } else if (n == 0 && machine_init(&machine, o, NULL, err) < 0) {
            result = FAILED;
        } else {
            result = worse(result, check_gradients(&machine, entry, err));
        }
        n++;
    }
    machine_fini(&machine);
    if (n == 0) return err_set(err, ERR_ARG, "%s has no entry for %s", o->golden, base), FAILED;
    return result;
}

static int parse_options(int argc, char **argv, options_t *o, err_t *err)
{
    const char *backend = "interp";
    *o = (options_t){0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--training") == 0) {
            o->training = true;
        } else if (strcmp(argv[i], "--backend") == 0 && i + 1 < argc) {
            backend = argv[++i];
        } else if (argv[i][0] == '-') {
            return err_set(err, ERR_ARG, "unknown or unfinished option %s", argv[i]);
        } else if (!o->model) {
            o->model = argv[i];
        } else if (!o->golden) {
            o->golden = argv[i];
        } else {
            return err_set(err, ERR_ARG, "one argument too many: %s", argv[i]);
        }
    }
    if (!o->golden) return err_set(err, ERR_ARG, "MODEL.mlir and GOLDEN.json are needed");
    o->compiled = strcmp(backend, "cpu") == 0;
    if (!o->compiled && strcmp(backend, "interp") != 0)
        return err_set(err, ERR_ARG, "no backend is called %s; there are: interp, cpu", backend);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(USAGE, stdout);
        return MATCH;
    }
    err_t err = {0};
    options_t options;
    if (parse_options(argc, argv, &options, &err) < 0) {
        fprintf(stderr, "golden-check: %s\n%s", err.text, USAGE);
        return FAILED;
    }
    json_error_t why;
    json_t *root = json_load_file(options.golden, 0, &why);
    if (!root) {
        fprintf(stderr, "golden-check: %s:%d: %s\n", options.golden, why.line, why.text);
        return FAILED;
    }
    const json_t *models = json_object_get(root, "models");
    int result = check_entries(&options, models ? models : root, &err);
    json_decref(root);
    if (result == FAILED) fprintf(stderr, "golden-check: %s: %s\n", options.model, err.text);
    return result;
}
