/*
 * The steps of a beam search, for which beams.h has the definition.
 *
 * Sums run in double, in the order of the tokens.  Needs guard.h, a v16 header, math.h, sampler.h and beams.h.
 */

/* log of the sum of exp(logit); max: the largest logit. */
static inline float beams_log_sum(const float *logits, int64_t vocab, float max)
{
        double sum = 0;
        float lane[16];
        for (int64_t i = 0; i < vocab; i += 16) {
                const int lanes = vocab - i < 16 ? (int)(vocab - i) : 16;
                v_store(lane, v_exp(v_sub(v_load_n(logits + i, lanes), v_set1(max))));
                for (int k = 0; k < lanes; k++)
                        sum += lane[k] == lane[k] ? (double)lane[k] : 0;
        }
        v_store(lane, v_log(v_set1((float)sum)));
        return lane[0];
}

/* Tokens whose logit is +inf are certain: they share all of the probability.  Returns the largest of the logits, now 0. */
static inline float beams_certain(float *logits, int64_t vocab)
{
        for (int64_t i = 0; i < vocab; i++)
                logits[i] = logits[i] == FLOAT_INF ? 0 : -FLOAT_INF;
        return 0;
}

/* Inserts a choice into the sorted best [n], if it is among the best `most`.  Returns the new count. */
static inline int beams_offer(BeamChoice *best, int n, int most, BeamChoice new)
{
        if (n == most && !(new.score > best[n - 1].score))
                return n;
        int at = n < most ? n : n - 1;
        for (; at > 0 && new.score > best[at - 1].score; at--)
                best[at] = best[at - 1];
        best[at] = new;
        return n < most ? n + 1 : n;
}

/* The best continuations by logits [active][vocab].  rule_out() then sets the logits of forbidden tokens to -inf, or returns the
 * prescribed token. */
static inline int beams_choose(const Beams *b, float *logits, BeamRules *rule_out, void *of)
{
        int n = 0;
        for (int beam_at = 0; beam_at < b->active; beam_at++) {
                float *x = logits + beam_at * b->vocab;
                float max = sampler_max(x, (int)b->vocab);
                if (max == FLOAT_INF)
                        max = beams_certain(x, b->vocab);
                const float log_sum = beams_log_sum(x, b->vocab, max);
                const int32_t only = rule_out(of, beam_at, x);
                if (only >= 0)
                        n = beams_offer(b->beam_choice, n, 2 * b->beam_count,
                                        (BeamChoice){b->score[beam_at], beam_at * b->vocab + only});
                for (int64_t i = 0; i < b->vocab && only < 0; i++)
                        if (x[i] > -FLOAT_INF)
                                n = beams_offer(
                                        b->beam_choice, n, 2 * b->beam_count,
                                        (BeamChoice){b->score[beam_at] + (double)(x[i] - max - log_sum),
                                                     beam_at * b->vocab + i});
        }
        return n;
}

static inline double beams_worth(const Beams *b, double score, int64_t length)
{
        float lane[16];
        v_store(lane, v_pow(v_set1((float)length), v_set1(b->penalty)));
        return score / (double)lane[0];
}

/* Inserts a finished text: that of the choice's beam before the step, then `token` unless it is negative. */
static inline void beams_finish(Beams *b, BeamChoice c, int32_t token)
{
        const double beam_worth = beams_worth(b, c.score, b->made + 1);
        int at = b->done;
        for (; at > 0 && beam_worth > b->beam_worth[at - 1]; at--) {
                b->beam_worth[at] = b->beam_worth[at - 1];
                b->length[at] = b->length[at - 1];
                memcpy(b->text + at * b->steps, b->text + (at - 1) * b->steps,
                       (size_t)b->length[at] * sizeof *b->text);
        }
        b->beam_worth[at] = beam_worth;
        memcpy(b->text + at * b->steps, b->before + c.at / b->vocab * b->steps,
               (size_t)b->made * sizeof *b->text);
        b->length[at] = b->made;
        if (token >= 0)
                b->text[at * b->steps + b->length[at]++] = token;
        b->done += b->done < b->beam_count;
}

static inline int beams_stops(const Beams *b, int32_t token)
{
        for (int i = 0; b->stop[i] >= 0; i++)
                if (b->stop[i] == token)
                        return 1;
        return 0;
}

/*
 * Extends each beam by one token, by logits [active][vocab], which are overwritten.  Beam i < active then continues beam parent_beam[i], and
 * its last token is tokens[i * steps + made - 1].  Returns 0 if the search has ended: then text, length and worth are [done], with at least
 * one text unless no token could be chosen.
 */
static inline int beams_step(Beams *b, float *logits, BeamRules *rule_out, void *of)
{
        const int choice_count = beams_choose(b, logits, rule_out, of), last = b->made + 1 == b->steps;
        int active = 0;
        memcpy(b->before, b->tokens, (size_t)(b->active * b->steps) * sizeof *b->tokens);
        for (int i = 0; i < choice_count && active < b->beam_count; i++) {
                const BeamChoice c = b->beam_choice[i];
                const int32_t token = (int32_t)(c.at % b->vocab);
                const int is_stop = beams_stops(b, token);
                if ((is_stop || last) && i < b->beam_count)
                        beams_finish(b, c, is_stop ? -1 : token);
                if (is_stop || last)
                        continue;
                b->parent_beam[active] = (int32_t)(c.at / b->vocab);
                b->score[active] = c.score;
                memcpy(b->tokens + active * b->steps, b->before + b->parent_beam[active] * b->steps,
                       (size_t)b->made * sizeof *b->tokens);
                b->tokens[active++ * b->steps + b->made] = token;
        }
        b->active = active;
        b->made++;
        if (active == 0)
                return 0;
        return b->done < b->beam_count ||
               (!b->early_end && beams_worth(b, b->score[0], b->made) > b->beam_worth[b->done - 1]);
}
