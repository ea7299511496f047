/*
 * Inputs of a model on a command line, NAME=VALUE: a number, or a file in .npy.
 *
 * Needs npy.h and main_shell.h.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
        const char *name, *shape; /* "[words, 8]" */
        int is_class;             /* it is set by --class */
        int64_t bound;            /* its values are integers, at least 0 and below this; 0: reals */
        int rank;
        int64_t dim[NPY_AXES];    /* below 0: -1 - k for the named size k, given by the values */
} InputForm;

enum { MAX_INPUT_VALUES = 64 };

/* Values of inputs, by index in a table of InputForm. */
typedef struct {
        int given;                    /* number of inputs that are set */
        int64_t size[MAX_INPUT_VALUES];    /* 0: not known */
        void *value[MAX_INPUT_VALUES];     /* float or int32_t, allocated; NULL: not given */
} InputValues;

/* Checks the shape of an array against the input, and stores the sizes that it gives.  0 after a message. */
static inline int values_fit(const InputForm *f, const NpyHead *h, const char *path, int64_t *size)
{
        int fits = h->rank == f->rank;
        for (int a = 0; a < f->rank && fits; a++) {
                int64_t *named = f->dim[a] < 0 ? &size[-1 - f->dim[a]] : NULL;
                if (named && !*named)
                        *named = h->dim[a];
                fits = h->dim[a] == (named ? *named : f->dim[a]);
        }
        if (!fits) {
                terminal_print(stderr, "%s: %s is%s%s, but the array is [", path, f->name, f->rank ? " " : " one number", f->shape);
                for (int a = 0; a < h->rank; a++)
                        terminal_print(stderr, "%s%lld", a ? ", " : "", (long long)h->dim[a]);
                terminal_print(stderr, "]%s\n", h->rank == f->rank ? "; sizes of one name are the same" : "");
        }
        return fits;
}

/* Stores a value of the input in to[i]; 0: it is out of range. */
static inline int values_put(const InputForm *f, double x, void *to, int64_t i)
{
        if (!f->bound) {
                const int is_finite = x - x == 0;
                ((float *)to)[i] = (float)x;
                return !is_finite || ((float *)to)[i] - ((float *)to)[i] == 0;
        }
        if (!(x >= 0 && x < (double)f->bound) || x != (double)(int64_t)x)
                return 0;
        ((int32_t *)to)[i] = (int32_t)x;
        return 1;
}

/* Converts the values of an array, or one number if bytes is NULL; NULL after a message. */
static inline void *values_of(const InputForm *f, const char *from, const NpyHead *h, const uint8_t *bytes, double number)
{
        void *to = malloc((size_t)h->count * 4 + 1);
        int good = to != NULL;
        if (!to)
                terminal_print(stderr, "%s: %s\n", from, strerror(errno));
        for (int64_t i = 0; i < h->count && good; i++) {
                const double x = bytes ? npy_value(h, bytes, i) : number;
                good = values_put(f, x, to, i);
                if (!good && !f->bound)
                        terminal_print(stderr, "%s: element %lld of %s is %.9g, beyond the largest float of 32 bits, 3.40282347e+38: scale the input\n", from,
                                       (long long)i, f->name, x);
                else if (!good)
                        terminal_print(stderr, "%s: %s has whole numbers from 0 to %lld, but one is %g\n", from, f->name,
                                       (long long)f->bound - 1, x);
        }
        if (!good)
                free(to);
        return good ? to : NULL;
}

/* Likewise of a file; exits after a message if it can't be read. */
static inline void *values_of_file(const InputForm *f, const char *path, int64_t *size)
{
        NpyHead h;
        size_t n = 0;
        uint8_t *bytes = (uint8_t *)read_whole_file(path, &n);
        if (!bytes)
                exit(3);
        const int fault = npy_head(bytes, (int64_t)n, &h);
        void *values = NULL;
        if (fault)
                terminal_print(stderr, "%s: %s\n", path, npy_fault(fault));
        else if (values_fit(f, &h, path, size))
                values = values_of(f, path, &h, bytes, 0);
        free(bytes);
        return values;
}

/* Stores the values of an input, at most once; exits after a message. */
static inline void values_keep(const char *program, const InputForm *f, int at, void *values, InputValues *all)
{
        if (!values)
                exit(1);
        if (all->value[at])
                refuse_usage(program, f->name, " is given twice");
        all->value[at] = values;
        all->given++;
}

/* Parses "NAME=VALUE" after option i, for inputs form [n]; exits after a message. */
static inline void values_take(char **argv, int i, const InputForm *form, int n, InputValues *all)
{
        const char *text = option_word(argv, i);
        const size_t name = strcspn(text, "=");
        int at = 0;
        while (at < n && !(text[name] && strlen(form[at].name) == name && !strncmp(form[at].name, text, name)))
                at++;
        if (at == n) {
                terminal_print(stderr, "%s: %s must be NAME=VALUE, not %s; the inputs:", argv[0], argv[i], text);
                for (int k = 0; k < n; k++)
                        terminal_print(stderr, "%s %s", k ? "," : "", form[k].name);
                terminal_print(stderr, "\n");
                exit(2);
        }
        const InputForm *f = &form[at];
        const char *value = text + name + 1;
        char *end;
        errno = 0;
        const double number = strtod(value, &end);
        if (errno == ERANGE && number - number != 0) {
                terminal_print(stderr, "%s: %s is beyond the largest number of 64 bits: scale the input\n", argv[0], text);
                exit(1);
        }
        const int is_number = end != value && !*end && f->rank == 0;
        values_keep(argv[0], f, at,
                   is_number ? values_of(f, text, &(const NpyHead){.count = 1}, NULL, number) : values_of_file(f, value, all->size), all);
}

/* Likewise the number of a class, for the input of inputs form [n] that is the class. */
static inline void values_class(const char *program, double number, const InputForm *form, int n, InputValues *all)
{
        int at = 0;
        while (at + 1 < n && !form[at].is_class)
                at++;
        values_keep(program, &form[at], at, values_of(&form[at], "--class", &(const NpyHead){.count = 1}, NULL, number), all);
}
