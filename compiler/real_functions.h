/* exp, log, sin, cos, tanh, erf and pow in double: within 0.51 units of the last place, the same bits on every
 * machine.  Whatever becomes a number in the graph, a table or a weight is computed by these and not by libm. */
#ifndef LATHE_REAL_FUNCTIONS_H
#define LATHE_REAL_FUNCTIONS_H

double real_exp(double x);
double real_log(double x);
double real_sin(double x);
double real_cos(double x);
double real_tanh(double x);
double real_erf(double x);
double real_pow(double x, double y); /* the ends are those of IEEE 754 */

#endif
