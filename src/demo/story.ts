/** What the job does: it loads its data, then trains in epochs; each ends with a checkpoint, every third is evaluated. */
export type Phase = 'load' | 'train' | 'checkpoint' | 'evaluate';

export interface Stretch {
  phase: Phase;
  /** Name of the marker: "load", "epoch 3", "checkpoint 3", "evaluation 3". */
  name: string;
  /** Seconds since the job began. */
  start: number;
  end: number;
}

/** Who is unlike the others. */
export interface Cast {
  /** A node whose cooling is poor: hotter, throttling, slower. */
  straggler: number;
  /** A card that nobody uses. */
  idle: { node: number; gpu: number };
  /** A node on which a program never gives memory back. */
  leak: number;
}

export interface Story {
  seconds: number;
  /** How much longer storage takes than usual. */
  storage: number;
  stretches: readonly Stretch[];
  cast: Cast;
}

const EPOCHS = 12;

/** Parts of an epoch (600 s when the job takes two hours). */
const CHECKPOINT = 25 / 600;
const EVALUATION = 100 / 600;
const LOAD = 90 / 600;

/** Storage of the second, slower run takes so much longer. */
const SLOW_STORAGE = 4;

/** How long a phase takes where storage is slow: data is read, or a checkpoint written. */
const waitsForStorage = (phase: Phase): boolean => phase === 'load' || phase === 'checkpoint';

/** The same story, told in so many seconds with so many nodes and cards; where storage is slow, it takes longer. */
export function tell(seconds: number, nodes: number, gpus: number, isSlow = false): Story {
  const epoch = seconds / EPOCHS;
  const storage = isSlow ? SLOW_STORAGE : 1;
  const usual: Stretch[] = [{ phase: 'load', name: 'load', start: 0, end: LOAD * epoch }];
  for (let n = 1; n <= EPOCHS; n++) {
    const begin = n === 1 ? LOAD * epoch : (n - 1) * epoch;
    const end = n * epoch;
    const evaluated = n % 3 === 0;
    const trained = end - (CHECKPOINT + (evaluated ? EVALUATION : 0)) * epoch;
    usual.push({ phase: 'train', name: `epoch ${n}`, start: begin, end: trained });
    if (evaluated)
      usual.push({ phase: 'evaluate', name: `evaluation ${n}`, start: trained, end: end - CHECKPOINT * epoch });
    usual.push({ phase: 'checkpoint', name: `checkpoint ${n}`, start: end - CHECKPOINT * epoch, end });
  }
  const stretches = storage === 1 ? usual : slowed(usual, storage);
  return {
    seconds: stretches.at(-1)!.end,
    storage,
    stretches,
    // in small demos one node may play two parts
    cast: {
      straggler: nodes > 1 ? Math.floor(nodes / 3) : -1,
      idle: { node: nodes - 1, gpu: gpus > 1 ? gpus - 3 + Number(gpus < 3) : -1 },
      leak: nodes > 2 ? Math.floor(nodes / 2) : -1,
    },
  };
}

function slowed(usual: readonly Stretch[], factor: number): Stretch[] {
  let start = 0;
  return usual.map((stretch) => {
    const end = start + (stretch.end - stretch.start) * (waitsForStorage(stretch.phase) ? factor : 1);
    const slow = { ...stretch, start, end };
    start = end;
    return slow;
  });
}

/** A reader of the story: call it with times that never go back. */
export function follow(story: Story): (second: number) => Phase {
  let at = 0;
  return (second) => {
    while (at + 1 < story.stretches.length && second >= story.stretches[at]!.end) at++;
    return story.stretches[at]!.phase;
  };
}
