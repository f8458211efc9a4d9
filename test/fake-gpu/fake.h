/*
 * The cards that the stand-ins for the vendors' libraries pretend to have. The file that
 * FAKE_GPU names says which (or FAKE_GPU_NVML, FAKE_GPU_AMDSMI, FAKE_GPU_ROCM_SMI for one library alone):
 *
 *     cards 4               four cards
 *     hang 1 3 30           card 1: its third read takes 30 seconds
 *     lost 2 5              card 2 falls off the bus at its fifth read
 *     crash 0 2             card 0: its second read kills the process
 *     lacks 0 fan           card 0 has no fan
 *     mig 3 2               card 3 is divided into two instances
 *     init hang 30          starting the library takes 30 seconds
 *     init fail             the library does not start
 *     generation 24         what AMD SMI calls its version
 *     wave 0 100 300 4      card 0: power rises from 100 to 300 W and falls again in 4 seconds of the clock, its use
 *                           from 0 to 100 %; energy is what lies under that since the minute before it was first read
 *     still 0               card 0: its counter of energy stands still
 *     set 0 use 90          card 0 is 90 % busy, whatever is read. Also: watts, celsius, megahertz, reasons (the bits that
 *                           say why it slows down), memory (MiB in use), corrected and uncorrected (memory
 *                           errors), lanes (of 16) and generation (of 4) of PCIe, links (of 4 to other cards)
 *     set 0 use 0 15        ... from 15 seconds after its first read on
 *
 * A read begins when the card is asked for its use; values depend only on the card and the number of its reads.
 */
#ifndef FAKE_H
#define FAKE_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FAKE_MAX 64
#define FAKE_LINKS 4

struct fake_card {
  int index;
  int reads;
  int lost;
  int hang_at, hang_seconds, lost_at, crash_at;
  int instances;
  double wave_low, wave_high, wave_seconds, wave_from;
  double first_read;
  int still;
  char lacks[256];
};

/* A value that a card keeps from a moment on. */
struct fake_value {
  int card;
  char field[24];
  double value, after;
};

static struct fake_value fake_values[4 * FAKE_MAX];
static int fake_value_count;

static struct fake_card fake_cards[FAKE_MAX];
static int fake_count = 1, fake_init_hang, fake_init_fail, fake_generation = 26, fake_loaded;

/* A sleep that no signal of the caller shortens: like a call into a driver that does not answer. */
static void fake_hang(int seconds) {
  struct timespec left = {seconds, 0};
  while (nanosleep(&left, &left) != 0) {
  }
}

static void fake_load(void) {
  if (fake_loaded) return;
  fake_loaded = 1;
  for (int i = 0; i < FAKE_MAX; i++) fake_cards[i].index = i;
  const char *own = getenv(FAKE_VARIABLE);
  const char *path = own ? own : getenv("FAKE_GPU");
  FILE *file = path ? fopen(path, "r") : NULL;
  if (!file) return;
  char line[256];
  while (fgets(line, sizeof line, file)) {
    int card, at, seconds;
    double low, high, wave;
    char word[64];
    if (sscanf(line, "cards %d", &fake_count) == 1) continue;
    if (sscanf(line, "init hang %d", &fake_init_hang) == 1) continue;
    if (sscanf(line, "generation %d", &fake_generation) == 1) continue;
    if (strncmp(line, "init fail", 9) == 0) fake_init_fail = 1;
    if (sscanf(line, "hang %d %d %d", &card, &at, &seconds) == 3 && card < FAKE_MAX) {
      fake_cards[card].hang_at = at;
      fake_cards[card].hang_seconds = seconds;
    } else if (sscanf(line, "lost %d %d", &card, &at) == 2 && card < FAKE_MAX) {
      fake_cards[card].lost_at = at;
    } else if (sscanf(line, "crash %d %d", &card, &at) == 2 && card < FAKE_MAX) {
      fake_cards[card].crash_at = at;
    } else if (sscanf(line, "mig %d %d", &card, &at) == 2 && card < FAKE_MAX) {
      fake_cards[card].instances = at;
    } else if (sscanf(line, "wave %d %lf %lf %lf", &card, &low, &high, &wave) == 4 && card < FAKE_MAX) {
      fake_cards[card].wave_low = low;
      fake_cards[card].wave_high = high;
      fake_cards[card].wave_seconds = wave;
    } else if (sscanf(line, "set %d %23s %lf %lf", &card, word, &low, &high) >= 3 && fake_value_count < 4 * FAKE_MAX) {
      struct fake_value *value = &fake_values[fake_value_count++];
      value->card = card;
      strcpy(value->field, word);
      value->value = low;
      value->after = sscanf(line, "set %*d %*s %*f %lf", &high) == 1 ? high : 0;
    } else if (sscanf(line, "still %d", &card) == 1 && card < FAKE_MAX) {
      fake_cards[card].still = 1;
    } else if (sscanf(line, "lacks %d %63s", &card, word) == 2 && card < FAKE_MAX) {
      strcat(fake_cards[card].lacks, " ");
      strcat(fake_cards[card].lacks, word);
    }
  }
  fclose(file);
}

