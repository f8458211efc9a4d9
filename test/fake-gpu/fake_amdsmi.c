/* A stand-in for libamd_smi.so with the same binary interface, of the generation that FAKE_GPU asks for. */
#define FAKE_VARIABLE "FAKE_GPU_AMDSMI"
#include "fake.h"

enum { SUCCESS = 0, INVAL = 1, NOT_SUPPORTED = 2, INIT_ERROR = 18, NOT_FOUND = 31 };

#define CARD                                \
  struct fake_card *card = handle;          \
  if (card->lost) return NOT_FOUND

int amdsmi_status_code_to_string(int status, const char **text) {
  *text = status == NOT_SUPPORTED ? "AMDSMI_STATUS_NOT_SUPPORTED - Command not supported"
          : status == NOT_FOUND   ? "AMDSMI_STATUS_NOT_FOUND - Device Not found"
                                  : "AMDSMI_STATUS_UNKNOWN_ERROR - An unknown error occurred";
  return SUCCESS;
}

int amdsmi_init(uint64_t flags) { return flags != 2 ? INVAL : fake_start() ? INIT_ERROR : SUCCESS; }
int amdsmi_shut_down(void) { return SUCCESS; }

int amdsmi_get_lib_version(uint32_t *version) {
  version[0] = (uint32_t)fake_generation;
  version[1] = 1;
  return SUCCESS;
}

/* Every socket has one card; a socket's handle is its card's. */
int amdsmi_get_socket_handles(uint32_t *count, void **sockets) {
  if (sockets)
    for (int i = 0; i < fake_count; i++) sockets[i] = &fake_cards[i];
  *count = (uint32_t)fake_count;
  return SUCCESS;
}

int amdsmi_get_processor_handles(void *socket, uint32_t *count, void **processors) {
  if (processors) processors[0] = socket;
  *count = 1;
  return SUCCESS;
}

int amdsmi_get_gpu_bdf_id(void *handle, uint64_t *id) {
  struct fake_card *card = handle;
  *id = (0xc1ull + (uint64_t)card->index) << 8;
  return SUCCESS;
}

int amdsmi_get_gpu_asic_info(void *handle, char *info) {
  (void)handle;
  strcpy(info, "AMD Instinct Fake");
  return SUCCESS;
}

int amdsmi_get_gpu_device_uuid(void *handle, unsigned *length, char *uuid) {
  snprintf(uuid, *length, "fake-amd-%d", ((struct fake_card *)handle)->index);
  return SUCCESS;
}

int amdsmi_get_gpu_activity(void *handle, uint32_t *usage) {
  struct fake_card *card = handle;
  if (fake_begin(card)) return NOT_FOUND;
  memset(usage, 0, 64);
  usage[0] = fake_percent(card);
  usage[1] = fake_percent(card) / 2;
  usage[2] = 0xffff;
  return SUCCESS;
}

int amdsmi_get_gpu_memory_usage(void *handle, int type, uint64_t *bytes) {
  CARD;
  if (type != 0) return INVAL;
  *bytes = fake_used(card);
  return SUCCESS;
}

int amdsmi_get_gpu_memory_total(void *handle, int type, uint64_t *bytes) {
  CARD;
  if (type != 0) return INVAL;
  *bytes = fake_total();
  return SUCCESS;
}

/* Generation 24: u32 current, average. 25 and later: u64 socket power before them. Card 1 has only the average. */
int amdsmi_get_power_info(void *handle, uint32_t *info) {
  CARD;
  uint32_t *at = fake_generation >= 25 ? info + 2 : info;
  memset(info, 0, 64);
  if (fake_generation >= 25) info[0] = 9999;
  at[0] = card->index == 1 ? 0xffffffffu : fake_milliwatts(card) / 1000;
  at[1] = card->index == 1 ? 77 : 0xffffffffu;
  return SUCCESS;
}

