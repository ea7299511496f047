/* File formats by their first bytes: supported ones, and common unsupported ones with advice. */
#include "base.h"

#include <ctype.h>
#include <math.h>
#include <sys/stat.h>
#include <stdbool.h>
#include <string.h>

enum { FORMAT_BYTES = 4096 /* are enough */, LONGEST_TOKEN = 4096 };

static bool data_begins(const unsigned char *data, int64_t n, const char *with)
{
        return n >= (int64_t)strlen(with) && !memcmp(data, with, strlen(with));
}

static bool has(const unsigned char *data, int64_t n, const char *text)
{
        int64_t length = (int64_t)strlen(text), end = (n < FORMAT_BYTES ? n : FORMAT_BYTES) - length;
        for (int64_t at = 0; at <= end; at++)
                if (!memcmp(data + at, text, (size_t)length))
                        return true;
        return false;
}

static bool is_json(const unsigned char *data, int64_t n)
{
        return n > 1 && data[0] == '{' && data[1] && strchr("\" \t\r\n}", data[1]);
}

static bool is_tokenizer_json(const unsigned char *data, int64_t n)
{
        return is_json(data, n) && has(data, n, "\"version\"") &&
               (has(data, n, "\"added_tokens\"") || has(data, n, "\"model\""));
}

/* predecessors of GGUF: ggml, ggmf, ggjt, as numbers */
static bool is_ggml(const unsigned char *data, int64_t n)
{
        return data_begins(data, n, "lmgg") || data_begins(data, n, "fmgg") || data_begins(data, n, "tjgg");
}

static bool is_gguf(const unsigned char *data, int64_t n)
{
        return data_begins(data, n, "GGUF");
}

/* a list of BPE merges, as vocab.bpe */
static bool is_merges(const unsigned char *data, int64_t n)
{
        return data_begins(data, n, "#version");
}

/* A message of protocol buffers that begins with a piece, which begins with its text. */
static bool is_sentencepiece(const unsigned char *data, int64_t n)
{
        return n > 4 && data[0] == '\n' && data[1] > 2 && data[1] < 0x80 && data[2] == '\n' &&
               data[3] < data[1];
}

/* Lines with a token in base 64 and its number. */
static bool is_tiktoken(const unsigned char *data, int64_t n)
{
        int64_t at = 0;
        while (at < n && at < FORMAT_BYTES && data[at] > ' ' && data[at] < 0x7f)
                at++;
        return at >= 4 && at % 4 == 0 && at + 2 < n && data[at - 1] == '=' && data[at] == ' ' &&
               data[at + 1] == '0' && data[at + 2] == '\n';
}

static bool is_zip(const unsigned char *data, int64_t n)
{
        return data_begins(data, n, "PK\3\4");
}

static bool is_numpy_archive(const unsigned char *data, int64_t n)
{
        return is_zip(data, n) && has(data, n, ".npy");
}

static bool is_keras_archive(const unsigned char *data, int64_t n)
{
        return is_zip(data, n) && (has(data, n, "metadata.json") || has(data, n, ".h5"));
}

static bool is_pickle(const unsigned char *data, int64_t n)
{
        return n > 2 && data[0] == 0x80 && data[1] >= 2 && data[1] <= 5 && data[2] > ' ';
}

static bool is_numpy(const unsigned char *data, int64_t n)
{
        return data_begins(data, n, "\x93NUMPY");
}

static bool is_hdf5(const unsigned char *data, int64_t n)
{
        return data_begins(data, n, "\x89HDF");
}

static bool data_is_printable(const unsigned char *data, int64_t n)
{
        for (int64_t i = 0; i < n; i++)
                if (data[i] < ' ' || data[i] > '~')
                        return false;
        return n > 0;
}

/* A message of protocol buffers: the format's version, then the producer, a text shorter than 128 bytes;
 * or its graph, or its operators. */
static bool is_onnx(const unsigned char *data, int64_t n)
{
        if (n < 8 || data[0] != 0x08 || data[1] < 1 || data[1] > 32)
                return false;
        bool named =
                data[2] == 0x12 && data[3] < 0x80 && data[3] <= n - 4 && data_is_printable(data + 4, data[3]);
        return named || data[2] == 0x3a || data[2] == 0x42;
}

/* The same with version 1, then a graph of more than 127 bytes. */
static bool is_saved_model(const unsigned char *data, int64_t n)
{
        return n > 8 && data[0] == 0x08 && data[1] == 1 && data[2] == 0x12 && data[3] >= 0x80;
}

/* A map with a length in one or three bytes, whose first key is a text. */
static bool is_msgpack(const unsigned char *data, int64_t n)
{
        int64_t at = n > 3 && data[0] == 0xde ? 3 : 1;
        bool map = n > 3 && (data[0] == 0xde || (data[0] >= 0x81 && data[0] <= 0x8f));
        int64_t length = map && data[at] >= 0xa1 && data[at] <= 0xbf ? data[at] - 0xa0 : 0;
        return length && length < n - at && data_is_printable(data + at + 1, length);
}

static bool is_lfs_pointer(const unsigned char *data, int64_t n)
{
        return data_begins(data, n, "version https://git-lfs.github.com/spec/");
}

