/* Replaces the tensors of each quantised matrix (codes, scales, zero points, ..) by one tensor of its numbers.
 *
 * Names and types of tensors decide which matrices are quantised.  Shapes must be those that a scheme of
 * quantization_config gives, so that a wrong size of groups is an error and not a wrong number. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scaled_find_private.h"

/* ---- tensors by name ---- */

static int compare_tensor_names(const void *a, const void *b)
{
        return strcmp(((const CkTensor *)a)->name, ((const CkTensor *)b)->name);
}

static const CkTensor *scaled_tensor(const Finder *f, const char *name)
{
        const CkTensor key = {.name = name};
        return f->n ? bsearch(&key, f->tensor, (size_t)f->n, sizeof key, compare_tensor_names) : NULL;
}

/* The tensor of a matrix with this end of its name; `ends` may be two with a space between them. */
static const CkTensor *find_part(const Finder *f, Matrix *m, const char *ends)
{
        for (const CkTensor *found; *ends; ends += *ends == ' ') {
                const size_t n = strcspn(ends, " ");
                memcpy(m->stem + m->stem_length, ends, n);
                m->stem[m->stem_length + n] = 0;
                if ((found = scaled_tensor(f, m->stem)))
                        return found;
                ends += n;
        }
        return NULL;
}

static bool find_fail(const Finder *f, const CkTensor *t, const char *text)
{
        return ck_fail(f->err, "%s: tensor \"%s\", %s: %s", t->file->path, ck_quote(t->name).text,
                       ck_type_name(t->dtype), text);
}

static const char *shape_words(char *text, size_t room, const CkTensor *t)
{
        size_t n = (size_t)snprintf(text, room, "[");
        for (int i = 0; i < t->rank && n < room; i++)
                n += (size_t)snprintf(text + n, room - n, "%s%lld", i ? ", " : "", (long long)t->shape[i]);
        if (n < room)
                snprintf(text + n, room - n, "]");
        return text;
}

/* ---- shapes ---- */

/* The last size in a tensor of integers, which is the shape of the codes unpacked; -1: it has another form. */
static int64_t given_columns(const CkTensor *shape, const CkTensor *codes)
{
        int32_t narrow;
        int64_t wide = -1;
        if (shape->count != codes->rank || (shape->dtype != CK_I32 && shape->dtype != CK_I64))
                return -1;
        for (int i = 0; i < codes->rank; i++) {
                const char *at = (const char *)shape->data + i * (shape->bytes / shape->count);
                memcpy(shape->dtype == CK_I32 ? (void *)&narrow : (void *)&wide, at,
                       shape->dtype == CK_I32 ? sizeof narrow : sizeof wide);
                wide = shape->dtype == CK_I32 ? narrow : wide;
                if (wide < 1 || (i < codes->rank - 1 && wide != codes->shape[i]))
                        return -1;
        }
        return wide;
}

/* Sets the sizes of the matrix from the shape of its codes; false: the shape has another form. */
static bool measure_matrix(Matrix *m, int bits)
{
        const CkTensor *t = m->part[PART_CODES];
        const int per = 32 / bits, axes = scaled_rows[m->format].layout == SCALED_BLOCKS_32 ? 3 : 2;
        const int64_t *shape = t->shape + (t->rank - axes);
        const bool stacked = scaled_rows[m->format].layout != SCALED_ACROSS &&
                             scaled_rows[m->format].layout != SCALED_DOWN &&
                             scaled_rows[m->format].layout != SCALED_QUARTERS;
        m->batch_axes = t->rank - axes;
        if (m->batch_axes < 0 || (m->batch_axes > 0 && !stacked) || t->count == 0)
                return false;
        m->batches = 1;
        for (int i = 0; i < m->batch_axes; i++)
                m->batches *= t->shape[i];
        m->rows = shape[0];
        m->columns = shape[1];
        switch (scaled_rows[m->format].layout) {
        case SCALED_BYTES: break;
        case SCALED_HALVES: m->columns *= 2; break;
        case SCALED_BLOCKS_32: m->columns *= 32; return shape[2] == 16;
        case SCALED_WORDS:
                m->columns = given_columns(m->part[PART_SHAPE], t);
                return m->columns > 0 && 32 % bits == 0 && ceil_div(m->columns, per) == shape[1];
        case SCALED_ACROSS: m->rows = shape[1] * per, m->columns = shape[0]; break;
        case SCALED_DOWN: m->rows = shape[1], m->columns = shape[0] * per; break;
        case SCALED_QUARTERS: m->rows *= 4; break;
        }
        return true;
}

