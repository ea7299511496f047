/* lathe golden check --review: shows the changes of golden files one by one, and writes the accepted ones. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands_private.h"

typedef enum { ACCEPT, KEEP, QUIT } ReviewAnswer;

typedef struct {
        const CommandOptions *o;
        bool all;                     /* all further changes are accepted */
        int same, accepted, left, at; /* numbers of files */
        int code;                     /* the worst exit code of results that can't be computed or written */
} Review;

static void review_explain(void)
{
        printf("a  accept: the file is written with what is found now\n"
               "k  keep: the file stays as it is, and checks go on to fail\n"
               "A  accept this one and all that come\n"
               "q  quit: this one and all that come stay; what was accepted before is written\n");
}

/* At the end of input: quit. */
static ReviewAnswer review_ask(Review *r)
{
        char line[256];
        for (;;) {
                printf("accept it? [a, k, A, q, ?] ");
                fflush(stdout);
                if (!fgets(line, sizeof line, stdin)) {
                        printf("\n");
                        return QUIT;
                }
                size_t n = strcspn(line, "\n");
                if (!isatty(STDIN_FILENO))
                        printf("%.*s\n", (int)(n < 40 ? n : 40), line);
                const bool whole = line[n] == '\n' || feof(stdin);
                while (!whole && fgets(line + 1, sizeof line - 1, stdin) && !strchr(line + 1, '\n'))
                        ;
                while (n && (line[n - 1] == ' ' || line[n - 1] == '\r'))
                        n--;
                const char *answer = n == 1 && whole ? strchr("akAq", line[0]) : NULL;
                if (answer) {
                        r->all = *answer == 'A';
                        return *answer == 'k' ? KEEP : *answer == 'q' ? QUIT : ACCEPT;
                }
                if (!(n == 1 && line[0] == '?'))
                        printf("%.*s is not an answer:\n", (int)(n < 40 ? n : 40),
                               n ? line : "an empty line");
                review_explain();
        }
}

static void worse(Review *r, int code)
{
        r->code = code > r->code ? code : r->code;
}

/* Shows the changes and handles the answer; false: quit. */
static bool review_decide(Review *r, Golden *was, Golden *is, const Text *log)
{
        printf("changed %s (%d of %d)\n%s", was->path, r->at, r->o->nfile - 1, log->data ? log->data : "");
        const ReviewAnswer answer = r->all ? ACCEPT : review_ask(r);
        if (answer == QUIT)
                return false;
        if (answer == KEEP) {
                r->left++;
                return true;
        }
        input_to_replace(is->path);
        if (golden_write(is)) {
                r->accepted++;
                printf("accepted %s\n", was->path);
                return true;
        }
        r->left++;
        worse(r, WRONG_ENVIRONMENT);
        return true;
}

static bool review_one(Review *r, const char *path)
{
        Golden was, is;
        bool goes_on = true;
        if (!golden_read_twice(path, r->o, &was, &is)) {
                worse(r, was.code ? was.code : is.code);
                r->left++;
                arena_free(&was.arena);
                arena_free(&is.arena);
                return true;
        }
        Text *log = text_new(&is.arena);
        const char *wrong = golden_run(&is, target_find("native"), JUST_IN_TIME);
        if (wrong) {
                fprintf(stderr, "lathe golden: %s: %s\n", path, wrong);
                worse(r, is.code);
                r->left++;
        } else if (golden_compare(log, &was, &is, r->o->bound)) {
                printf("ok %s\n", path);
                r->same++;
        } else
                goes_on = review_decide(r, &was, &is, log);
        arena_free(&was.arena);
        arena_free(&is.arena);
        return goes_on;
}

int golden_review(const CommandOptions *o)
{
        Review r = {.o = o, .code = DONE};
        const int n = o->nfile - 1;
        for (r.at = 1; r.at <= n && review_one(&r, o->file[r.at]); r.at++)
                ;
        if (r.at <= n) {
                r.left += n - r.at + 1;
                printf("ended before %s; what was accepted is written\n", o->file[r.at]);
        }
        printf("%d unchanged, %d accepted, %d not accepted\n", r.same, r.accepted, r.left);
        return r.code ? r.code : r.left ? WRONG_INPUT : DONE;
}
