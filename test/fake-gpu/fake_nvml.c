/* A stand-in for libnvidia-ml.so.1 with the same binary interface, for tests on machines without a card. */
#define FAKE_VARIABLE "FAKE_GPU_NVML"
#include "fake.h"

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9, NOT_FOUND = 6, GPU_IS_LOST = 15 };

struct instance {
  int mark;
  struct fake_card *parent;
  int number;
};

#define INSTANCE 0x4d4947
static struct instance instances[FAKE_MAX * 8];

/* A handle is a card or an instance; an instance begins with its mark, a card with its small index. */
static struct fake_card *card_of(void *device) {
  return *(int *)device == INSTANCE ? ((struct instance *)device)->parent : (struct fake_card *)device;
}
static int is_instance(void *device) { return *(int *)device == INSTANCE; }

#define CARD                                  \
  struct fake_card *card = card_of(device);   \
  if (card->lost) return GPU_IS_LOST;         \
  if (is_instance(device)) return NOT_SUPPORTED

const char *nvmlErrorString(int status) {
  switch (status) {
    case SUCCESS: return "The operation was successful";
    case INVALID_ARGUMENT: return "Invalid Argument";
    case NOT_SUPPORTED: return "Not Supported";
    case DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case GPU_IS_LOST: return "GPU is lost";
    default: return "Unknown Error";
  }
}

int nvmlInit_v2(void) { return fake_start() ? DRIVER_NOT_LOADED : SUCCESS; }
int nvmlShutdown(void) { return SUCCESS; }

int nvmlSystemGetDriverVersion(char *version, unsigned length) {
  snprintf(version, length, "570.86.15");
  return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
  *count = (unsigned)fake_count;
  return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
  if ((int)index >= fake_count) return INVALID_ARGUMENT;
  *device = &fake_cards[index];
  return SUCCESS;
}

int nvmlDeviceGetName(void *device, char *name, unsigned length) {
  struct fake_card *card = card_of(device);
  snprintf(name, length, is_instance(device) ? "NVIDIA Fake 80GB MIG 3g.40gb" : "NVIDIA Fake 80GB");
  (void)card;
  return SUCCESS;
}

int nvmlDeviceGetUUID(void *device, char *uuid, unsigned length) {
  struct fake_card *card = card_of(device);
  if (is_instance(device)) snprintf(uuid, length, "MIG-fake-%d-%d", card->index, ((struct instance *)device)->number);
  else snprintf(uuid, length, "GPU-fake-%d", card->index);
  return SUCCESS;
}

int nvmlDeviceGetSerial(void *device, char *serial, unsigned length) {
  snprintf(serial, length, "S%d", card_of(device)->index);
  return SUCCESS;
}

struct utilization {
  unsigned gpu, memory;
};

int nvmlDeviceGetUtilizationRates(void *device, struct utilization *use) {
  struct fake_card *card = card_of(device);
  if (fake_begin(card)) return GPU_IS_LOST;
  if (card->instances) return NOT_SUPPORTED;
  use->gpu = fake_percent(card);
  use->memory = fake_percent(card) / 2;
  return SUCCESS;
}

struct memory2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};

int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory2 *memory) {
  struct fake_card *card = card_of(device);
  if (card->lost) return GPU_IS_LOST;
  if (memory->version != (sizeof *memory | 2u << 24)) return INVALID_ARGUMENT;
  memory->total = is_instance(device) ? fake_total() / 2 : fake_total();
  memory->reserved = 1 << 20;
  memory->used = is_instance(device) ? 1ull << 29 : fake_used(card);
  memory->free = memory->total - memory->used;
  return SUCCESS;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) {
  CARD;
  *milliwatts = fake_milliwatts(card);
  return SUCCESS;
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatts) {
  CARD;
  *milliwatts = 400000;
  return SUCCESS;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules) {
  CARD;
  *millijoules = fake_millijoules(card);
  return SUCCESS;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees) {
  CARD;
  if (sensor != 0) return INVALID_ARGUMENT;
  *degrees = fake_degrees(card);
  return SUCCESS;
}

int nvmlDeviceGetClockInfo(void *device, int type, unsigned *megahertz) {
  CARD;
  *megahertz = type == 1 ? (unsigned)fake_set(card, "megahertz", 1410) : type == 2 ? 1593 : 0;
  return type == 1 || type == 2 ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetFanSpeed(void *device, unsigned *percent) {
  CARD;
  if (fake_lacks(card, "fan")) return NOT_SUPPORTED;
  *percent = 30;
  return SUCCESS;
}

int nvmlDeviceGetTotalEccErrors(void *device, int type, int counter, unsigned long long *count) {
  CARD;
  if (fake_lacks(card, "ecc")) return NOT_SUPPORTED;
  if (counter != 0) return INVALID_ARGUMENT;
  *count = (unsigned long long)(type == 0 ? fake_set(card, "corrected", 7) : fake_set(card, "uncorrected", 1));
  return SUCCESS;
}

int nvmlDeviceGetPcieReplayCounter(void *device, unsigned *count) {
  CARD;
  *count = 5;
  return SUCCESS;
}

int nvmlDeviceGetCurrPcieLinkGeneration(void *device, unsigned *generation) {
  CARD;
  *generation = (unsigned)fake_set(card, "generation", 4);
  return SUCCESS;
}

int nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned *lanes) {
  CARD;
  *lanes = (unsigned)fake_set(card, "lanes", 16);
  return SUCCESS;
}

int nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned *generation) {
  CARD;
  *generation = 4;
  return SUCCESS;
}

int nvmlDeviceGetMaxPcieLinkWidth(void *device, unsigned *lanes) {
  CARD;
  *lanes = 16;
  return SUCCESS;
}

int nvmlDeviceGetNvLinkState(void *device, unsigned link, unsigned *active) {
  CARD;
  if (link >= FAKE_LINKS) return INVALID_ARGUMENT;
  *active = link < fake_set(card, "links", FAKE_LINKS);
  return SUCCESS;
}

int nvmlDeviceGetPerformanceState(void *device, int *state) {
  CARD;
  *state = card->index == 0 ? 0 : 8;
  return SUCCESS;
}

int nvmlDeviceGetEncoderUtilization(void *device, unsigned *percent, unsigned *period) {
  CARD;
  *percent = 11;
  *period = 167000;
  return SUCCESS;
}

int nvmlDeviceGetDecoderUtilization(void *device, unsigned *percent, unsigned *period) {
  CARD;
  *percent = 12;
  *period = 167000;
  return SUCCESS;
}

int nvmlDeviceGetRemappedRows(void *device, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed) {
  CARD;
  *corrected = 2;
  *uncorrected = 1;
  *pending = *failed = 0;
  return SUCCESS;
}

int nvmlDeviceGetRetiredPages(void *device, int cause, unsigned *count, unsigned long long *addresses) {
  CARD;
  (void)addresses;
  unsigned have = cause == 0 ? 3 : 1;
  int status = *count < have ? INSUFFICIENT_SIZE : SUCCESS;
  *count = have;
  return status;
}

/* Card 1 is too hot, card 2 at its power limit, the rest idle. */
int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons) {
  CARD;
  *reasons = (unsigned long long)fake_set(card, "reasons", card->index == 1 ? 0x48 : card->index == 2 ? 0x04 : 0x01);
  return SUCCESS;
}

struct field {
  unsigned id, scope;
  long long time, latency;
  unsigned type, status;
  union {
    double d;
    unsigned u;
    unsigned long long ull;
  } value;
};

int nvmlDeviceGetFieldValues(void *device, int count, struct field *fields) {
  CARD;
  for (int i = 0; i < count; i++) {
    struct field *f = &fields[i];
    f->status = SUCCESS;
    f->type = 3;
    switch (f->id) {
      case 82:
        f->type = 1;
        f->value.u = 60;
        break;
      case 91:
        f->type = 1;
        f->value.u = FAKE_LINKS;
        break;
      case 138: f->value.ull = 1000ull * (unsigned)card->reads; break;
      case 139: f->value.ull = 2000ull * (unsigned)card->reads; break;
      case 197:
      case 198:
        /* an older driver counts in 32 bits */
        f->type = fake_lacks(card, "pcie") ? 1 : 3;
        f->value.ull = (f->id == 197 ? 3000000000ull : 7000000000ull) + (unsigned)card->reads;
        break;
      default: f->status = NOT_SUPPORTED;
    }
    if (f->scope != (f->id == 138 || f->id == 139 ? 0xffffffffu : 0)) f->status = INVALID_ARGUMENT;
  }
  return SUCCESS;
}

int nvmlDeviceGetPcieThroughput(void *device, int counter, unsigned *kilobytes) {
  CARD;
  *kilobytes = counter == 0 ? 2500 : 4000;
  return SUCCESS;
}

int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending) {
  CARD;
  *current = *pending = card->instances > 0;
  return SUCCESS;
}

int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count) {
  CARD;
  *count = 7;
  return SUCCESS;
}

/* Places are not filled from the beginning: the instances sit at 1, 2, … */
int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **out) {
  CARD;
  if (index < 1 || (int)index > card->instances) return NOT_FOUND;
  struct instance *it = &instances[card->index * 8 + (int)index];
  it->mark = INSTANCE;
  it->parent = card;
  it->number = (int)index;
  *out = it;
  return SUCCESS;
}

struct process {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};

int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *count, struct process *list) {
  struct fake_card *card = card_of(device);
  if (card->lost) return GPU_IS_LOST;
  if (*count < 1) {
    *count = 1;
    return INSUFFICIENT_SIZE;
  }
  *count = 1;
  list[0] = (struct process){1000u + (unsigned)card->index, 1ull << 28, 0, 0};
  return SUCCESS;
}

int nvmlDeviceGetGraphicsRunningProcesses_v2(void *device, unsigned *count, struct process *list) {
  struct fake_card *card = card_of(device);
  if (card->lost) return GPU_IS_LOST;
  *count = card->index == 0 ? 2 : 0;
  if (card->index == 0) {
    list[0] = (struct process){1000, 1ull << 28, 0, 0};
    list[1] = (struct process){2000, ~0ull, 0, 0};
  }
  return SUCCESS;
}

struct use {
  unsigned pid;
  unsigned long long time;
  unsigned sm, memory, encoder, decoder;
};

/* Two samples of one process, the newer first. */
int nvmlDeviceGetProcessUtilization(void *device, struct use *list, unsigned *count, unsigned long long since) {
  CARD;
  (void)since;
  if (*count < 2) {
    *count = 2;
    return INSUFFICIENT_SIZE;
  }
  *count = 2;
  list[0] = (struct use){1000u + (unsigned)card->index, 2000, 81, 41, 3, 4};
  list[1] = (struct use){1000u + (unsigned)card->index, 1000, 5, 5, 5, 5};
  return SUCCESS;
}