/* Whether a tensor has one element for each group, or is [rows, groups] with this number of rows. */
static bool has_grid(const Matrix *m, const CkTensor *t, int64_t rows)
{
        const int64_t last[2] = {is_by_columns(m) ? m->groups : rows, is_by_columns(m) ? rows : m->groups};
        if (rows == 1 && m->groups == 1 && m->batches == 1)
                return t->count == 1;
        if (t->rank != m->batch_axes + 2)
                return false;
        for (int i = 0; i < m->batch_axes; i++)
                if (t->shape[i] != m->part[PART_CODES]->shape[i])
                        return false;
        return t->shape[t->rank - 2] == last[0] && t->shape[t->rank - 1] == last[1];
}

/* Keeps the reason why the first scheme of its type does not fit. */
static void explain_misfit(Matrix *m, const ScaledScheme *scheme, const char *what)
{
        char codes[64], scales[64], zeros[64] = "", rows[24] = "all", columns[24] = "all";
        if (*m->why)
                return;
        if (m->part[PART_ZEROS])
                shape_words(zeros, sizeof zeros, m->part[PART_ZEROS]);
        if (scheme->row_block)
                snprintf(rows, sizeof rows, "%lld", (long long)scheme->row_block);
        if (scheme->column_block)
                snprintf(columns, sizeof columns, "%lld", (long long)scheme->column_block);
        snprintf(
                m->why, sizeof m->why,
                "%s: codes %s, scales %s%s%s; expected %d bits and blocks of %s x %s, by quantization_config",
                what, shape_words(codes, sizeof codes, m->part[PART_CODES]),
                shape_words(scales, sizeof scales, m->part[PART_SCALES]), *zeros ? ", zero points " : "",
                zeros, scheme->bits, rows, columns);
}

static bool fits_scheme(Matrix *m, const ScaledScheme *s)
{
        const int stored = scaled_rows[m->format].bits ? scaled_rows[m->format].bits : s->bits;
        const bool narrower = scaled_rows[m->format].layout == SCALED_BYTES && !scaled_rows[m->format].floats;
        if (scaled_rows[m->format].floats != s->floats || (stored != s->bits && !narrower))
                return false;
        if (!measure_matrix(m, stored)) {
                explain_misfit(m, s, "codes of another shape");
                return false;
        }
        m->grid_rows = s->row_block ? ceil_div(m->rows, s->row_block) : 1;
        m->groups = s->column_block ? ceil_div(m->columns, s->column_block) : 1;
        m->scheme = s;
        if (!has_grid(m, m->part[PART_SCALES], m->grid_rows))
                explain_misfit(m, s, "scales of another shape");
        else if (!m->part[PART_ZEROS] && s->zeros == ZEROS_NEEDED)
                explain_misfit(m, s, "zero points are missing");
        else if (m->part[PART_ZEROS] && !has_grid(m, m->part[PART_ZEROS], rows_of_zeros(m, stored)))
                explain_misfit(m, s, "zero points of another shape");
        else if (m->part[PART_GROUPS] && m->part[PART_GROUPS]->count != m->columns)
                explain_misfit(m, s, "another number of columns in the list of groups");
        else
                return true;
        return false;
}

/* ---- one matrix ---- */

