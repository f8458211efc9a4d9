/* A line is put together in a buffer that never overflows: what does not fit is left out. And numbers are read. */
#include "record.h"

void add_char(struct text *text, char c)
{
    if (text->at < text->end)
        *text->at++ = c;
}

void add_word(struct text *text, const char *word)
{
    while (*word != '\0')
        add_char(text, *word++);
}

void add_unsigned(struct text *text, uint64_t value)
{
    char digits[20];
    int n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    while (n > 0)
        add_char(text, digits[--n]);
}

/* A tab and the value; nothing after the tab if it is missing. */
void add_field(struct text *text, int64_t value)
{
    add_char(text, '\t');
    if (value >= 0)
        add_unsigned(text, (uint64_t)value);
}

void add_metrics(struct text *text, const int64_t *metrics)
{
    for (int i = 0; i < METRICS; i++)
        add_field(text, metrics[i]);
}

/* Control characters and the backslash are written out. Returns how many bytes found room. */
size_t add_escaped(struct text *text, const char *bytes, size_t length)
{
    static const char hex[] = "0123456789abcdef";
    size_t i = 0;
    for (; i < length && text->end - text->at >= 4; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c >= ' ' && c != '\\' && c != 127) {
            *text->at++ = (char)c;
            continue;
        }
        *text->at++ = '\\';
        if (c == '\\' || c == '\n' || c == '\t' || c == '\r' || c == '\0') {
            *text->at++ = c == '\n' ? 'n' : c == '\t' ? 't' : c == '\r' ? 'r' : c == '\0' ? '0' : '\\';
        } else {
            *text->at++ = 'x';
            *text->at++ = hex[c >> 4];
            *text->at++ = hex[c & 15];
        }
    }
    return i;
}

/* A line begins with a newline, too: after one that was cut off by a kill the next one is whole. */
void begin_line(struct text *text, char *buffer, size_t size, const char *kind)
{
    text->at = buffer;
    text->end = buffer + size - 3;
    add_char(text, '\n');
    add_word(text, kind);
}

/* The point says that the line is whole. Returns its length. */
size_t end_line(struct text *text, char *buffer)
{
    text->end += 3;
    add_word(text, "\t.\n");
    return (size_t)(text->at - buffer);
}

/* The next whole number; where it ends. The value is MISSING if there is none. */
const char *next_number(const char *at, int64_t *value)
{
    while (*at != '\0' && (*at < '0' || *at > '9'))
        at++;
    if (*at == '\0') {
        *value = MISSING;
        return at;
    }
    int64_t sum = 0;
    while (*at >= '0' && *at <= '9')
        sum = sum * 10 + (*at++ - '0');
    *value = sum;
    return at;
}
