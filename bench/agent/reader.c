/* The floor: what the agent reads, read by C. At each second it reads meminfo, vmstat, stat and loadavg and, of every
   process given, stat, status, io and schedstat, through descriptors that stay open; it makes numbers of what it reads
   and appends CSV: one line for each file of the host, one for each process of which something changed. Of a process that
   has one thread and has not run since, schedstat alone is read, and the rest at every tenth second, as the agent does.
   reader OUTPUT PID... */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { HOST_FILES = 4, PROCESS_FILES = 4, COLUMNS = 22, MOST_NUMBERS = 4096, THREADS = 5, ALL_EVERY = 10 };

static const char *host_names[HOST_FILES] = {"/proc/meminfo", "/proc/vmstat", "/proc/stat", "/proc/loadavg"};
static const char *process_names[PROCESS_FILES] = {"stat", "status", "io", "schedstat"};

struct process {
  int pid;
  int files[PROCESS_FILES];
  uint64_t columns[COLUMNS];
  uint64_t ran; /* nanoseconds, as schedstat has it */
};

static char bytes[1 << 16];
static char text[1 << 20];
static size_t text_length;

/* The next number at or after *at, which moves behind it. */
static uint64_t number(const char **at, const char *end) {
  const char *p = *at;
  while (p < end && (*p < '0' || *p > '9')) p++;
  uint64_t value = 0;
  while (p < end && *p >= '0' && *p <= '9') value = value * 10 + (uint64_t)(*p++ - '0');
  *at = p;
  return value;
}

static void put_number(uint64_t value) {
  char digits[20];
  int n = 0;
  do digits[n++] = (char)('0' + value % 10);
  while ((value /= 10) != 0);
  while (n > 0) text[text_length++] = digits[--n];
}

static void flush(int output) {
  if (text_length > 0 && write(output, text, text_length) < 0) exit(1);
  text_length = 0;
}

/* Long lists come a page at a time. */
static ssize_t read_all(int file) {
  ssize_t length = 0, got;
  while ((got = pread(file, bytes + length, sizeof bytes - (size_t)length, length)) > 0) length += got;
  return length;
}

static void read_host(const int *files, int output, uint64_t now) {
  for (int i = 0; i < HOST_FILES; i++) {
    ssize_t length = read_all(files[i]);
    const char *at = bytes, *end = bytes + length;
    put_number(now);
    for (int n = 0; at < end && n < MOST_NUMBERS; n++) {
      text[text_length++] = ',';
      put_number(number(&at, end));
    }
    text[text_length++] = '\n';
    flush(output);
  }
}

/* The number after a word at the beginning of a line; 0 when there is none. */
static uint64_t after(const char *word, ssize_t length) {
  size_t n = strlen(word);
  const char *end = bytes + length;
  for (const char *line = bytes; line != NULL && line + n < end;) {
    if (memcmp(line, word, n) == 0) {
      const char *at = line + n;
      return number(&at, end);
    }
    line = memchr(line, '\n', (size_t)(end - line));
    if (line != NULL) line++;
  }
  return 0;
}

/* 1 when it has run since the last look. Another thread may have: schedstat is of the first one alone. */
static int has_run(struct process *p) {
  ssize_t length = pread(p->files[3], bytes, sizeof bytes, 0);
  if (length <= 0) return 1;
  const char *at = bytes;
  uint64_t ran = number(&at, bytes + length);
  int same = ran == p->ran && p->columns[THREADS] == 1;
  p->ran = ran;
  return !same;
}

/* 0 when the process has gone. */
static int read_process(struct process *p, uint64_t *columns) {
  ssize_t length = pread(p->files[0], bytes, sizeof bytes, 0);
  if (length <= 0) return 0;
  const char *end = bytes + length, *at = memrchr(bytes, ')', (size_t)length);
  if (at == NULL) return 0;
  uint64_t fields[40] = {0};
  at += 4;
  for (int field = 4; field < 40; field++) fields[field] = number(&at, end);
  static const int wanted[] = {4, 10, 12, 14, 15, 20, 22, 23, 24, 39};
  int c = 0;
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) columns[c++] = fields[wanted[i]];

  if ((length = pread(p->files[1], bytes, sizeof bytes, 0)) <= 0) return 0;
  static const char *words[] = {"VmHWM:", "RssAnon:", "RssFile:", "RssShmem:", "VmSwap:", "voluntary_ctxt_switches:",
                                "nonvoluntary_ctxt_switches:"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) columns[c++] = after(words[i], length);

  if ((length = pread(p->files[2], bytes, sizeof bytes, 0)) <= 0) return 0;
  at = bytes;
  uint64_t io[6];
  for (int i = 0; i < 6; i++) io[i] = number(&at, bytes + length);
  columns[c++] = io[0];
  columns[c++] = io[1];
  columns[c++] = io[4];
  columns[c++] = io[5];

  if ((length = pread(p->files[3], bytes, sizeof bytes, 0)) <= 0) return 0;
  at = bytes;
  number(&at, bytes + length);
  columns[c++] = number(&at, bytes + length) / 1000000;
  return 1;
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  int output = open(argv[1], O_CREAT | O_WRONLY | O_TRUNC | O_APPEND, 0600);
  int host[HOST_FILES];
  for (int i = 0; i < HOST_FILES; i++) host[i] = open(host_names[i], O_RDONLY);
  int count = argc - 2;
  struct process *processes = calloc((size_t)count + 1, sizeof *processes);
  for (int i = 0; i < count; i++) {
    processes[i].pid = atoi(argv[i + 2]);
    for (int f = 0; f < PROCESS_FILES; f++) {
      char name[64];
      snprintf(name, sizeof name, "/proc/%d/%s", processes[i].pid, process_names[f]);
      processes[i].files[f] = open(name, O_RDONLY);
    }
  }
  for (unsigned tick = 0;; tick++) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t time = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    read_host(host, output, time);
    for (int i = 0; i < count; i++) {
      struct process *p = &processes[i];
      uint64_t columns[COLUMNS] = {0};
      if (!has_run(p) && (tick + (unsigned)i) % ALL_EVERY != 0) continue;
      if (!read_process(p, columns) || memcmp(columns, p->columns, sizeof columns) == 0) continue;
      memcpy(p->columns, columns, sizeof columns);
      put_number(time);
      text[text_length++] = ',';
      put_number((uint64_t)p->pid);
      for (int c = 0; c < COLUMNS; c++) {
        text[text_length++] = ',';
        put_number(columns[c]);
      }
      text[text_length++] = '\n';
    }
    flush(output);
    struct timespec next = {now.tv_sec + 1, 0};
    clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &next, NULL);
  }
}
