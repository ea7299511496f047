/* The time, for what is reported of speed. */
#ifndef CLOCK_H
#define CLOCK_H

double seconds(void); /* since some moment; never set back */
#endif
