/*
 * A command line's sound.  $model and $MODEL are the model's name.
 *
 * Needs wav.h, main_shell.h, transcribe_feed(), SAMPLE_RATE and SAMPLES.
 */

/* Feeds a WAV file, followed by silence; returns an error, or -1 or -3 after a message. */
static int hear($model *m, const char *path)
{
        WavHead head;
        size_t size = 0;
        const uint8_t *bytes = (const uint8_t *)read_whole_file(path, &size);
        if (!bytes)
                return -3;
        const int fault = wav_head(bytes, (int64_t)size, &head);
        const int64_t n = fault ? 0 : head.size / head.block;
        float *samples = calloc((size_t)(n > SAMPLES ? n : SAMPLES), sizeof *samples);
        int error = samples ? -1 : $MODEL_ERROR_MEMORY;
        char note[WAV_NOTE] = "";
        if (!fault)
                wav_note(&head, note);
        if (note[0])
                terminal_print(stderr, "note: %s: %s\n", path, note);
        if (fault)
                terminal_print(stderr, "%s: %s\n", path, wav_fault(fault));
        else if (head.rate != SAMPLE_RATE)
                terminal_print(stderr, "%s: it has %lld samples per second; the model requires %d: "
                               "`ffmpeg -i FILE -ac 1 -ar %d NEW.wav` converts it\n", path,
                        (long long)head.rate, SAMPLE_RATE, SAMPLE_RATE);
        else if (n > SAMPLES)
                terminal_print(stderr, "%s: it has %lld samples; the model takes at most %lld\n", path, (long long)n, (long long)SAMPLES);
        else if (samples && wav_samples(&head, bytes, samples) >= 0)
                terminal_print(stderr, "%s: a sample is not a finite number\n", path);
        else if (samples)
                error = transcribe_feed(m, samples);
        free(samples);
        free((void *)(uintptr_t)bytes);
        return error;
}
