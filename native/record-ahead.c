/*
 * A text that is too long for the line of its process goes ahead, in lines of its own ("A") that are as full as they can
 * be: each costs a few system calls, whatever is in it.
 */
#include "record.h"

static void begin_piece(struct ahead *to)
{
    begin_line(&to->text, to->line, to->size, "A2");
    add_who(&to->text, to->pid, to->space);
    add_field(&to->text, to->start);
    add_char(&to->text, '\t');
    add_word(&to->text, to->field);
    add_char(&to->text, '\t');
}

void begin_ahead(struct ahead *to, const char *field)
{
    to->field = field;
    begin_piece(to);
}

void add_ahead(struct ahead *to, const char *bytes, size_t length)
{
    size_t sent;
    while ((sent = add_escaped(&to->text, bytes, length)) < length) {
        end_ahead(to);
        begin_piece(to);
        bytes += sent;
        length -= sent;
    }
}

void end_ahead(struct ahead *to) { append(to->line, end_line(&to->text, to->line)); }
