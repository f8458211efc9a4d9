import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job } from '../../recording/folder/job.ts';
import type { Marker } from '../../recording/read/markers.ts';
import { figuresOf, phasePartsOf } from './phases.ts';

const job = { end: 100e6 } as Job;
const at = (second: number, action: Marker['action'], name: string, value?: string): Marker => ({
  time: second * 1e6,
  node: 'c1',
  action,
  name,
  ...(value === undefined ? {} : { value }),
});

test('phases nest, repeat and may stay open', () => {
  const markers = [
    at(1, 'begin', 'run'),
    at(2, 'begin', 'epoch'),
    at(5, 'end', 'epoch'),
    at(6, 'begin', 'epoch'),
    at(7, 'end', 'never begun'),
    at(9, 'end', 'epoch'),
    at(90, 'begin', 'tail'),
    at(95, 'end', 'run'),
  ];
  assert.deepEqual(
    phasePartsOf({ markers, job, now: 0 }).map(({ phase: p }) => [
      p.name,
      p.start / 1e6,
      p.seconds,
      p.end === undefined,
    ]),
    [
      ['run', 1, 94, false],
      ['epoch', 2, 3, false],
      ['epoch', 6, 3, false],
      ['tail', 90, 10, true],
    ],
  );
});

test('of a part, phases that began before it or ended after it have what lies in it', () => {
  const markers = [
    at(1, 'begin', 'run'),
    at(2, 'begin', 'load'),
    at(5, 'end', 'load'),
    at(5, 'begin', 'step'),
    at(8, 'end', 'step'),
    at(8, 'begin', 'sum'),
    at(9, 'fom', 'loss', '0.5'),
    at(12, 'end', 'sum'),
    at(12, 'begin', 'late'),
    at(13, 'fom', 'loss', '0.25'),
    at(20, 'end', 'late'),
  ];
  const range = { what: 'the time asked for', from: 5e6, to: 10e6 };
  const phases = phasePartsOf({ markers, job, now: 0, range }).map(({ phase }) => phase);
  assert.deepEqual(phases, [
    // never ended: until the end of the job
    { name: 'run', start: 5e6, seconds: 5, began: 1e6, whole_seconds: 99 },
    { name: 'step', start: 5e6, end: 8e6, seconds: 3 },
    { name: 'sum', start: 8e6, end: 10e6, seconds: 2, whole_seconds: 4 },
  ]);
  assert.deepEqual(
    figuresOf({ markers, range }).map((f) => f.value),
    [0.5],
  );
});

test('figures are numbers where they can be', () => {
  const markers = [at(1, 'fom', 'loss', '0.25'), at(2, 'fom', 'best', 'run-7'), at(3, 'fom', 'nothing')];
  assert.deepEqual(
    figuresOf({ markers }).map((f) => f.value),
    [0.25, 'run-7', ''],
  );
});
