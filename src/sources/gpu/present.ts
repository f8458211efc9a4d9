import type { Host } from '../host.ts';

/** An AMD card as the kernel lists it. */
export interface PciDevice {
  /** '/sys/class/drm/card1/device' */
  path: string;
  /** '0000:c1:00.0' */
  address: string;
}

/** The amdgpu cards by PCI address. Partitions of one card have no address of their own and are not listed. */
export function amdPciDevices(host: Host): PciDevice[] {
  const pciDevices: PciDevice[] = [];
  for (const name of host.list('/sys/class/drm')) {
    if (!/^card\d+$/.test(name)) continue;
    const path = `/sys/class/drm/${name}/device`;
    if (host.text(`${path}/vendor`) !== '0x1002') continue;
    const address = /^PCI_SLOT_NAME=(.+)$/m.exec(host.text(`${path}/uevent`) ?? '')?.[1];
    if (address !== undefined && host.exists(`${path}/mem_info_vram_total`)) pciDevices.push({ path, address });
  }
  return pciDevices.sort((a, b) => (a.address < b.address ? -1 : 1));
}

export const hasNvidia = (host: Host): boolean =>
  process.env.TACHO_NVML !== undefined || host.exists('/dev/nvidiactl') || host.exists('/proc/driver/nvidia/version');

export const hasAmd = (host: Host): boolean =>
  process.env.TACHO_AMD_SMI !== undefined || process.env.TACHO_ROCM_SMI !== undefined || amdPciDevices(host).length > 0;

/** Is there a GPU, or a library that a test names? Touches no library. */
export const present = (host: Host): boolean => hasNvidia(host) || hasAmd(host);