int amdsmi_get_power_cap_info(void *handle, uint32_t sensor, uint64_t *info) {
  CARD;
  (void)sensor;
  info[0] = fake_generation >= 25 ? 560000000 : 560;
  return SUCCESS;
}

int amdsmi_get_temp_metric(void *handle, int sensor, int metric, int64_t *value) {
  CARD;
  if (metric != 0) return INVAL;
  if (sensor == 0 && fake_lacks(card, "edge")) return NOT_SUPPORTED;
  *value = (int64_t)fake_degrees(card) + 10 * sensor;
  return SUCCESS;
}

int amdsmi_get_clock_info(void *handle, int type, uint32_t *info) {
  CARD;
  memset(info, 0, 32);
  info[0] = type == 0 ? 2100 : type == 4 ? 1300 : 0;
  return type == 0 || type == 4 ? SUCCESS : INVAL;
}

int amdsmi_get_gpu_fan_speed(void *handle, uint32_t sensor, int64_t *speed) {
  CARD;
  (void)sensor;
  if (fake_lacks(card, "fan")) return NOT_SUPPORTED;
  *speed = 102;
  return SUCCESS;
}

int amdsmi_get_gpu_total_ecc_count(void *handle, uint64_t *count) {
  CARD;
  count[0] = (uint64_t)fake_set(card, "corrected", 4);
  count[1] = (uint64_t)fake_set(card, "uncorrected", 2);
  count[2] = 9;
  return SUCCESS;
}

int amdsmi_get_gpu_pci_replay_counter(void *handle, uint64_t *count) {
  CARD;
  *count = 6;
  return SUCCESS;
}

struct pcie_static {
  uint16_t most_lanes;
  uint32_t most_megatransfers, version, slot, most_version;
  uint64_t reserved[9];
};

struct pcie_metric {
  uint16_t lanes;
  uint32_t megatransfers, bandwidth;
  uint64_t counts[5];
  uint32_t recoveries;
  uint64_t reserved[12];
};

struct pcie_info {
  struct pcie_static is;
  struct pcie_metric now;
  uint64_t reserved[32];
};

int amdsmi_get_pcie_info(void *handle, struct pcie_info *info) {
  CARD;
  memset(info, 0, sizeof *info);
  info->is.most_lanes = 16;
  info->is.most_megatransfers = 16000;
  info->now.lanes = (uint16_t)fake_set(card, "lanes", 16);
  info->now.megatransfers = 1000u << (unsigned)fake_set(card, "generation", 4);
  return SUCCESS;
}

struct xgmi_status {
  uint32_t total;
  int status[8];
  uint64_t reserved[7];
};

int amdsmi_get_gpu_xgmi_link_status(void *handle, struct xgmi_status *links) {
  CARD;
  links->total = FAKE_LINKS;
  int up = (int)fake_set(card, "links", FAKE_LINKS);
  for (int i = 0; i < 8; i++) links->status[i] = i < up ? 1 : i < FAKE_LINKS ? 0 : 2;
  return SUCCESS;
}

int amdsmi_get_energy_count(void *handle, uint64_t *count, float *resolution, uint64_t *time) {
  CARD;
  *count = 65536ull * (uint64_t)(card->index + 1);
  *resolution = 15.25f;
  *time = 0;
  return SUCCESS;
}

struct link {
  uint64_t bdf;
  uint32_t rate, most, type;
  uint64_t read, written, reserved;
};

struct links {
  uint32_t count;
  struct link list[64];
  uint64_t reserved[7];
};

/* Two links between cards and one over PCIe, which does not count. */
int amdsmi_get_link_metrics(void *handle, struct links *links) {
  CARD;
  links->count = 3;
  links->list[0] = (struct link){0, 32, 512, 2, 1000, 100, 0};
  links->list[1] = (struct link){0, 32, 512, 2, 24, 28, 0};
  links->list[2] = (struct link){0, 32, 512, 1, 5, 5, 0};
  return SUCCESS;
}
