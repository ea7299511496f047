/*
 * Settings of a loop that choose tokens: of Sampler and Penalties (generation.h), those that a model states.
 */

typedef struct {
        float temperature;
        int top_k;
        float top_p, min_p, repetition;
} Sampling;
