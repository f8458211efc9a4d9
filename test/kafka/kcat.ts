import { execFileSync } from 'node:child_process';

export interface Consumed {
  headers: Record<string, string>;
  key: string;
  value: Record<string, unknown>;
  /** Milliseconds. */
  timestamp: number;
}

/** Everything that an independent consumer, Debian's kcat, reads from a topic. */
export function kcat(broker: string, topic: string): Consumed[] {
  const text = execFileSync(
    'kcat',
    ['-b', broker, '-C', '-e', '-q', '-o', 'beginning', '-t', topic, '-f', '%h\\t%k\\t%T\\t%s\\n'],
    { encoding: 'utf8', maxBuffer: 1 << 30, timeout: 240_000 },
  );
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [headers, key, timestamp, value] = line.split('\t') as [string, string, string, string];
      return {
        headers: Object.fromEntries(headers.split(',').map((pair) => pair.split('=') as [string, string])),
        key,
        timestamp: Number(timestamp),
        value: JSON.parse(value) as Record<string, unknown>,
      };
    });
}
