import { usage } from './fault.ts';

const PREFIXES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/** For people: "512 B", "1.5 GiB", "230 MiB": three digits at most, always binary. */
export function formatBytes(bytes: number): string {
  if (!Number.isFinite(bytes)) return 'unknown';
  if (bytes < 0) return `-${formatBytes(-bytes)}`;
  let value = bytes;
  let power = 0;
  while (power < PREFIXES.length - 1 && Math.round(value) >= 1024) {
    value /= 1024;
    power++;
  }
  const digits = power === 0 || value >= 99.95 ? 0 : 1;
  return `${value.toFixed(digits)} ${PREFIXES[power]}B`;
}

/** Bytes from "4G", "1500MiB", "64k", "2.5 TB" or "123"; as schedulers do, K, M, G… are powers of 1024. */
export function parseBytes(text: string): number {
  const sizeMatch = /^\s*(\d+(?:\.\d+)?)\s*([kmgtpe]?)i?b?\s*$/i.exec(text);
  if (sizeMatch === null) throw usage(`"${text}" is not a size`, 'write it like 4G, 1500MiB or 123456 (bytes)');
  const power = sizeMatch[2] === '' ? 0 : 'kmgtpe'.indexOf(sizeMatch[2]!.toLowerCase()) + 1;
  return Math.round(Number(sizeMatch[1]) * 1024 ** power);
}
