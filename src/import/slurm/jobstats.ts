import { gunzipSync } from 'node:zlib';
import { reason } from '../../base/fault.ts';
import { stated } from '../../base/stated.ts';

/** What jobstats measured on a node, all of it once the job had ended. */
export interface JobstatsNode {
  node: string;
  cpus?: number;
  cpu_seconds?: number;
  memory_bytes?: number;
  memory_limit_bytes?: number;
  gpus: { gpu: string; use?: number; memory_bytes?: number; memory_total_bytes?: number }[];
}

/** More than jobs of the largest machines have. */
const MOST_BYTES = 64 << 20;

/**
 * What jobstats has put into AdminComment: `JS1:` and JSON, packed with gzip and written as base64. Undefined: there is none, or
 * jobstats had nothing to say (`JS1:None`, `JS1:Short`). A string: why it cannot be read.
 */
export function readJobstats(comment: string | undefined): JobstatsNode[] | string | undefined {
  const packed = /JS1:([A-Za-z0-9+/]+=*)/.exec(comment ?? '')?.[1];
  if (packed === undefined || packed === 'None' || packed === 'Short') return undefined;
  let parsedJson: unknown;
  try {
    const text = gunzipSync(Buffer.from(packed, 'base64'), { maxOutputLength: MOST_BYTES }).toString('utf8');
    parsedJson = JSON.parse(text);
  } catch (error) {
    return `what jobstats has put into AdminComment cannot be read: ${reason(error)}`;
  }
  const { nodes } = fields(parsedJson);
  return Object.entries(fields(nodes)).map(([node, value]) => nodeOf(node, fields(value)));
}

function nodeOf(node: string, of: Record<string, unknown>): JobstatsNode {
  const [use, used, total] = [of.gpu_utilization, of.gpu_used_memory, of.gpu_total_memory].map(fields) as [
    Record<string, unknown>,
    Record<string, unknown>,
    Record<string, unknown>,
  ];
  const gpus = [...new Set([use, used, total].flatMap((one) => Object.keys(one)))].sort();
  return {
    node,
    ...stated({
      cpus: number(of.cpus),
      cpu_seconds: number(of.total_time),
      memory_bytes: number(of.used_memory),
      memory_limit_bytes: number(of.total_memory),
    }),
    gpus: gpus.map((gpu) => {
      const percent = number(use[gpu]);
      return {
        gpu,
        ...stated({
          use: percent === undefined ? undefined : percent / 100,
          memory_bytes: number(used[gpu]),
          memory_total_bytes: number(total[gpu]),
        }),
      };
    }),
  };
}

const fields = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
const number = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