static bool check_types(const Finder *f, const Matrix *m)
{
        const CkTensor *const *part = m->part;
        const CkType scale = part[PART_SCALES]->dtype,
                     zero = part[PART_ZEROS] ? part[PART_ZEROS]->dtype : CK_I8;
        const bool small = scale == CK_U8 || scale == CK_F8_E4M3 || scale == CK_F8_E8M0;
        if (scaled_rows[m->format].layout == SCALED_BLOCKS_32 && scale != CK_U8)
                return find_fail(f, part[PART_SCALES], "not a type of scales; expected U8, powers of two");
        if (!is_float_type(scale) && !(small && scaled_rows[m->format].floats))
                return find_fail(f, part[PART_SCALES], "not a type of scales; expected F32, F16 or BF16");
        if (zero != CK_I8 && (zero != CK_I32 || scaled_rows[m->format].layout == SCALED_BYTES))
                return find_fail(f, part[PART_ZEROS],
                                 "not a type of zero points; expected I8, or I32 for "
                                 "packed ones");
        if (part[PART_GROUPS] && part[PART_GROUPS]->dtype != CK_I32)
                return find_fail(f, part[PART_GROUPS], "not a list of groups; expected I32");
        float global = 1;
        if (part[PART_GLOBAL] && (part[PART_GLOBAL]->dtype != CK_F32 || part[PART_GLOBAL]->count != 1))
                return find_fail(f, part[PART_GLOBAL], "not a scale of all groups; expected one F32");
        if (part[PART_GLOBAL])
                memcpy(&global, part[PART_GLOBAL]->data, sizeof global);
        if (global == 0 || !isfinite(global))
                return ck_fail(f->err, "%s: tensor \"%s\": it is %g; expected the scale of all groups",
                               part[PART_GLOBAL]->file->path, ck_quote(part[PART_GLOBAL]->name).text,
                               (double)global);
        return true;
}

static bool check_groups(const Finder *f, const Matrix *m)
{
        const CkTensor *list = m->part[PART_GROUPS];
        for (int64_t i = 0; list && i < list->count; i++) {
                int32_t group;
                memcpy(&group, (const char *)list->data + i * (int64_t)sizeof group, sizeof group);
                if (group < 0 || group >= m->groups)
                        return ck_fail(f->err,
                                       "%s: tensor \"%s\": column %lld is in group %ld; expected 0 to %lld, "
                                       "as many as there are scales",
                                       list->file->path, ck_quote(list->name).text, (long long)i, (long)group,
                                       (long long)m->groups - 1);
        }
        return true;
}

/* The end of a name that codes have in formats of other methods; NULL: this name has none. */
static const char *end_of_others(const Finder *f, const char *name)
{
        for (ScaledFormat k = 0; k < SCALED_FORMATS; k++)
                if (!(f->config->formats >> k & 1u) && *scaled_rows[k].codes &&
                    text_ends_with(name, scaled_rows[k].codes))
                        return scaled_rows[k].codes;
        return NULL;
}

/* Rejects a matrix whose tensors are not all there, or of other shapes. */
static bool check_matrix(const Finder *f, Matrix *m)
{
        const CkTensor *codes = m->part[PART_CODES];
        const char *global = scaled_rows[m->format].global,
                   *other = *scaled_rows[m->format].codes ? NULL : end_of_others(f, codes->name);
        if (!m->part[PART_SCALES] && other)
                return ck_fail(
                        f->err,
                        "%s: tensor \"%s\": names of codes end with %s for other methods than %s; expected "
                        "the quant_method that wrote the file, in quantization_config of %s",
                        codes->file->path, ck_quote(codes->name).text, other, f->config->method,
                        f->config->path);
        if (!m->part[PART_SCALES])
                return find_fail(f, codes,
                                 "it has no scales in a tensor of the same name, as quantization_config "
                                 "requires; is the checkpoint complete?");
        if (global && m->part[PART_SCALES]->dtype == CK_F8_E4M3 && !m->part[PART_GLOBAL])
                return ck_fail(f->err, "%s: tensor \"%s\": it has no %s, a scale of all groups",
                               codes->file->path, ck_quote(codes->name).text, global);
        if (scaled_rows[m->format].layout == SCALED_WORDS && !m->part[PART_SHAPE])
                return find_fail(f, codes, "it has no _shape, the shape of its numbers");
        if (!check_types(f, m))
                return false;
        for (int i = 0; i < f->config->nscheme; i++)
                if (fits_scheme(m, &f->config->scheme[i]))
                        return check_groups(f, m);
        return find_fail(f, codes, *m->why ? m->why : "quantization_config describes no matrix of this type");
}

