import { Host } from '../host.ts';

/**
 * The host as a source sees it that reads several devices, any of which may hang. Such a source asks before it touches
 * one; whoever watches the source then knows where it is, and can have it leave a device out.
 */
export class DeviceHost extends Host {
  /** Devices to leave alone, by name ('nvidia 3'). */
  skip: ReadonlySet<string> = new Set();
  readonly #announce: (device: string) => void;

  constructor(root: string, announce: (device: string) => void) {
    super(root);
    this.#announce = announce;
  }

  /** About to touch this device. False: do not. */
  enter(device: string): boolean {
    if (this.skip.has(device)) return false;
    this.#announce(device);
    return true;
  }
}

/** May this device be touched now? Always, unless somebody watches. */
export function enter(host: Host, device: string): boolean {
  return host instanceof DeviceHost ? host.enter(device) : true;
}
