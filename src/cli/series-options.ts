import type { Command } from 'commander';
import { Fault, usage } from '../base/fault.ts';
import type { SeriesFilter } from '../charts/metric-charts.ts';
import type { SpanOptions } from './span-options.ts';

/** What a verb that shows some series of a table has among its options. */
export interface SeriesOptions {
  node?: string[];
  gpu?: string[];
  key?: string[];
}

const list = (value: string, all: string[] = []): string[] => [...all, ...value.split(',')];

/** Gives a verb `--node`, `--gpu` and `--key`. */
export function seriesOptions(command: Command): Command {
  return command
    .option('--node <names>', 'only these nodes, separated by commas', list)
    .option('--gpu <ids>', 'only these GPUs, separated by commas', list)
    .option(
      '--key <name=value>',
      'only rows with this key, e.g. disk=sda; may be given several times',
      (text, all: string[] = []) => [...all, text],
    );
}

export function seriesFilter({ node, gpu, key = [] }: SeriesOptions): SeriesFilter {
  const keys = new Map<string, string[]>(gpu === undefined ? [] : [['gpu', gpu]]);
  for (const each of key) {
    const at = each.indexOf('=');
    if (at < 1) throw usage(`"${each}" is no key with a value`, 'write it like --key disk=sda');
    const name = each.slice(0, at);
    keys.set(name, [...(keys.get(name) ?? []), each.slice(at + 1)]);
  }
  return { ...(node === undefined ? {} : { nodes: node }), keys };
}

/** Why nothing is shown: too much was left out, or the job was too short for the rate of a counter. */
export function nothingToShow(message: string, options: SeriesOptions & SpanOptions): Fault {
  const { node, gpu, key, from, to, step, marker } = options;
  const isPart = [node, gpu, key, from, to, step, marker].some((each) => each !== undefined);
  return new Fault(message, {
    hint: isPart
      ? 'leave out --node, --gpu, --key or the time to see what there is'
      : 'a rate needs two samples while the job runs: record short jobs with a shorter --interval',
  });
}
