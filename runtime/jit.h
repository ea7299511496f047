/*
 * Declarations before code for libtcc, which has neither headers nor a library: types, and names of lathe's functions.  The
 * kernels' declarations follow, from the table of kernels.c.
 */
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned long size_t;

#define NULL ((void *)0)
#define offsetof(type, member) ((size_t)&((type *)0)->member)
#define FLOAT_INF (1.0f / 0.0f)
#define FLOAT_MINUS_INF (-1.0f / 0.0f)
#define FLOAT_NAN (0.0f / 0.0f)
#define KERNEL static
#define STEP static

/* a vector: its 16 lanes in memory; the first argument of a function that makes one is where it goes */
typedef float v16[16];
typedef double f64x16[16]; /* wide integers */

typedef struct Team Team;
void team_barrier(Team *team);
