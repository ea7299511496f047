/* Formats of pictures and sounds by their first bytes: supported ones, and those to be converted. */
#include <strings.h>
#include <sys/stat.h>

#include "media_private.h"

static bool space_follows(const uint8_t *bytes)
{
        return bytes[2] == '#' || (bytes[2] && strchr(" \t\r\n\v\f", bytes[2]));
}

/* The index of the bit rate in a frame's header: 0 and 15 are no rates. */
static bool is_mp3_frame(const uint8_t *bytes)
{
        return bytes[2] >> 4 && bytes[2] >> 4 < 15;
}

static bool is_adts_frame(const uint8_t *bytes)
{
        return (bytes[2] >> 2 & 15) < 13; /* the index of the rate */
}

typedef struct {
        int at, n;
        const char *bytes;
} MediaMark;
enum { MARK_END = 16 /* no mark is longer */ };

#define MARK(at, bytes)                                                                                      \
        {                                                                                                    \
                at, sizeof bytes - 1, bytes                                                                  \
        }
#define HEIF "`heif-convert FILE NEW.png`"

static const struct {
        MediaMark first, second;               /* second: n may be 0 */
        bool (*is_like)(const uint8_t *bytes); /* a further condition, or NULL; at least 3 bytes are there */
        MediaFormat format;
} format_row[] = {
        {MARK(0, "\x89PNG\r\n\x1a\n"), {0}, NULL, {MEDIA_PICTURE, "a PNG picture", read_png, NULL}},
        {MARK(0, "\xff\xd8\xff"), {0}, NULL, {MEDIA_PICTURE, "a JPEG picture", read_jpeg, NULL}},
        {MARK(0, "P5"), {0}, space_follows, {MEDIA_PICTURE, "a PGM picture", read_pnm, NULL}},
        {MARK(0, "P6"), {0}, space_follows, {MEDIA_PICTURE, "a PPM picture", read_pnm, NULL}},
        {MARK(0, "RIFF"), MARK(8, "WAVE"), NULL, {MEDIA_SOUND, "a WAV sound", NULL, NULL}},

        {MARK(0, "RIFF"), MARK(8, "WEBP"), NULL, {MEDIA_PICTURE, "a WebP picture", NULL, NULL}},
        {MARK(0, "GIF8"),
         {0},
         NULL,
         {MEDIA_PICTURE, "a GIF picture", NULL, "`ffmpeg -i FILE -frames:v 1 NEW.png`"}},
        {MARK(0, "BM"), MARK(6, "\0\0\0\0"), NULL, {MEDIA_PICTURE, "a BMP picture", NULL, NULL}},
        {MARK(0, "II*\0"), {0}, NULL, {MEDIA_PICTURE, "a TIFF picture", NULL, NULL}},
        {MARK(0, "MM\0*"), {0}, NULL, {MEDIA_PICTURE, "a TIFF picture", NULL, NULL}},
        {MARK(4, "ftyphei"), {0}, NULL, {MEDIA_PICTURE, "a HEIC picture", NULL, HEIF}},
        {MARK(4, "ftyphev"), {0}, NULL, {MEDIA_PICTURE, "a HEIC picture", NULL, HEIF}},
        {MARK(4, "ftypmif1"), {0}, NULL, {MEDIA_PICTURE, "a HEIF picture", NULL, HEIF}},
        {MARK(4, "ftypmsf1"), {0}, NULL, {MEDIA_PICTURE, "a HEIF picture", NULL, HEIF}},
        {MARK(4, "ftypavi"), {0}, NULL, {MEDIA_PICTURE, "an AVIF picture", NULL, NULL}},
        {MARK(4, "jP  \r\n"), {0}, NULL, {MEDIA_PICTURE, "a JPEG 2000 picture", NULL, NULL}},
        {MARK(4, "JXL \r\n"), {0}, NULL, {MEDIA_PICTURE, "a JPEG XL picture", NULL, NULL}},
        {MARK(0, "8BPS"), {0}, NULL, {MEDIA_PICTURE, "a Photoshop picture", NULL, NULL}},
        {MARK(0, "qoif"), {0}, NULL, {MEDIA_PICTURE, "a QOI picture", NULL, NULL}},
        {MARK(0, "<svg"),
         {0},
         NULL,
         {MEDIA_PICTURE, "an SVG picture", NULL, "`rsvg-convert FILE -o NEW.png`"}},
        {MARK(0, "P1"), {0}, space_follows, {MEDIA_PICTURE, "a PBM picture as text", NULL, NULL}},
        {MARK(0, "P2"), {0}, space_follows, {MEDIA_PICTURE, "a PGM picture as text", NULL, NULL}},
        {MARK(0, "P3"), {0}, space_follows, {MEDIA_PICTURE, "a PPM picture as text", NULL, NULL}},
        {MARK(0, "P4"), {0}, space_follows, {MEDIA_PICTURE, "a PBM picture", NULL, NULL}},
        {MARK(0, "P7"), {0}, space_follows, {MEDIA_PICTURE, "a PAM picture", NULL, NULL}},

        {MARK(0, "RIFX"),
         MARK(8, "WAVE"),
         NULL,
         {MEDIA_SOUND, "a WAV whose numbers begin with their highest byte", NULL, NULL}},
        {MARK(0, "RF64"), {0}, NULL, {MEDIA_SOUND, "a WAV of more than 4 GB", NULL, NULL}},
        {MARK(0, "fLaC"), {0}, NULL, {MEDIA_SOUND, "a FLAC sound", NULL, NULL}},
        {MARK(0, "OggS"), {0}, NULL, {MEDIA_SOUND, "an Ogg sound", NULL, NULL}},
        {MARK(0, "ID3"), {0}, NULL, {MEDIA_SOUND, "an MP3 sound", NULL, NULL}},
        {MARK(0, "\xff\xfb"), {0}, is_mp3_frame, {MEDIA_SOUND, "an MP3 sound", NULL, NULL}},
        {MARK(0, "\xff\xf3"), {0}, is_mp3_frame, {MEDIA_SOUND, "an MP3 sound", NULL, NULL}},
        {MARK(0, "\xff\xf2"), {0}, is_mp3_frame, {MEDIA_SOUND, "an MP3 sound", NULL, NULL}},
        {MARK(0, "\xff\xf1"), {0}, is_adts_frame, {MEDIA_SOUND, "an AAC sound", NULL, NULL}},
        {MARK(0, "\xff\xf9"), {0}, is_adts_frame, {MEDIA_SOUND, "an AAC sound", NULL, NULL}},
        {MARK(0, "FORM"), MARK(8, "AIF"), NULL, {MEDIA_SOUND, "an AIFF sound", NULL, NULL}},
        {MARK(0, "caff"), {0}, NULL, {MEDIA_SOUND, "a CAF sound", NULL, NULL}},
        {MARK(0, "#!AMR"), {0}, NULL, {MEDIA_SOUND, "an AMR sound", NULL, NULL}},
        {MARK(0, ".snd"), {0}, NULL, {MEDIA_SOUND, "an AU sound", NULL, NULL}},
        {MARK(0, "wvpk"), {0}, NULL, {MEDIA_SOUND, "a WavPack sound", NULL, NULL}},
        {MARK(4, "ftyp"), {0}, NULL, {MEDIA_SOUND, "an MP4", NULL, NULL}},
        {MARK(0, "\x1a\x45\xdf\xa3"), {0}, NULL, {MEDIA_SOUND, "a Matroska or WebM", NULL, NULL}},
        {MARK(0, "\x30\x26\xb2\x75"), {0}, NULL, {MEDIA_SOUND, "a Windows Media file", NULL, NULL}},
};
enum { FORMAT_ROWS = sizeof format_row / sizeof *format_row };

