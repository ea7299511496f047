/* Formats by their first bytes. */
#include "weights.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { LOOKED_AT = 4096, LONGEST_TOKEN = 4096 };

static bool begins(const unsigned char *data, int64_t n, const char *with)
{
        return n >= (int64_t)strlen(with) && !memcmp(data, with, strlen(with));
}

static bool has(const unsigned char *data, int64_t n, const char *text)
{
        int64_t length = (int64_t)strlen(text), end = (n < LOOKED_AT ? n : LOOKED_AT) - length;
        for (int64_t at = 0; at <= end; at++)
                if (!memcmp(data + at, text, (size_t)length))
                        return true;
        return false;
}

static bool is_json(const unsigned char *data, int64_t n)
{
        return n > 1 && data[0] == '{' && data[1] && strchr("\" \t\r\n}", data[1]);
}

static bool is_hugging_face(const unsigned char *data, int64_t n)
{
        return is_json(data, n) && has(data, n, "\"version\"") &&
               (has(data, n, "\"added_tokens\"") || has(data, n, "\"model\""));
}

/* what came before GGUF: ggml, ggmf, ggjt, as numbers */
static bool is_ggml(const unsigned char *data, int64_t n)
{
        return begins(data, n, "lmgg") || begins(data, n, "fmgg") || begins(data, n, "tjgg");
}

static bool is_gguf(const unsigned char *data, int64_t n)
{
        return begins(data, n, "GGUF");
}

/* a list of BPE's merges, as vocab.bpe */
static bool is_merges(const unsigned char *data, int64_t n)
{
        return begins(data, n, "#version");
}

/* A message of protocol buffers that begins with a piece, which begins with its text. */
static bool is_sentencepiece(const unsigned char *data, int64_t n)
{
        return n > 4 && data[0] == '\n' && data[1] > 2 && data[1] < 0x80 && data[2] == '\n' &&
               data[3] < data[1];
}

/* Lines of a token in base 64 and its number. */
static bool is_tiktoken(const unsigned char *data, int64_t n)
{
        int64_t at = 0;
        while (at < n && at < LOOKED_AT && data[at] > ' ' && data[at] < 0x7f)
                at++;
        return at >= 4 && at % 4 == 0 && at + 2 < n && data[at - 1] == '=' && data[at] == ' ' &&
               data[at + 1] == '0' && data[at + 2] == '\n';
}

static bool is_zip(const unsigned char *data, int64_t n)
{
        return begins(data, n, "PK\3\4");
}

static bool is_pickle(const unsigned char *data, int64_t n)
{
        return n > 2 && data[0] == 0x80 && data[1] >= 2 && data[1] <= 5 && data[2] > ' ';
}

static bool is_numpy(const unsigned char *data, int64_t n)
{
        return begins(data, n, "\x93NUMPY");
}

static bool is_hdf5(const unsigned char *data, int64_t n)
{
        return begins(data, n, "\x89HDF");
}

static bool is_safetensors(const unsigned char *data, int64_t n)
{
        uint64_t header = 0;
        if (n < 10)
                return false;
        memcpy(&header, data, sizeof header);
        return header <= (uint64_t)n - 8 && data[8] == '{' && (data[9] == '"' || data[9] == '}');
}

static bool is_packed(const unsigned char *data, int64_t n)
{
        return begins(data, n, "lathe 1\n");
}

/* The longest token's length; of the first token its score, which is no tiny number as the bits of an integer are, and its length. */
static bool is_llama2c_tokenizer(const unsigned char *data, int64_t n)
{
        int32_t longest, length;
        float score;
        if (n < 13)
                return false;
        memcpy(&longest, data, sizeof longest);
        memcpy(&score, data + 4, sizeof score);
        memcpy(&length, data + 8, sizeof length);
        return longest >= 1 && longest <= LONGEST_TOKEN && length >= 1 && length <= longest &&
               (score == 0 || isnormal(score));
}

const char llama2c_tokenizer[] = "a tokenizer of llama2.c's";

static const struct {
        bool (*is)(const unsigned char *data, int64_t n);
        const char *name;
} format_table[] = {
        {is_hugging_face, "a tokenizer.json of Hugging Face's"},
        {is_json, "JSON"},
        {is_gguf, "a GGUF file"},
        {is_ggml, "a GGML file from before GGUF"},
        {is_merges, "a list of BPE's merges"},
        {is_sentencepiece, "a SentencePiece model"},
        {is_tiktoken, "a vocabulary of tiktoken's"},
        {is_zip, "a PyTorch archive, whose tensors can be saved as safetensors"},
        {is_pickle, "a pickle, as PyTorch wrote, whose tensors can be saved as safetensors"},
        {is_numpy, "an array of numpy's"},
        {is_hdf5, "an HDF5 file"},
        {is_packed, "weights that lathe build packed"},
        {is_safetensors, "a safetensors file"},
        {is_llama2c_tokenizer, llama2c_tokenizer},
};

const char *format_of(const unsigned char *data, int64_t n)
{
        for (size_t i = 0; i < sizeof format_table / sizeof *format_table; i++)
                if (format_table[i].is(data, n))
                        return format_table[i].name;
        return NULL;
}
