import type { CustomReader, CustomSource } from './custom.ts';
export async function openCommand(_source: CustomSource): Promise<CustomReader> {
  throw new Error('x');
}
