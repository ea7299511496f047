/* Settings of sampling of `loop generate`, and the defaults of conversations. */
#include "driver.h"

/* Of a conversation without a temperature: likely answers, but no endless repetitions. */
static const double talk_temperature = 0.7, talk_top_p = 0.9;
static const char talk_default[] = "the defaults of conversations";

/* Whether an encoder reads the text or the sound, and the output is a translation or a transcription of it. */
static bool is_of_encoder(const Graph *g)
{
        const Input *ids = g->fed_separately ? text_input(g) : NULL;
        return graph_loop(g, "transcribe") || (ids && is_fed_separately(g, ids->group));
}

LoopSampling loop_sampling(const Graph *g, const CommandOptions *o, bool talks)
{
        const bool encoded = is_of_encoder(g), unmasks = graph_loop(g, "unmask") != NULL;
        const Loop *all = graph_loop(g, "generate"), *l = encoded ? NULL : all;
        const bool usual = talks && !encoded && !unmasks && !loop_setting(l, "temperature");
        const Sampling own = {
                .temperature = (float)loop_number_setting(l, "temperature", usual ? talk_temperature : 0),
                .top_k = (int)loop_number_setting(l, "top_k", 0),
                .top_p = (float)loop_number_setting(l, "top_p", usual ? talk_top_p : 1),
                .min_p = (float)loop_number_setting(l, "min_p", 0),
                .repetition = unmasks ? 0 : (float)loop_number_setting(all, "repetition_penalty", 0)};
        const char *source =
                arena_printf(g->arena, "as in %s", o->source.sampling ? o->source.sampling : "loop generate");
        return (LoopSampling){own, !usual ? source
                                   : loop_setting(l, "repetition_penalty")
                                           ? arena_printf(g->arena, "%s, and %s", talk_default, source)
                                           : talk_default};
}

BeamOptions beams_settled(const Graph *g, const CommandOptions *o)
{
        const Loop *l = graph_loop(g, "generate");
        const bool talks = loop_setting(l, "user") && !o->given[OPT_RAW];
        BeamOptions b = o->beams;
        if (!o->given[OPT_BEAMS] && !talks && beams_are_open(o))
                b = (BeamOptions){.beams = (int)loop_number_setting(l, "beams", 0),
                                  .length_penalty = (float)loop_number_setting(l, "length_penalty", 1),
                                  .early = loop_number_setting(l, "early_stopping", 0) != 0};
        b.beams = b.beams > 1 ? b.beams : 0;
        return b;
}

SettledSampling sampling_settled(const Graph *g, const CommandOptions *o, bool talks)
{
        const bool plain = o->given[OPT_HASH] || o->beams.beams;
        const LoopSampling l = loop_sampling(g, o, talks);
        const Sampling own = plain ? (Sampling){.top_p = 1} : l.own;
        SettledSampling s = {.sampler = o->sampler, .penalties = o->penalties};
        sampling_note(&own, &s.sampler, &s.penalties, l.source, s.note);
        sampling_settle(&own, &s.sampler, &s.penalties);
        if (o->beams.beams && !o->given[OPT_BEAMS])
                snprintf(s.note, sizeof s.note,
                         "%d beams, %s; --beams 1 takes the most likely token at each step", o->beams.beams,
                         l.source);
        return s;
}
