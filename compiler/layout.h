/* What the parts of layout have in common: layout.c, place.c, layout_repeat.c. */
#ifndef LAYOUT_H
#define LAYOUT_H
#include "plan.h"

Buffer *buffer_new(Plan *p, Home home, const Type *t, const char *name);
Element element_of(const Plan *p, const Node *n); /* of a buffer that holds its values */
int element_floats(Element e);                    /* how many floats it takes */
/* The last axis innermost, named dimensions outermost, the rest in order between; `tiled` (or -1) counts in tiles of 16. */
void lay_out(const Plan *p, Buffer *b, int tiled);

/* place.c */
Buffer *part_buffer(Plan *p, Buffer *whole, const Type *t, const Layout *l, const char *name);
bool is_computed(const Fuse *f, const Node *n); /* by a kernel, or part by part */
/* A kernel of `body`, at place `at`, that copies n. */
void copy_kernel(Fuse *f, Node *n, Buffer *to, Body *body, int at);
/* n lies in a buffer where a kernel can't read it as it has to: it is copied from there first. */
void copy_to_read(Fuse *f, Node *n, Buffer *from);
/* n's value lies in `to`, and what it is put together from in parts of that. */
void settle(Fuse *f, Node *n, Buffer *to);
/* n's value shall lie in `to`: computed there if it can be, else copied there by a kernel of `body` at place `at`. */
void place(Fuse *f, Node *n, Buffer *to, Body *body, int at);

/* layout_repeat.c */
void lay_repeat(Fuse *f, Node *repeat);
#endif
