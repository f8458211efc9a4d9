import assert from 'node:assert/strict';
import { test } from 'node:test';
import { paint } from '../terminal/paint.ts';
import { shownRows, type TopLook, type TopState, topFrame, totalsOf } from './frame.ts';

const NOW = 1_800_000_000_000_000;
const GiB = 2 ** 30;
const node = (name: string, cpu: number, age: number) => ({
  node: name,
  last: NOW - age * 1e6,
  scope: 'job' as const,
  cpu,
  memory_bytes: cpu * GiB,
  gpus: [{ node: name, gpu: '0', utilization_percent: cpu * 10 }],
  processes: [{ node: name, pid: 17, name: 'solver', user: 'ada', state: 'R', cpu, memory_bytes: GiB }],
});
const state: TopState = {
  job: { id: '4711', name: 'train', user: 'ada', start: NOW - 90e6, state: 'running' },
  now: NOW,
  nodes: [node('c1', 2, 1), node('c2', 6, 1), node('c10', 4, 100)],
  history: [
    { cpu: 4, memory: 4 * GiB, gpu: 40, io: null },
    { cpu: 12, memory: 12 * GiB, gpu: null, io: null },
  ],
  findings: [
    { severity: 'warning', text: 'one' },
    { severity: 'info', text: 'two' },
  ],
};
const look: TopLook = { view: 'nodes', filter: '', isTyping: false, sort: 0, selected: 0 };
const page = { width: 80, height: 24, pen: paint({}), isUnicode: false };

test('a page is as high as the terminal, and no wider', () => {
  for (const [width, height] of [
    [80, 24],
    [40, 12],
    [200, 60],
  ] as const)
    for (const view of ['nodes', 'gpus', 'processes', 'findings'] as const) {
      const lines = topFrame(state, { ...look, view }, { ...page, width, height });
      assert.equal(lines.length, height);
      assert.deepEqual(
        lines.filter((line) => line.length > width),
        [],
      );
    }
});

test('what was not measured is a gap, a silent node says since when', () => {
  const text = topFrame(state, look, page).join('\n');
  assert.match(text, /^4711 train +running 1 min 30 s, 3 nodes, 3 GPUs$/m);
  assert.match(text, /^CPU +,# {2}12 CPUs, max 12 CPUs$/m);
  assert.match(text, /^GPU +# {3}not measured, max 40 %$/m);
  assert.doesNotMatch(text, /^I\/O /m);
  assert.match(text, /c10 +4 +4 GiB +40 % +1 +silent for 1 min 40 s/);
  assert.match(text, /^one, and 1 more \(f\)$/m);
});

test('a job without GPUs has none, which is not the same as no samples', () => {
  const [c1] = state.nodes;
  const gpus = (nodes: TopState['nodes']): string =>
    topFrame({ ...state, nodes }, { ...look, view: 'gpus' }, page).join('\n');
  assert.match(gpus([{ ...c1!, gpus: [] }]), /^No GPU is recorded\.$/m);
  const { last: _, ...unsampled } = c1!;
  assert.match(gpus([{ ...unsampled, gpus: [] }]), /^Nothing was sampled yet\.$/m);
  assert.match(gpus(state.nodes), /^GPUs {3}n g p f: views/m);
});

test('rows are sorted by any column, and filtered', () => {
  const names = (changes: Partial<TopLook>): string[] => shownRows(state, { ...look, ...changes }).map(({ id }) => id);
  assert.deepEqual(names({}), ['c1', 'c2', 'c10']);
  assert.deepEqual(names({ sort: 1 }), ['c2', 'c10', 'c1']);
  assert.deepEqual(names({ filter: 'C10' }), ['c10']);
  assert.deepEqual(names({ view: 'processes', node: 'c2' }), ['c2']);
});

test('the whole is the sum, of GPUs the mean, and null where nothing is known', () => {
  assert.deepEqual(totalsOf(state.nodes), { cpu: 12, memory: 12 * GiB, gpu: 40, io: null });
  assert.deepEqual(totalsOf([]), { cpu: null, memory: null, gpu: null, io: null });
});

test('the keys fit beside a filter: shorter ones, and a long filter is cut', () => {
  const foot = (changes: Partial<TopLook>, width = 80): string =>
    topFrame(state, { ...look, ...changes }, { ...page, width }).at(-1)!;
  assert.match(foot({}), /^nodes {3}n g p f: views .* q: quit$/);
  assert.equal(
    foot({ view: 'processes', node: 'c1', filter: 'solver' }),
    'processes of c1 with "solver"   s: sort  /: filter  Esc: back  q: quit',
  );
  assert.match(foot({ filter: 'x'.repeat(90) }), /^nodes with "x+\.\. {3}\/: filter {2}Esc: back {2}q: quit$/);
  assert.match(foot({ filter: 'solver' }, 40), / {3}\/: filter {2}Esc: back {2}q: quit$/);
});