/* The tensor of numbers, which replaces the codes when all are found. */
static bool scaled_make(Finder *f, Matrix *m)
{
        const CkTensor *codes = m->part[PART_CODES];
        const bool turned = scaled_rows[m->format].layout == SCALED_BLOCKS_32;
        CkTensor t = {.file = codes->file, .rank = m->batch_axes + 2};
        for (int i = 0; i < m->batch_axes; i++)
                t.shape[i] = codes->shape[i];
        t.shape[t.rank - 2] = turned ? m->columns : m->rows;
        t.shape[t.rank - 1] = turned ? m->rows : m->columns;
        const CkScaled *s = scaled_new(f, m);
        CkTensor *made = s ? malloc(sizeof *made) : NULL;
        if (!made) {
                scaled_free(s);
                return ck_lack(f->err, "%s: out of memory", f->config->path);
        }
        t.scaled = s;
        t.dtype = s->result;
        t.name = m->stem;
        snprintf(m->stem + m->stem_length, sizeof "weight" + 1, "%s", scaled_rows[m->format].tensor);
        const bool good = checkpoint_measure(codes->file, &t, f->err);
        t.bytes = 0;
        for (int i = 0; i < s->nparts; i++)
                t.bytes += s->part[i].bytes;
        *made = t;
        f->made[codes - f->tensor] = made;
        m->stem = NULL;
        return good;
}

/* Finds the tensors of a matrix beside its codes. */
static void find_parts(const Finder *f, Matrix *m)
{
        const ScaledLayout layout = scaled_rows[m->format].layout;
        const bool ordered = layout == SCALED_WORDS || layout == SCALED_DOWN ||
                             (layout == SCALED_BYTES && !scaled_rows[m->format].floats);
        m->part[PART_SCALES] = find_part(f, m, scaled_rows[m->format].scales);
        if (scaled_rows[m->format].zeros)
                m->part[PART_ZEROS] = find_part(f, m, scaled_rows[m->format].zeros);
        if (ordered)
                m->part[PART_GROUPS] = find_part(f, m, layout == SCALED_DOWN ? ".g_idx" : "_g_idx");
        if (layout == SCALED_WORDS)
                m->part[PART_SHAPE] = find_part(f, m, "_shape");
        if (scaled_rows[m->format].global)
                m->part[PART_GLOBAL] = find_part(f, m, scaled_rows[m->format].global);
}

/* Gathers the matrix whose codes are tensor i. */
static bool scaled_take(Finder *f, int i, ScaledFormat format)
{
        const CkTensor *codes = &f->tensor[i];
        Matrix m = {.format = format, .stem_length = strlen(codes->name) - strlen(scaled_rows[format].codes)};
        m.stem = malloc(strlen(codes->name) + 32);
        if (!m.stem)
                return ck_lack(f->err, "%s: out of memory", codes->file->path);
        memcpy(m.stem, codes->name, m.stem_length);
        find_parts(f, &m);
        m.part[PART_CODES] = codes;
        bool good = check_matrix(f, &m);
        for (int k = PART_SCALES; k < PARTS; k++)
                if (m.part[k])
                        f->used[m.part[k] - f->tensor] = true;
        good = good && scaled_make(f, &m);
        free(m.stem);
        return good;
}

/* ---- all ---- */

static bool is_active(const Finder *f, ScaledFormat format)
{
        return f->config->formats >> format & 1u;
}

/* Scales of activations, of keys and of values: weights do not depend on them. */
static bool is_of_activations(const char *name)
{
        static const char *const end[] = {".input_scale",
                                          ".input_zero_point",
                                          ".input_global_scale",
                                          ".output_scale",
                                          ".output_zero_point",
                                          ".activation_scale",
                                          ".input_scale_inv",
                                          ".k_scale",
                                          ".v_scale",
                                          ".input_scale_ub",
                                          ".q_scale"};
        for (size_t i = 0; i < sizeof end / sizeof *end; i++)
                if (text_ends_with(name, end[i]))
                        return true;
        return false;
}

