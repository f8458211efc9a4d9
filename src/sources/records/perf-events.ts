import { suggest } from '../../base/suggest.ts';
import type { Unit } from '../../table/unit.ts';

interface PerfEvent {
  /** Its name in the program perf. */
  readonly alias: string;
  readonly unit: Unit;
  readonly help: string;
}

const event = (alias: string, help: string, unit: Unit = 'count'): PerfEvent => ({ alias, unit, help });

/** The perf events that native/record-events.c can count, by their names in the kernel. */
export const PERF_EVENTS: ReadonlyMap<string, PerfEvent> = new Map([
  ['PERF_COUNT_HW_CPU_CYCLES', event('cycles', 'Cycles of the CPU, outside of the kernel.')],
  ['PERF_COUNT_HW_INSTRUCTIONS', event('instructions', 'Instructions, outside of the kernel.')],
  ['PERF_COUNT_HW_CACHE_REFERENCES', event('cache-references', 'Accesses to the last cache.')],
  ['PERF_COUNT_HW_CACHE_MISSES', event('cache-misses', 'Accesses that the last cache could not serve.')],
  ['PERF_COUNT_HW_BRANCH_INSTRUCTIONS', event('branches', 'Branches.')],
  ['PERF_COUNT_HW_BRANCH_MISSES', event('branch-misses', 'Branches that were predicted wrongly.')],
  ['PERF_COUNT_HW_BUS_CYCLES', event('bus-cycles', 'Cycles of the bus.')],
  [
    'PERF_COUNT_HW_STALLED_CYCLES_FRONTEND',
    event('stalled-cycles-frontend', 'Cycles in which no instruction could be fetched.'),
  ],
  [
    'PERF_COUNT_HW_STALLED_CYCLES_BACKEND',
    event('stalled-cycles-backend', 'Cycles in which no instruction could be completed.'),
  ],
  ['PERF_COUNT_HW_REF_CPU_CYCLES', event('ref-cycles', 'Cycles at a constant frequency.')],
  ['PERF_COUNT_SW_TASK_CLOCK', event('task-clock', 'Time on a CPU.', 'nanoseconds')],
  ['PERF_COUNT_SW_PAGE_FAULTS', event('page-faults', 'Page faults.')],
  [
    'PERF_COUNT_SW_CONTEXT_SWITCHES',
    event('context-switches', 'Times that another thread got the CPU; missing unless the kernel may be looked into.'),
  ],
  [
    'PERF_COUNT_SW_CPU_MIGRATIONS',
    event('cpu-migrations', 'Moves to another CPU; missing unless the kernel may be looked into.'),
  ],
  ['PERF_COUNT_SW_PAGE_FAULTS_MIN', event('minor-faults', 'Page faults that needed no disk.')],
  ['PERF_COUNT_SW_PAGE_FAULTS_MAJ', event('major-faults', 'Page faults that had to wait for a disk.')],
  ['PERF_COUNT_SW_ALIGNMENT_FAULTS', event('alignment-faults', 'Accesses that the kernel had to align.')],
  ['PERF_COUNT_SW_EMULATION_FAULTS', event('emulation-faults', 'Instructions that the kernel had to emulate.')],
]);

/** As many as native/record-events.c counts at once. */
const MOST = 8;

/** The kernel's names of the events in a list, each once, without those that nobody knows; as the library takes them. */
export function eventsNamed(names: readonly string[]): string[] {
  const eventNames = new Set<string>();
  for (const name of names) {
    if (PERF_EVENTS.has(name)) eventNames.add(name);
    else for (const [kernel, { alias }] of PERF_EVENTS) if (alias === name) eventNames.add(kernel);
  }
  return [...eventNames].slice(0, MOST);
}

/** The names in a list that are not counted, and why. */
export function eventsNotCounted(names: readonly string[]): { name: string; why: string; hint: string }[] {
  const counted = new Set(eventsNamed(names));
  return names.flatMap((name) => {
    const [event] = eventsNamed([name]);
    if (event === undefined) {
      const near = suggest(
        name,
        [...PERF_EVENTS].flatMap(([kernel, { alias }]) => [alias, kernel]),
      );
      return [
        {
          name,
          why: 'it is no perf event that Tacho knows',
          hint: near === undefined ? 'docs/processes-recording.md lists those that it knows' : `did you mean ${near}?`,
        },
      ];
    }
    const hint = 'name fewer in TACHO_RECORD_EVENTS';
    return counted.has(event) ? [] : [{ name, why: `no more than ${MOST} events are counted`, hint }];
  });
}

/** The names in TACHO_RECORD_EVENTS. */
export const splitEvents = (list: string | undefined): string[] => (list ?? '').split(/[,; ]+/).filter(Boolean);
