// A model as a C++ program has it, its weights in memory: a hash of each output of a call, and of what its loop gives.
//   usage: hashes WEIGHTS, in the folder of NAME.raw, the values of input NAME
// calls.inc, of hashes.py, has what differs between models: call() and, with LOOP_.., INPUTS.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
#include "subject.h"

namespace
{

void check(int error)
{
        if (error)
                throw std::runtime_error(subject_error(error));
}

template <class T> std::vector<T> values(const std::string &name)
{
        std::ifstream file(name + ".raw", std::ios::binary);
        if (!file)
                throw std::runtime_error(name + ".raw can't be read");
        const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
        std::vector<T> read(bytes.size() / sizeof(T));
        std::memcpy(read.data(), bytes.data(), read.size() * sizeof(T));
        return read;
}

// FNV-1a over the bytes of numbers.
template <class T> class Hash
{
      public:
        void add(const T *x, std::size_t n)
        {
                std::vector<unsigned char> bytes(n * sizeof *x);
                if (n)
                        std::memcpy(bytes.data(), x, bytes.size());
                for (const unsigned char byte : bytes)
                        h = (h ^ byte) * UINT64_C(0x100000001b3);
        }
        void tell(const char *name) const
        {
                std::printf("hash %016llx %s\n", static_cast<unsigned long long>(h), name);
        }

      private:
        std::uint64_t h = UINT64_C(0xcbf29ce484222325);
};

template <class T> void tell(const char *name, const T *x, std::size_t n)
{
        Hash<T> h;
        h.add(x, n);
        h.tell(name);
}

// Room of so many bytes, as scratch wants it.
inline std::vector<std::int64_t> room(std::size_t bytes)
{
        return std::vector<std::int64_t>(bytes / 8 + 1);
}

#include "calls.inc"

#if defined LOOP_generate || defined LOOP_transcribe
int add_token(void *of, std::int32_t token)
{
        static_cast<std::vector<std::int32_t> *>(of)->push_back(token);
        return 0;
}

// The logits at all positions that a text took, which begins with these.
void loop(subject *m)
{
        auto text = values<std::int32_t>("loop");
        const auto n = static_cast<std::int64_t>(text.size());
        const auto prompt = text;
        subject_generation how{};
        how.steps = STEPS;
#ifdef LOOP_generate
        auto scratch = room(subject_generate_scratch(&how));
        feed_loop(m);
        check(subject_generate(m, prompt.data(), n, &how, add_token, &text, scratch.data(), nullptr));
#else
        auto scratch = room(subject_transcribe_scratch(&how));
        const auto sound = values<float>("sound");
        check(subject_transcribe(m, sound.data(), static_cast<std::int64_t>(sound.size()), prompt.data(), n,
                                 &how, add_token, &text, scratch.data(), nullptr));
#endif
        const std::int64_t taken = subject_position(m);
        subject_reset(m);
        std::vector<float> logits(static_cast<std::size_t>(taken) * SUBJECT_VOCAB);
        check(subject_forward(m, text.data(), taken, logits.data()));
        tell("loop", logits.data(), logits.size());
}
#elif defined LOOP_classify
void loop(subject *m)
{
        const auto pixels = values<std::uint8_t>("loop");
        auto scratch = room(subject_classify_scratch(2, 1));
        std::vector<double> likely(COLUMNS);
        check(subject_classify(m, pixels.data(), 2, 1, 3, likely.data(), scratch.data()));
        tell("loop", likely.data(), likely.size());
}
#elif defined LOOP_embed
void loop(subject *m)
{
        const auto text = values<std::int32_t>("loop");
        const auto n = static_cast<std::int64_t>(text.size());
        auto scratch = room(subject_embed_scratch(n));
        std::vector<float> vector(COLUMNS);
        check(subject_embed(m, text.data(), n, vector.data(), scratch.data()));
        const std::vector<double> wide(vector.begin(), vector.end());
        tell("loop", wide.data(), wide.size());
}
#elif defined LOOP_fill
int add_mask(void *of, std::int64_t, const double *likely)
{
        static_cast<Hash<double> *>(of)->add(likely, COLUMNS);
        return 0;
}

void loop(subject *m)
{
        const auto text = values<std::int32_t>("loop");
        const auto n = static_cast<std::int64_t>(text.size());
        auto scratch = room(subject_fill_scratch(n));
        Hash<double> h;
        check(subject_fill(m, text.data(), n, add_mask, &h, scratch.data()));
        h.tell("loop");
}
#elif defined LOOP_denoise
void loop(subject *m)
{
        subject_denoising how{};
        how.seed = 5;
        how.guidance = 3;
        std::vector<float> latent(COLUMNS);
        denoise_loop(m, how, latent.data());
        const std::vector<double> wide(latent.begin(), latent.end());
        tell("loop", wide.data(), wide.size());
}
#else
void loop(subject *)
{
}
#endif

// The file's bytes, aligned to 64.
class Image
{
      public:
        explicit Image(const char *path)
        {
                std::ifstream file(path, std::ios::binary | std::ios::ate);
                if (!file)
                        throw std::runtime_error(std::string(path) + " can't be read");
                size = static_cast<std::size_t>(file.tellg());
                bytes.reset(static_cast<char *>(std::aligned_alloc(64, (size + 63) / 64 * 64)));
                file.seekg(0).read(bytes.get(), static_cast<std::streamsize>(size));
        }
        struct Free {
                void operator()(void *memory) const
                {
                        std::free(memory);
                }
        };
        std::unique_ptr<char, Free> bytes;
        std::size_t size = 0;
};

} // namespace

int main(int, char **argv)
{
        try {
                const Image image(argv[1]);
                const std::size_t size = subject_size(2);
                const std::unique_ptr<void, Image::Free> memory(
                        std::aligned_alloc(64, (size + 63) / 64 * 64));
                auto *const m = static_cast<subject *>(memory.get());
                check(subject_init_from(m, image.bytes.get(), image.size, 2));
                const std::unique_ptr<subject, void (*)(subject *)> open(m, subject_close);
                call(m);
                loop(m);
        } catch (const std::exception &e) {
                std::fprintf(stderr, "%s\n", e.what());
                return 1;
        }
}