/* Rejects a part without codes, or codes of another type. */
static bool check_left(const Finder *f, const CkTensor *t)
{
        static const char *const end[] = {".weight_scale", ".weight_scale_inv", ".weight_zero_point",
                                          ".weight_shape", ".weight_g_idx",     ".weight_global_scale",
                                          ".qzeros",       ".scales",           ".g_idx"};
        const bool by_columns =
                is_active(f, FORMAT_ACROSS) || is_active(f, FORMAT_DOWN) || is_active(f, FORMAT_DOWN_2);
        for (ScaledFormat k = 0; k < SCALED_FORMATS; k++)
                if (is_active(f, k) && *scaled_rows[k].codes && text_ends_with(t->name, scaled_rows[k].codes))
                        return ck_fail(f->err, "%s: tensor \"%s\" has type %s; expected %s, for codes",
                                       t->file->path, ck_quote(t->name).text, ck_type_name(t->dtype),
                                       ck_type_name(scaled_rows[k].type));
        for (size_t i = 0; i < sizeof end / sizeof *end; i++)
                if (text_ends_with(t->name, end[i]) && by_columns == (end[i][1] != 'w'))
                        return find_fail(f, t,
                                         "there are no codes to which it belongs, in a tensor of the "
                                         "same name and of a type that quantization_config gives");
        return true;
}

static bool take_all(Finder *f)
{
        for (int pass = 0; pass < 2; pass++) /* named codes first: their scales may have a type of codes */
                for (int i = 0; i < f->n; i++)
                        for (ScaledFormat k = 0; k < SCALED_FORMATS && !f->used[i] && !f->made[i]; k++) {
                                const char *codes = scaled_rows[k].codes;
                                const CkTensor *t = &f->tensor[i];
                                if (is_active(f, k) && (*codes == 0) == (pass == 1) &&
                                    t->dtype == scaled_rows[k].type && text_ends_with(t->name, codes) &&
                                    !is_of_activations(t->name) && !text_ends_with(t->name, "_scale") &&
                                    !scaled_take(f, i, k))
                                        return false;
                        }
        for (int i = 0; i < f->n; i++) {
                f->used[i] = f->used[i] || is_of_activations(f->tensor[i].name);
                if (!f->used[i] && !f->made[i] && !check_left(f, &f->tensor[i]))
                        return false;
        }
        return true;
}

bool scaled_find(CkTensor *tensor, int *n, ScaledConfig *config, CkError *err)
{
        Finder f = {.config = config, .tensor = tensor, .n = *n, .err = err};
        f.used = calloc((size_t)*n + 1, sizeof *f.used);
        f.made = calloc((size_t)*n + 1, sizeof *f.made);
        bool good = (f.used && f.made) || ck_lack(err, "%s: out of memory", config->path);
        if (good && *n)
                qsort(tensor, (size_t)*n, sizeof *tensor, compare_tensor_names);
        good = good && take_all(&f);
        int kept = 0;
        for (int i = 0; f.used && f.made && i < f.n; i++) {
                const bool replaced = f.used[i] || f.made[i];
                if (replaced)
                        free((void *)tensor[i].name);
                if (f.made[i])
                        tensor[kept++] = *f.made[i];
                else if (!replaced)
                        tensor[kept++] = tensor[i];
                free(f.made[i]);
        }
        *n = f.used && f.made ? kept : *n;
        free(f.used);
        free(f.made);
        return good;
}

bool scaled_have_config(const CkTensor *tensor, int n, const char *path, CkError *err)
{
        const CkTensor *scales = NULL, *codes = NULL;
        for (int i = 0; i < n; i++) {
                if (tensor[i].dtype == CK_F8_E4M3 || tensor[i].dtype == CK_F8_E5M2)
                        codes = &tensor[i];
                if ((text_ends_with(tensor[i].name, "_scale_inv") ||
                     text_ends_with(tensor[i].name, "weight_scale")) &&
                    !is_of_activations(tensor[i].name))
                        scales = &tensor[i];
        }
        if (!scales || !codes)
                return true;
        return ck_fail(
                err,
                "%s: tensor \"%s\", %s: the file has scales for such codes, as \"%s\"; expected %s with a "
                "quantization_config, which says how they are used",
                codes->file->path, ck_quote(codes->name).text, ck_type_name(codes->dtype),
                ck_quote(scales->name).text, path);
}
