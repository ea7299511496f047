/* What must not outlive the process: files written aside, folders for a while, processes that work for us.
 *
 * A signal, memory that is short in the middle of a pass, libtcc that gives up, a mapped file that has become shorter: whatever
 * ends the process early ends those processes and removes those files first.  The table is for the whole process, since signals
 * are; what was forked owns nothing of its parent's.  What is added has to stay where it is until it is removed. */
#ifndef ENDING_H
#define ENDING_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Each returns a number for ending_forget(); -1, which that does nothing with, if the table is full. */
int ending_file(const char *path);
int ending_folder(const char *path, const char *const *inside); /* names in it, NULL behind them */
int ending_process(pid_t process);                              /* negative: a group of them */
int ending_mapping(const void *at, size_t size, const char *path);
void ending_forget(int entry);

/* From now on signals that end the process clean up first, but for those that it was told to ignore; and so does exit() from
 * within libtcc. */
void ending_watch(void);
void ending_catch(int signal_number); /* one signal again, after a handler of its own */

/* Ends a child, or the group of one, and waits for it: asked at first, and killed if it takes its time. */
void end_process(pid_t process);

/* A message, and the process ends with the exit code for a failed environment. */
_Noreturn void end_without_memory(void);

/* libtcc ends the process where memory is short: between these two that is reported, with what it said last. */
void ending_enter_tcc(const char *const *said);
void ending_leave_tcc(void);
#endif
