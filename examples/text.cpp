// Continues a text with a class around the C functions; the argument is the weight file.
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
#include "tale.h"

static void check(int error)
{
        if (error)
                throw std::runtime_error(tale_error(error));
}

class Tale
{
      public:
        explicit Tale(const char *weights, int threads = 1) : m(nullptr, tale_free)
        {
                int error;
                m.reset(tale_new(weights, threads, &error));
                check(error);
        }

        std::vector<int32_t> encode(const std::string &text) const
        {
                const auto n = static_cast<int64_t>(text.size());
                std::vector<int32_t> ids(static_cast<size_t>(tale_encode_room(m.get(), n)));
                std::vector<int64_t> scratch(static_cast<size_t>(tale_encode_scratch(m.get(), n)) / 8 + 1);
                ids.resize(
                        static_cast<size_t>(tale_encode(m.get(), text.data(), n, 0, ids.data(),
                                                        static_cast<int64_t>(ids.size()), scratch.data())));
                return ids;
        }

        std::vector<int32_t> generate(const std::vector<int32_t> &ids, const tale_generation &settings)
        {
                std::vector<int32_t> made;
                std::vector<int64_t> scratch(tale_generate_scratch(&settings) / 8 + 1);
                const auto on_token = [](void *context, int32_t token) {
                        static_cast<std::vector<int32_t> *>(context)->push_back(token);
                        return 0;
                };
                check(tale_generate(m.get(), ids.data(), static_cast<int64_t>(ids.size()), &settings,
                                    on_token, &made, scratch.data(), nullptr));
                return made;
        }

        std::string decode(const std::vector<int32_t> &ids) const
        {
                std::string text;
                std::vector<char> room(static_cast<size_t>(tale_decode_room(m.get())) + 3);
                tale_text state{};
                for (const int32_t id : ids)
                        text.append(room.data(),
                                    static_cast<size_t>(tale_decode(m.get(), &state, id, 0, room.data())));
                return text.append(room.data(), static_cast<size_t>(tale_decode_end(&state, room.data())));
        }

      private:
        std::unique_ptr<tale, void (*)(tale *)> m;
};

int main(int argc, char **argv)
{
        tale_generation settings{};
        settings.temperature = 0.8f;
        settings.seed = 7;
        settings.steps = 30;
        try {
                Tale m(argc > 1 ? argv[1] : "tale.weights", 2);
                std::puts(m.decode(m.generate(m.encode("Once upon a time"), settings)).c_str());
        } catch (const std::exception &e) {
                std::fprintf(stderr, "%s\n", e.what());
                return 1;
        }
}