static bool media_has_mark(const uint8_t *bytes, int64_t n, const MediaMark *mark)
{
        return n >= mark->at + mark->n && !memcmp(bytes + mark->at, mark->bytes, (size_t)mark->n);
}

const MediaFormat *media_format(const uint8_t *bytes, int64_t n)
{
        for (int i = 0; i < FORMAT_ROWS && n >= 3; i++)
                if (media_has_mark(bytes, n, &format_row[i].first) &&
                    (!format_row[i].second.n || media_has_mark(bytes, n, &format_row[i].second)) &&
                    (!format_row[i].is_like || format_row[i].is_like(bytes)))
                        return &format_row[i].format;
        return NULL;
}

MediaKind media_kind(const char *path)
{
        static const struct {
                const char *suffix;
                MediaKind kind;
        } named[] = {{"png", MEDIA_PICTURE},  {"jpg", MEDIA_PICTURE},  {"jpeg", MEDIA_PICTURE},
                     {"ppm", MEDIA_PICTURE},  {"pgm", MEDIA_PICTURE},  {"webp", MEDIA_PICTURE},
                     {"gif", MEDIA_PICTURE},  {"heic", MEDIA_PICTURE}, {"bmp", MEDIA_PICTURE},
                     {"tiff", MEDIA_PICTURE}, {"wav", MEDIA_SOUND},    {"mp3", MEDIA_SOUND},
                     {"flac", MEDIA_SOUND},   {"ogg", MEDIA_SOUND},    {"m4a", MEDIA_SOUND}};
        const char *point = strrchr(path, '.');
        uint8_t head[MARK_END];
        struct stat about;
        FILE *file = !stat(path, &about) && S_ISREG(about.st_mode) ? fopen(path, "rb") : NULL;
        const int64_t n = file ? (int64_t)fread(head, 1, sizeof head, file) : 0;
        if (file)
                fclose(file);
        const MediaFormat *f = media_format(head, n);
        if (f)
                return f->kind;
        for (size_t i = 0; i < sizeof named / sizeof *named && point; i++)
                if (point > path && !strcasecmp(point + 1, named[i].suffix))
                        return named[i].kind;
        return MEDIA_UNKNOWN;
}

const char *media_refusal(Arena *a, const MediaBytes *bytes, MediaKind wanted)
{
        const bool sound = wanted == MEDIA_SOUND;
        const MediaFormat *f = media_format(bytes->at, bytes->n);
        const Format *other = f ? NULL : format_of(bytes->at, bytes->n);
        const char *what = f           ? f->name
                           : other     ? other->name
                           : !bytes->n ? "empty"
                           : sound     ? "not a sound"
                                       : "not a picture";
        const char *convert = f && f->convert ? f->convert
                              : sound         ? "`ffmpeg -i FILE -ac 1 NEW.wav`"
                                              : "`ffmpeg -i FILE NEW.png`";
        const bool can_be = f && f->kind == wanted, is_other = f && f->kind != wanted;
        const char *advice = can_be  ? arena_printf(a, "%s converts it", convert)
                             : other ? other->advice
                                     : NULL;
        return arena_printf(a, "%s: it is %s; expected %s%s%s%s", bytes->path, what,
                            !is_other ? ""
                            : sound   ? "a sound: "
                                      : "a picture: ",
                            sound ? "WAV" : "PNG, JPEG, PPM (P6) or PGM (P5)", advice ? "; " : "",
                            advice ? advice : "");
}