static bool is_html(const unsigned char *data, int64_t n)
{
        static const char *const opening[] = {"<!doctype html", "<html"};
        int64_t at = n >= 3 && !memcmp(data, "\xef\xbb\xbf", 3) ? 3 : 0;
        while (at < n && strchr(" \t\r\n", data[at]))
                at++;
        for (int i = 0; i < 2; i++) {
                int64_t k = 0, length = (int64_t)strlen(opening[i]);
                while (k < length && at + k < n && tolower(data[at + k]) == opening[i][k])
                        k++;
                if (k == length)
                        return true;
        }
        return false;
}

static bool is_compressed(const unsigned char *data, int64_t n)
{
        return data_begins(data, n, "\x1f\x8b") || data_begins(data, n, "\x28\xb5\x2f\xfd") ||
               data_begins(data, n,
                           "\xfd"
                           "7zXZ") ||
               data_begins(data, n, "7z\xbc\xaf") || (n > 262 && !memcmp(data + 257, "ustar", 5));
}

/* ELF, Mach-O, Windows */
static bool is_program(const unsigned char *data, int64_t n)
{
        return data_begins(data, n,
                           "\x7f"
                           "ELF") ||
               data_begins(data, n, "\xcf\xfa\xed\xfe") || data_begins(data, n, "MZ\x90");
}

static bool is_picture(const unsigned char *data, int64_t n)
{
        return data_begins(data, n, "\x89PNG") || data_begins(data, n, "\xff\xd8\xff");
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
        return data_begins(data, n, "lathe 1\n");
}

/* The longest token's length; the first token's score, which is not tiny, as an integer's bits would be,
 * and its length. */
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

/* Where to get the model in a supported format. */
static const char in_transformers[] =
        "transformers reads it (from_tf, from_flax), and its save_pretrained() writes safetensors";
static const char fetch_again[] = "it was fetched in place of the file: fetch the file itself, and compare "
                                  "its size with the published one";
static const char pickled[] =
        "a pickle is a program, so it is never read; in Python: "
        "safetensors.torch.save_file(torch.load(FILE, weights_only=True), \"model.safetensors\")";
static const char original[] =
        "take the weights that it was made from: a directory with config.json and safetensors, or a GGUF";

static const struct {
        bool (*is)(const unsigned char *data, int64_t n);
        Format format;
} format_table[] = {
        {is_lfs_pointer,
         {FORMAT_OTHER, "a Git LFS pointer, not the file that it points to",
          "`git lfs pull` in the repository fetches the file"}},
        {is_html, {FORMAT_OTHER, "an HTML page", fetch_again}},
        {is_tokenizer_json, {FORMAT_JSON, "a tokenizer.json of Hugging Face", NULL}},
        {is_json, {FORMAT_JSON, "JSON", NULL}},
        {is_gguf, {FORMAT_GGUF, "a GGUF file", NULL}},
        {is_ggml,
         {FORMAT_OTHER, "a GGML file from before GGUF",
          "llama.cpp's convert_llama_ggml_to_gguf.py makes a GGUF of it"}},
        {is_merges, {FORMAT_OTHER, "a list of BPE merges", NULL}},
        {is_sentencepiece, {FORMAT_SENTENCEPIECE, "a SentencePiece model", NULL}},
        {is_tiktoken, {FORMAT_OTHER, "a tiktoken vocabulary", NULL}},
        {is_numpy_archive,
         {FORMAT_OTHER, "an archive of numpy arrays",
          "save them as safetensors (safetensors.numpy.save_file)"}},
        {is_keras_archive, {FORMAT_OTHER, "a Keras archive", in_transformers}},
        {is_zip, {FORMAT_PICKLE, "a PyTorch archive", pickled}},
        {is_pickle, {FORMAT_PICKLE, "a pickle, as written by PyTorch", pickled}},
        {is_numpy, {FORMAT_OTHER, "a numpy array", "save it as safetensors (safetensors.numpy.save_file)"}},
        {is_hdf5, {FORMAT_OTHER, "an HDF5 file, as TensorFlow and Keras write", in_transformers}},
        {is_packed,
         {FORMAT_OTHER, "weights that lathe packed",
          "pass them as --weights, with the model file that they were packed for"}},
        {is_safetensors, {FORMAT_OTHER, "a safetensors file", NULL}},
        {is_onnx, {FORMAT_OTHER, "an ONNX model", original}},
        {is_saved_model, {FORMAT_OTHER, "a TensorFlow SavedModel", in_transformers}},
        {is_msgpack, {FORMAT_OTHER, "msgpack, as Flax writes", in_transformers}},
        {is_program, {FORMAT_OTHER, "a program or a library of machine code", NULL}},
        {is_picture, {FORMAT_OTHER, "a picture", NULL}},
        {is_compressed, {FORMAT_OTHER, "a compressed file or an archive", "unpack it first"}},
        {is_llama2c_tokenizer, {FORMAT_LLAMA2C_TOKENIZER, "a llama2.c tokenizer", NULL}},
};

const Format *format_of(const unsigned char *data, int64_t n)
{
        int64_t mark = text_mark((const char *)data, n);
        data += mark;
        n -= mark;
        for (size_t i = 0; i < sizeof format_table / sizeof *format_table; i++)
                if (format_table[i].is(data, n))
                        return &format_table[i].format;
        return NULL;
}

const Format *format_of_file(const char *path)
{
        unsigned char head[FORMAT_BYTES];
        struct stat about;
        FILE *file = !stat(path, &about) && S_ISREG(about.st_mode) ? fopen(path, "rb") : NULL;
        int64_t n = file ? (int64_t)fread(head, 1, sizeof head, file) : 0;
        if (file)
                fclose(file);
        return format_of(head, n);
}
