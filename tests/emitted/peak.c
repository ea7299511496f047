/*
 * The most memory that a program was resident with, in bytes, on standard error; what the program prints is thrown away.
 *   usage: peak PROGRAM ARGUMENTS...
 */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
        struct rusage used;
        int status;
        if (argc < 2)
                return 2;
        pid_t child = fork();
        if (child == 0) {
                dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
                execv(argv[1], argv + 1);
                _exit(127);
        }
        if (child < 0 || wait4(child, &status, 0, &used) != child || !WIFEXITED(status) ||
            WEXITSTATUS(status))
                return 1;
        fprintf(stderr, "%lld\n", (long long)used.ru_maxrss * 1024);
        return 0;
}
