/*
 * The command line of an emitted model whose loop unmasks: its options and texts.
 *
 * Needs main_generate.h and model_unmask.h.
 */

/* Reads the value of an option of the loop into *to; 0: another option. */
static int unmask_option(char **argv, int i, UnmaskForm *to)
{
        const char *a = argv[i];
        if (!strcmp(a, "--block-length")) {
                to->block = (int64_t)option_number(argv, i, 1, 1e9);
                to->part = 0;
        } else if (!strcmp(a, "--steps")) {
                to->steps = (int64_t)option_number(argv, i, 1, 1e9);
        } else if (!strcmp(a, "--threshold")) {
                to->threshold = option_number(argv, i, 0, 1);
        } else if (!strcmp(a, "--guidance")) {
                to->guidance = option_number(argv, i, -1000, 1000);
        } else {
                return 0;
        }
        return 1;
}

static int session_step(void *of, int64_t done, int64_t masks)
{
        (void)of, (void)done, (void)masks;
#if HAS_TALK
        return is_interrupted;
#else
        return 0;
#endif
}

/* Completes tokens [n] and prints the answer, or the whole text if the prompt has masks. */
static int session_text(void *of, const int32_t *tokens, int64_t n, Generated *made)
{
        Session *s = of;
        const Options *o = &s->o;
        UnmaskForm form = o->form;
        UnmaskModel model = {s->m, NULL};
        for (int64_t i = 0; i < n; i++)
                if (tokens[i] == form.mask) {
                        show_begin(0);
                        form.length = 0;
                }
        form.length = o->steps < INT64_MAX ? o->steps : form.length;
        Unmasker u = {.form = &form,
                      .model = &model,
                      .predict_masks = unmask_model_predict,
                      .sampler = &s->o.sampler,
                      .sample = sample,
                      .of = s,
                      .show = session_show,
                      .on_step = session_step,
                      .tokens = tokens_of_loop,
                      .suppress = s->suppress,
                      .vocab = VOCAB,
                      .context = CONTEXT,
                      .kept_block = KEPT_BLOCK,
                      .hashes = o->common.hashes};
        const int64_t places = unmask_places(&form, n, CONTEXT);
        const double begin = clock_seconds();
        void *room = malloc(unmask_room(&form, VOCAB, places));
        model.room = malloc((size_t)unmask_call_room(CONTEXT) * sizeof *model.room + 1);
        int error = $MODEL_ERROR_MEMORY;
        *made = (Generated){0};
        if (room && model.room) {
                unmask_lay(&u, places, room);
                error = unmask_error(unmask_run(&u, tokens, n, made));
        }
        free(room);
        free(model.room);
        session_text_end(o, made);
        if (o->verbose)
                terminal_print(stderr, "%lld new tokens, %lld calls of the model in %.1f ms\n", (long long)made->made, (long long)made->calls,
                        1e3 * (clock_seconds() - begin));
        return error;
}
