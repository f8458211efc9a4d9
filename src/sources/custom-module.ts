import type { CustomDevice, CustomReader, CustomSource } from './custom.ts';
export async function openModule(
  _source: CustomSource,
  _devices: () => readonly CustomDevice[],
): Promise<CustomReader> {
  throw new Error('x');
}