/* 0 when the library starts. */
static int fake_start(void) {
  fake_load();
  if (fake_init_hang) fake_hang(fake_init_hang);
  return fake_init_fail;
}

static double fake_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* What a card was set to last, or else `otherwise`. */
static double fake_set(const struct fake_card *card, const char *field, double otherwise) {
  double seconds = card->first_read > 0 ? fake_clock() - card->first_read : 0;
  for (int i = 0; i < fake_value_count; i++) {
    const struct fake_value *value = &fake_values[i];
    if (value->card == card->index && strcmp(value->field, field) == 0 && seconds >= value->after)
      otherwise = value->value;
  }
  return otherwise;
}

/* A read begins. 0: the card answers. */
static int fake_begin(struct fake_card *card) {
  card->reads++;
  if (card->first_read == 0) card->first_read = fake_clock();
  if (card->reads == card->hang_at) fake_hang(card->hang_seconds);
  if (card->reads == card->crash_at) raise(SIGSEGV);
  if (card->lost_at && card->reads >= card->lost_at) card->lost = 1;
  return card->lost;
}

static int fake_lacks(const struct fake_card *card, const char *field) { return strstr(card->lacks, field) != NULL; }

/* Where a wave is, from 0 to 1 and back, and what lies under it since 1970 by the clock, in seconds. */
static double fake_wave(const struct fake_card *card, double time, double *under) {
  double wave = card->wave_seconds;
  double whole = (double)(long long)(time / wave);
  double part = time / wave - whole;
  double height = part < 0.5 ? 2 * part : 2 - 2 * part;
  *under = wave * (whole / 2 + (part < 0.5 ? part * part : 0.5 - (1 - part) * (1 - part)));
  return height;
}

/* Values: easy to foretell in a test. */
static uint32_t fake_percent(const struct fake_card *card) {
  double under;
  if (card->wave_seconds > 0) return (uint32_t)(100 * fake_wave(card, fake_clock(), &under) + 0.5);
  return (uint32_t)fake_set(card, "use", (10 * card->index + card->reads) % 101);
}
static uint64_t fake_total(void) { return 80ull << 30; }
static uint64_t fake_used(const struct fake_card *card) {
  return (uint64_t)fake_set(card, "memory", 1024.0 * (card->index + 1)) << 20;
}
static uint32_t fake_milliwatts(const struct fake_card *card) {
  double under;
  if (card->wave_seconds > 0)
    return (uint32_t)(1000 * (card->wave_low + (card->wave_high - card->wave_low) * fake_wave(card, fake_clock(), &under)));
  double otherwise = 100500 + 1000 * card->index + card->reads;
  return (uint32_t)(1000 * fake_set(card, "watts", otherwise / 1000));
}
static uint64_t fake_millijoules(struct fake_card *card) {
  if (card->still) return 1000000ull;
  if (card->wave_seconds > 0) {
    double now = fake_clock(), under, before;
    if (card->wave_from == 0) card->wave_from = now - 60;
    fake_wave(card, now, &under);
    fake_wave(card, card->wave_from, &before);
    return (uint64_t)(1000 * (card->wave_low * (now - card->wave_from) + (card->wave_high - card->wave_low) * (under - before)));
  }
  return 1000000ull * (uint64_t)(card->index + 1) + 250ull * (uint64_t)card->reads;
}
static uint32_t fake_degrees(const struct fake_card *card) { return (uint32_t)fake_set(card, "celsius", 40 + card->index); }

#endif
