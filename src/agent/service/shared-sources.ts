import type { CustomSource } from '../../sources/custom/custom.ts';
import { gpuTable } from '../../sources/gpu/gpu.ts';
import { mine } from '../../sources/gpu/mine.ts';
import type { NodeFacts } from '../../sources/host/facts.ts';
import type { Host, Note } from '../../sources/host.ts';
import { sources } from '../../sources/index.ts';
import { WHOLE_NODE } from '../../sources/scope.ts';
import type { Source, SourceKind } from '../../sources/source.ts';
import { Frame } from '../../table/frame.ts';
import type { IsolatedSources } from '../isolated/isolated.ts';
import type { Agent } from '../loop/agent.ts';

/** What belongs to the whole node is read once a tick, however many recordings it goes to. */
export interface SharedSources {
  /** The node's tables; each agent opens them as if they were its own. */
  readonly kinds: readonly SourceKind[];
  /** Samples of sources that may hang go to this agent too until it stops. Its job's environment says which GPUs it has. */
  attach(agent: Agent, environment?: Readonly<Record<string, string>>): void;
  close(): Promise<void>;
}

export interface SharedOptions {
  host: Host;
  isWanted(table: string): boolean;
  custom: readonly CustomSource[];
}

export function sharedSources(options: SharedOptions): SharedSources {
  const { host, isWanted } = options;
  const plain = sources.filter(
    (kind) => kind.table.scope === 'node' && kind.isolated !== true && isWanted(kind.table.name),
  );
  const kept: Source[] = [];
  const kinds = plain.map((kind) => shareKind(kind, host, (source) => kept.push(source)));
  const slow = sharedIsolated(options);
  return {
    kinds,
    attach: slow.attach,
    async close() {
      await slow.close();
      for (const source of kept) source.close();
    },
  };
}

/** A kind whose source is opened once; who asks for the same tick gets a copy of what was read for the first. */
export function shareKind(kind: SourceKind, host: Host, opened: (source: Source) => void = () => {}): SourceKind {
  let source: Source | undefined;
  let frame: Frame | undefined;
  let failure: unknown;
  return {
    ...kind,
    open(own) {
      if (source === undefined) {
        source = kind.open(host, WHOLE_NODE);
        frame = new Frame(source.table);
        frame.time = -1;
        opened(source);
      }
      const { table } = source;
      let notesCopied = 0;
      // what could not be read of this table is missing in every recording
      const sayNotes = (): void => {
        for (; notesCopied < host.notes.length; notesCopied++)
          if (host.notes[notesCopied]!.table === table.name) own.note(host.notes[notesCopied]!);
      };
      sayNotes();
      return {
        table,
        read(target) {
          const read = frame!;
          if (read.time !== target.time) {
            read.clear(target.time);
            failure = undefined;
            try {
              source!.read(read);
            } catch (error) {
              failure = error;
            }
          }
          sayNotes();
          if (failure !== undefined) throw failure;
          copyRows(read, target);
        },
        close() {},
      };
    },
  };
}

/** Adds the rows of one frame to another of the same table. */
export function copyRows(from: Frame, to: Frame): void {
  const first = to.rows;
  for (let r = 0; r < from.rows; r++) to.row();
  to.numbers.set(from.numbers.subarray(0, from.rows * from.numberWidth), first * to.numberWidth);
  for (let i = 0; i < from.rows * from.textWidth; i++) to.texts[first * to.textWidth + i] = from.texts[i]!;
  if (from.times !== undefined) to.times?.set(from.times.subarray(0, from.rows), first);
}

/** One process reads what may hang, for all agents: a request of theirs for the same tick is one request. */
function sharedIsolated({ host, isWanted, custom }: SharedOptions): Pick<SharedSources, 'attach' | 'close'> {
  const kinds = sources.filter((kind) => kind.isolated === true && isWanted(kind.table.name) && kind.present(host));
  const own = custom.filter((source) => isWanted(source.name));
  const agents = new Map<Agent, Readonly<Record<string, string>> | undefined>();
  /** Who asked for the tick that is being answered. */
  let asking = new Set<Agent>();
  let asked = -1;
  let answered = true;
  let gpus: NodeFacts['gpus'] | undefined;
  const notes: Note[] = [];
  let isolated: IsolatedSources | undefined;
  let opening: Promise<IsolatedSources> | undefined;

  const open = async (): Promise<IsolatedSources> => {
    const { IsolatedSources } = await import('../isolated/isolated.ts');
    isolated = new IsolatedSources(
      kinds.map((kind) => kind.table.name),
      {
        root: host.root,
        scope: WHOLE_NODE,
        custom: own,
        deliver(frame) {
          for (const agent of asking) {
            markMine(frame, agents.get(agent));
            agent.deliver(frame);
          }
        },
        note(note) {
          notes.push(note);
          for (const agent of agents.keys()) agent.note(note);
        },
        facts(sharedCards) {
          gpus = sharedCards;
          for (const agent of agents.keys()) agent.foundGpus(sharedCards);
        },
      },
    );
    return isolated;
  };

  const join = (agent: Agent, all: IsolatedSources): void => {
    for (const note of notes) agent.note(note);
    if (gpus !== undefined) agent.foundGpus(gpus);
    agent.attach({
      request(time) {
        if (time !== asked) {
          asked = time;
          answered = all.request(time);
          if (answered) asking = new Set();
        }
        asking.add(agent);
        return answered;
      },
      // the others go on; what was asked for last may still come
      async close() {
        await all.settled();
        agents.delete(agent);
        asking.delete(agent);
      },
      get skipped() {
        return all.skipped;
      },
      get cost() {
        return all.cost;
      },
    });
  };

  return {
    attach(agent, environment) {
      if (kinds.length === 0 && own.length === 0) return;
      agents.set(agent, environment);
      if (isolated !== undefined) join(agent, isolated);
      else {
        opening ??= open();
        void opening.then((all) => join(agent, all));
      }
    },
    async close() {
      await (await opening)?.close();
    },
  };
}

/** Which of the node's GPUs are the job's: the reader sees them all and knows of no job. */
function markMine(frame: Frame, environment: Readonly<Record<string, string>> | undefined): void {
  if (frame.table.name !== gpuTable.name) return;
  const { gpu, uuid, vendor, mine: mineColumn } = gpuTable.at;
  const text = (row: number, at: number): string => frame.texts[row * frame.textWidth + at]!;
  const cards = Array.from({ length: frame.rows }, (_, row) => ({
    gpu: text(row, gpu),
    uuid: text(row, uuid),
    vendor: text(row, vendor),
  }));
  const shares = environment === undefined ? cards.map(() => '') : mine(cards, environment);
  for (const [row, mineText] of shares.entries()) frame.texts[row * frame.textWidth + mineColumn] = mineText;
}
