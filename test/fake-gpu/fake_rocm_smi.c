/* A stand-in for librocm_smi64.so with the same binary interface. */
#define FAKE_VARIABLE "FAKE_GPU_ROCM_SMI"
#include "fake.h"

enum { SUCCESS = 0, INVALID_ARGS = 1, NOT_SUPPORTED = 2, INIT_ERROR = 8, NOT_FOUND = 10 };

#define CARD                                             \
  if ((int)index >= fake_count) return INVALID_ARGS;     \
  struct fake_card *card = &fake_cards[index];           \
  if (card->lost) return NOT_FOUND

int rsmi_status_string(int status, const char **text) {
  *text = status == NOT_SUPPORTED ? "RSMI_STATUS_NOT_SUPPORTED: This function is not supported"
          : status == NOT_FOUND   ? "RSMI_STATUS_NOT_FOUND: An item required to complete the call was not found"
                                  : "RSMI_STATUS_UNKNOWN_ERROR: An unknown error prevented the call from completing";
  return SUCCESS;
}

int rsmi_init(uint64_t flags) {
  (void)flags;
  return fake_start() ? INIT_ERROR : SUCCESS;
}
int rsmi_shut_down(void) { return SUCCESS; }

int rsmi_num_monitor_devices(uint32_t *count) {
  *count = (uint32_t)fake_count;
  return SUCCESS;
}

int rsmi_dev_pci_id_get(uint32_t index, uint64_t *id) {
  *id = (0xc1ull + index) << 8;
  return SUCCESS;
}

int rsmi_dev_unique_id_get(uint32_t index, uint64_t *id) {
  *id = 0xabcdef00ull + index;
  return SUCCESS;
}

int rsmi_dev_name_get(uint32_t index, char *name, size_t length) {
  (void)index;
  snprintf(name, length, "AMD Instinct Fake");
  return SUCCESS;
}

int rsmi_dev_busy_percent_get(uint32_t index, uint32_t *percent) {
  CARD;
  if (fake_begin(card)) return NOT_FOUND;
  *percent = fake_percent(card);
  return SUCCESS;
}

int rsmi_dev_memory_busy_percent_get(uint32_t index, uint32_t *percent) {
  CARD;
  *percent = fake_percent(card) / 2;
  return SUCCESS;
}

int rsmi_dev_memory_usage_get(uint32_t index, int type, uint64_t *bytes) {
  CARD;
  if (type != 0) return INVALID_ARGS;
  *bytes = fake_used(card);
  return SUCCESS;
}

int rsmi_dev_memory_total_get(uint32_t index, int type, uint64_t *bytes) {
  CARD;
  if (type != 0) return INVALID_ARGS;
  *bytes = fake_total();
  return SUCCESS;
}

int rsmi_dev_power_get(uint32_t index, uint64_t *microwatts, int *type) {
  CARD;
  *microwatts = 1000ull * fake_milliwatts(card);
  *type = 1;
  return SUCCESS;
}

int rsmi_dev_power_cap_get(uint32_t index, uint32_t sensor, uint64_t *microwatts) {
  CARD;
  (void)sensor;
  *microwatts = 560000000;
  return SUCCESS;
}

int rsmi_dev_temp_metric_get(uint32_t index, uint32_t sensor, int metric, int64_t *thousandths) {
  CARD;
  if (metric != 0) return INVALID_ARGS;
  if (sensor == 0 && fake_lacks(card, "edge")) return NOT_SUPPORTED;
  *thousandths = 1000ll * ((int64_t)fake_degrees(card) + 10 * (int64_t)sensor);
  return SUCCESS;
}

int rsmi_dev_fan_speed_get(uint32_t index, uint32_t sensor, int64_t *speed) {
  CARD;
  (void)sensor;
  if (fake_lacks(card, "fan")) return NOT_SUPPORTED;
  *speed = 102;
  return SUCCESS;
}

int rsmi_dev_pci_replay_counter_get(uint32_t index, uint64_t *count) {
  CARD;
  *count = 6;
  return SUCCESS;
}

/* Only the memory controller and the compute block count errors. */
int rsmi_dev_ecc_count_get(uint32_t index, uint64_t block, uint64_t *count) {
  CARD;
  if (block != 1 && block != 4) return NOT_SUPPORTED;
  count[0] = block == 1 ? 3 : 1;
  count[1] = block == 1 ? 2 : 0;
  return SUCCESS;
}

int rsmi_dev_energy_count_get(uint32_t index, uint64_t *count, float *resolution, uint64_t *time) {
  CARD;
  *count = 65536ull * (uint64_t)(card->index + 1);
  *resolution = 15.25f;
  *time = 0;
  return SUCCESS;
}
