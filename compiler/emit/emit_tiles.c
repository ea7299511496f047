/* Definitions for a target's kernels, before they are pasted: register tiles, and the storage of weights and
 * activations.  All products share the functions for tiles (runtime/matmul.h), so a file has only the tiles
 * that its products use. */
#include <string.h>

#include "emit_private.h"

bool has_tile(const Plan *p, Tile tile)
{
        for (int i = 0; i < p->all.n; i++)
                for (int s = 0; s < p->all.kernel[i]->product.nsegment; s++) {
                        const Segment *of = &p->all.kernel[i]->product.segment[s];
                        if (!storage_info[of->w[0]->storage].codes && of->tiling.rows == tile.rows &&
                            of->tiling.panels == tile.panels)
                                return true;
                }
        return false;
}

/* The tiles of a file's products, for weights as numbers and for codes. */
static void emit_tiles(const Plan *p, const Target *t, Text *c)
{
        text_printf(c, "#define TILES(T, of)");
        if (target_is_portable(p->target))
                text_printf(c, " T(of, %d, %d)", t->rows, t->panels);
        for (const Tile *tile = p->target->tile; tile->rows; tile++)
                if (has_tile(p, *tile))
                        text_printf(c, " T(of, %d, %d)", tile->rows, tile->panels);
        for (const Tile *tile = t->few; tile->rows; tile++)
                text_printf(c, " T(of, %d, %d)", tile->rows, tile->panels);
        text_printf(c, "\n");
        if (!graph_has_blocks(p->graph))
                return;
        text_printf(c, "#define CODE_ROWS %d\n#define CODE_TILES(T, of)", t->code_rows);
        for (const Tile *tile = t->code; tile->rows; tile++)
                text_printf(c, " T(of, %d, %d)", tile->rows, tile->panels);
        text_printf(c, "\n");
}

/* Storage types of the weights of products. */
static void emit_storages(const Plan *p, Text *c)
{
        bool used[STORAGE_COUNT] = {false};
        for (int i = 0; i < p->all.n; i++)
                for (int s = 0; s < p->all.kernel[i]->product.nsegment; s++)
                        used[p->all.kernel[i]->product.segment[s].w[0]->storage] = true;
        for (int s = 0; s < WEIGHT_STORAGES; s++)
                used[STORAGE_F32] |= used[s] && storage_is_narrow((Storage)s);
        text_printf(c, "#define STORAGES(S)");
        for (int s = 0; s < STORAGE_COUNT; s++)
                if (used[s])
                        text_printf(c, " S(%s, %s)", storage_info[s].codes ? "CODE_TILES" : "TILES",
                                    storage_info[s].name);
        text_printf(c, "\n\n");
}

/* Adds the storage types of keys, values and right operands of products of activations. */
static void add_states(const Plan *p, const StmtList *list, Text *states)
{
        for (int i = 0; i < list->n; i++) {
                const Stmt *s = &list->stmt[i];
                const bool attends = s->op == STMT_ATTENTION, multiplies = s->op == STMT_ACTIVATION_MATMUL;
                const Buffer *of[] = {attends      ? s->call.attention->k.buffer
                                      : multiplies ? s->call.activation->b.buffer
                                                   : NULL,
                                      attends ? s->call.attention->v.buffer : NULL};
                for (int j = 0; j < 2 && of[j]; j++) {
                        const char *state =
                                arena_printf(p->graph->arena, " S(%s)", storage_text(p->graph->arena, of[j]));
                        if (!strstr(states->data, state))
                                text_printf(states, "%s", state);
                }
                if (s->inside)
                        add_states(p, s->inside, states);
        }
}

void emit_states(const Plan *p, Text *c)
{
        Text *states = text_new(p->graph->arena);
        for (int i = 0; i < p->all.n; i++) {
                const Code *code = p->all.kernel[i]->code;
                for (int f = 0; code && f < code->n; f++)
                        add_states(p, &code->function[f]->body, states);
        }
        bool narrow = states->n && strcmp(states->data, " S(STORAGE_F32)") != 0;
        for (int i = 0; i < p->nbuffer; i++)
                narrow = narrow || p->buffer[i]->storage == STORAGE_Q8;
        if (narrow)
                text_printf(c, "#define STATES(S)%s\n\n", states->data);
}

void emit_tile(const Plan *p, const Target *t, Text *c)
{
        text_printf(c,
                    "/* Register tile of attention: rows by panels of 16; panels with four rows or fewer, "
                    "with one.  "
                    "Tiles of products, and storages of their weights. */\n"
                    "#define TILE_ROWS %d\n#define TILE_PANELS %d\n"
                    "#define FEW_PANELS %d\n#define ONE_PANELS %d\n#define TILE_NAME(of, rows, panels) "
                    "tile_##of##_##rows##x##panels##_%s\n",
                    t->rows, t->panels, t->few_panels, t->one_panels, t->name);
        emit_tiles(p, t, c);
        emit_storages(p, c);
}
