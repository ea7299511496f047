/*
 * An instance with threads in children that fork() makes: they compute the same bits, and end.  A child that hangs is ended
 * by its alarm.
 *   usage: fork WEIGHTS THREADS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tale.h"

enum { STEPS = 20 };

static float expected[STEPS][TALE_VOCAB];

/* Positions from `from` on give the logits that one process alone found. */
static int goes_on(tale *m, int from)
{
        static float logits[TALE_VOCAB];
        int good = 1;
        for (int i = from; i < STEPS && good; i++)
                good = tale_step(m, i % 7, logits) == TALE_OK && !memcmp(logits, expected[i], sizeof logits);
        return good;
}

static int free_only(tale *m)
{
        tale_free(m);
        return 1;
}

static int step_and_free(tale *m)
{
        int good = goes_on(m, STEPS / 2);
        tale_free(m);
        return good;
}

static int in_child(tale *m, int (*work)(tale *));

static int step_in_grandchild(tale *m)
{
        return in_child(m, step_and_free) && in_child(m, free_only) && step_and_free(m);
}

static int grandchild_of_idle(tale *m)
{
        return in_child(m, step_and_free) && free_only(m);
}

/* 1 if `work` returned 1 in a child of this process. */
static int in_child(tale *m, int (*work)(tale *))
{
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
                alarm(60);
                _exit(work(m) ? 0 : 1);
        }
        int status = 1;
        return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void say(const char *what, int good)
{
        printf("%s: %s\n", what, good ? "good" : "wrong");
}

int main(int argc, char **argv)
{
        int error = 0, threads = argc == 3 ? atoi(argv[2]) : 0;
        tale *m = tale_new(argv[1], threads, &error);
        if (!m)
                return 2;
        say("a child of an instance that has not run", in_child(m, free_only));
        for (int i = 0; i < STEPS; i++)
                error |= tale_step(m, i % 7, expected[i]);
        if (error || tale_rewind(m, STEPS / 2))
                return 2;
        say("a child that frees", in_child(m, free_only));
        say("a child that steps and frees", in_child(m, step_and_free));
        say("a child that forks after it has run", in_child(m, step_in_grandchild));
        say("a child that forks and has not run", in_child(m, grandchild_of_idle));
        say("the parent", goes_on(m, STEPS / 2));
        tale_free(m);
        return 0;
}
