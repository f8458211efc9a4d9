import { formatDuration } from '../../base/duration.ts';

export interface Progress {
  advance(n?: number): void;
  done(): void;
}

interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const PATIENCE = 2000;
const PERIOD = 200;

/**
 * One line on the terminal that says how far a long operation has come. It shows itself only after two seconds,
 * only on a terminal, and is gone when the operation is done.
 */
export function progress(label: string, total?: number, stream: Terminal = process.stderr): Progress {
  if (stream.isTTY !== true) return { advance() {}, done() {} };
  const start = Date.now();
  let last = start + PATIENCE - PERIOD;
  let count = 0;
  let shown = false;
  return {
    advance(n = 1) {
      count += n;
      const now = Date.now();
      if (now - last < PERIOD) return;
      last = now;
      shown = true;
      const line = `${label}: ${describe(count, total, (now - start) / 1000)}`;
      stream.write(`\r\x1b[K${line.slice(0, (stream.columns ?? 80) - 1)}`);
    },
    done() {
      if (shown) stream.write('\r\x1b[K');
      shown = false;
    },
  };
}

function describe(count: number, total: number | undefined, elapsed: number): string {
  if (total === undefined || total <= 0 || count <= 0) return String(count);
  const left = count < total ? `, ${formatDuration((elapsed / count) * (total - count))} left` : '';
  return `${Math.min(100, Math.floor((100 * count) / total))} %${left}`;
}
