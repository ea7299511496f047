/* The report of lathe verify --text, as text or as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "accuracy_private.h"

enum { ROOM_FOR_PATH = 32 };

/* --- as text --- */

static void print_heading(const Accuracy *a)
{
        const Windows *t = &a->text;
        printf("%s: %" PRId64 " tokens of %s predicted, in windows of %" PRId64 "\n", a->exact.m.graph->name,
               tokens_predicted(t), strcmp(a->o.text_file, "-") ? a->o.text_file : "standard input", t->most);
}

static void print_pair(const char *what, double exact, double narrow, bool both)
{
        printf("%-*s  %12.6g", ROOM_FOR_PATH, what, exact);
        if (both)
                printf("  %12.6g", narrow);
        printf("\n");
}

static void report_whole_text(const Accuracy *a, Predictions *p)
{
        bool both = has_narrow(&a->o);
        print_heading(a);
        if (both)
                printf("%-*s  %12s  %12s\n", ROOM_FOR_PATH, "", "exact", "narrow");
        print_pair("weights, MB", 1e-6 * (double)a->exact.plan->bytes.weights,
                   both ? 1e-6 * (double)a->narrow.plan->bytes.weights : 0, both);
        if (a->o.kv != STORAGE_F32)
                print_pair("keys and values, MB", 1e-6 * (double)a->exact.plan->bytes.state,
                           1e-6 * (double)a->narrow.plan->bytes.state, both);
        print_pair("perplexity", predictions_perplexity(p, false), both ? predictions_perplexity(p, true) : 0,
                   both);
        if (!both)
                return;
        printf("KL divergence, nats               mean %.4g, 99 %% of positions to %.4g, largest %.4g\n",
               predictions_divergence(p), predictions_quantile(p, 0.99), predictions_quantile(p, 1));
        printf("another token is the likeliest    at %" PRId64 " of %" PRId64 " positions, %.4g %%\n",
               p->changed, p->n, 100 * (double)p->changed / (double)p->n);
}

/* Number of weights shown, of those with the largest effect. */
static int contributors_shown(const Accuracy *a)
{
        return a->nweight < a->o.top ? a->nweight : a->o.top;
}

static void print_contributors(const Accuracy *a)
{
        const int shown = contributors_shown(a);
        printf("\nEach weight rounded by itself, at the first %" PRId64 " position%s", a->nkept,
               a->nkept == 1 ? "" : "s");
        if (shown < a->nweight)
                printf("; the %d largest of %d", shown, a->nweight);
        printf(":\n%-*s  %-8s  %10s  %10s  %13s\n", ROOM_FOR_PATH, "weight", "storage", "MB", "rms error",
               "KL divergence");
        for (int i = 0; i < shown; i++) {
                const Contributor *c = &a->weight[i];
                printf("%-*s  %-8s  %10.4g  %10.4g  %13.4g\n", ROOM_FOR_PATH, c->path,
                       storage_info[c->storage].text, 1e-6 * c->bytes, c->error, c->divergence);
        }
}

/* --- as JSON --- */

/* {"exact": .., "narrow": ..}; takes ownership of both */
static void report_pair(json_t *to, const char *name, json_t *exact, json_t *narrow)
{
        json_object_set_new(to, name, json_pack("{s:o, s:o}", "exact", exact, "narrow", narrow));
}

static void add_bytes_of(json_t *to, const char *name, int64_t exact, const int64_t *narrow)
{
        report_pair(to, name, json_integer((json_int_t)exact),
                    narrow ? json_integer((json_int_t)*narrow) : json_null());
}

static json_t *whole_as_json(const Accuracy *a, Predictions *p)
{
        const bool both = has_narrow(&a->o);
        const Windows *t = &a->text;
        json_begin();
        json_t *all =
                json_pack("{s:s, s:s, s:I, s:I}", "model", a->exact.m.graph->name, "text", a->o.text_file,
                          "predicted", (json_int_t)tokens_predicted(t), "window", (json_int_t)t->most);
        const Plan *exact = a->exact.plan, *narrow = a->narrow.plan;
        add_bytes_of(all, "weights_bytes", exact->bytes.weights, both ? &narrow->bytes.weights : NULL);
        add_bytes_of(all, "state_bytes", exact->bytes.state, both ? &narrow->bytes.state : NULL);
        report_pair(all, "perplexity", json_finite(predictions_perplexity(p, false)),
                    both ? json_finite(predictions_perplexity(p, true)) : json_null());
        if (both)
                json_object_set_new(all, "divergence",
                                    json_pack("{s:o, s:o, s:o}", "mean",
                                              json_finite(predictions_divergence(p)), "of_99_percent",
                                              json_finite(predictions_quantile(p, 0.99)), "largest",
                                              json_finite(predictions_quantile(p, 1))));
        if (both)
                json_object_set_new(all, "another_likeliest", json_integer((json_int_t)p->changed));
        return all;
}

static void add_contributors(const Accuracy *a, json_t *to)
{
        json_t *list = json_array();
        for (int i = 0; i < contributors_shown(a); i++) {
                const Contributor *c = &a->weight[i];
                json_array_append_new(list,
                                      json_pack("{s:s, s:s, s:I, s:o, s:o}", "name", c->path, "storage",
                                                storage_info[c->storage].text, "bytes", (json_int_t)c->bytes,
                                                "rms_error", json_finite(c->error), "divergence",
                                                json_finite(c->divergence)));
        }
        json_object_set_new(to, "sampled", json_integer((json_int_t)a->nkept));
        json_object_set_new(to, "weights", list);
}

/* --- either --- */

void report_accuracy(Accuracy *a, Predictions *p)
{
        if (a->o.given[OPT_JSON])
                a->report = whole_as_json(a, p);
        else
                report_whole_text(a, p);
        fflush(stdout);
}

void report_contributors(Accuracy *a)
{
        if (a->report)
                add_contributors(a, a->report);
        else
                print_contributors(a);
}

bool report_accuracy_end(Accuracy *a)
{
        json_t *all = a->report;
        a->report = NULL;
        return !a->o.given[OPT_JSON] || json_write(all);
}
