import assert from 'node:assert/strict';
import { test } from 'node:test';
import { madeJob } from '../../../test/made/outlier-jobs.ts';
import type { Fault } from '../../base/fault.ts';
import { explore } from './explore.ts';
import { spacingOf } from './segments.ts';

test('the spacing of segments is found in what they are named', () => {
  assert.deepEqual(spacingOf(['18540101', '18590101', '18690101']), {
    step: '5 years',
    expected: ['18540101', '18590101', '18640101', '18690101'],
  });
  assert.deepEqual(spacingOf(['20240131', '20240202', '20240201']), {
    step: '1 day',
    expected: ['20240131', '20240201', '20240202'],
  });
  assert.deepEqual(spacingOf(['2023-11', '2024-02', '2024-05', '2024-11'])!.expected, [
    '2023-11',
    '2024-02',
    '2024-05',
    '2024-08',
    '2024-11',
  ]);
  assert.deepEqual(spacingOf(['2024-02-28', '2024-02-29', '2024-03-02'])!.expected[2], '2024-03-01');
  assert.deepEqual(spacingOf(['008', '010', '009', '012']), {
    step: '1',
    expected: ['008', '009', '010', '011', '012'],
  });
  assert.deepEqual(spacingOf(['1854', '1864', '1859'])!.expected, ['1854', '1859', '1864']);
});

test('years below 100 and months without a dash are dates too', () => {
  assert.deepEqual(spacingOf(['00010101', '00060101', '00110101', '00210101']), {
    step: '5 years',
    expected: ['00010101', '00060101', '00110101', '00160101', '00210101'],
  });
  assert.deepEqual(spacingOf(['00950101', '01000101', '01100101'])!.expected[2], '01050101');
  assert.deepEqual(spacingOf(['0099-12-30', '0099-12-31', '0100-01-02'])!.expected[2], '0100-01-01');
  assert.deepEqual(spacingOf(['185010', '185011', '185101', '185103', '185105']), {
    step: '1 month',
    expected: ['185010', '185011', '185012', '185101', '185102', '185103', '185104', '185105'],
  });
  // no months
  assert.deepEqual(spacingOf(['000009', '000010', '000013'])!.expected.slice(2), ['000011', '000012', '000013']);
  assert.equal(spacingOf(['185011', '185012', '185013'])!.step, '1');
});

test('calendars of models are found in the days that they have', () => {
  // every month has 30 days
  assert.deepEqual(spacingOf(['18500228', '18500229', '18500230', '18500302', '18501230']), {
    step: '1 day',
    expected: [
      ...['18500228', '18500229', '18500230'],
      ...Array.from(
        { length: 300 },
        (_, i) => `1850${String(3 + Math.floor(i / 30)).padStart(2, '0')}${String((i % 30) + 1).padStart(2, '0')}`,
      ),
    ],
  });
  assert.deepEqual(spacingOf(['0001-12-25', '0001-12-30', '0002-01-10', '0002-02-30'])!.expected.slice(1, 5), [
    '0001-12-30',
    '0002-01-05',
    '0002-01-10',
    '0002-01-15',
  ]);
  // months by their middle are no months of 30 days
  assert.deepEqual(spacingOf(['18500115', '18500215', '18500415']), {
    step: '1 month',
    expected: ['18500115', '18500215', '18500315', '18500415'],
  });
  assert.equal(spacingOf(['1850-12-16', '1852-12-16', '1851-12-16'])!.step, '1 year');
  // no leap years: five days divide them
  assert.deepEqual(spacingOf(['20240225', '20240302', '20240307', '20240317'])!.expected, [
    '20240225',
    '20240302',
    '20240307',
    '20240312',
    '20240317',
  ]);
  // one leap day may be missing, all of them are not
  assert.ok(spacingOf(['20240227', '20240228', '20240301'])!.expected.includes('20240229'));
  const years = spacingOf(['20240227', '20240228', '20240301', '20280228', '20280301'])!;
  assert.deepEqual([years.expected.length, years.expected.includes('20240229')], [2 + 4 * 365 + 1, false]);
  // unless the days around them are missing, too
  const apart = ['01', '02', '03'].flatMap((day) => [`185001${day}`, `186001${day}`]);
  assert.equal(spacingOf(apart)!.expected.length, 3652 + 3);
  assert.equal(spacingOf(['18500228', '18500230', '18500331']), undefined);
  // hours are no numbers either: none lies between 23 and the next day
  assert.equal(spacingOf(['2024010122', '2024010123', '2024010200']), undefined);
});

test('where there is no spacing none is made up', () => {
  assert.equal(spacingOf(['18540101', '18590101']), undefined);
  assert.equal(spacingOf(['18540101', '18550101', '18560101', '18560601']), undefined);
  assert.equal(spacingOf(['first', 'second', 'third']), undefined);
  assert.equal(spacingOf(['20241301', 'x', '20240101']), undefined);
  assert.equal(spacingOf(['1', '2', '900000000']), undefined);
});

const segment = (i: number): string => `${1854 + 5 * i}0101`;

/** Ten segments of two components: of ocean one is slow, of atmos one is missing. */
const jobs = [
  ...Array.from({ length: 10 }, (_, i) =>
    madeJob(`o${i}`, [{ cpu_time: 100 + i, metrics: { rchar: 5 } }], {
      duration: i === 6 ? 9e8 : 1e8 + i * 1e6,
      tags: { exp_name: 'ESM4', exp_component: 'ocean', exp_time: segment(i) },
    }),
  ),
  ...Array.from({ length: 10 }, (_, i) =>
    madeJob(`a${i}`, [], {
      duration: 2e7 + i * 1e5,
      tags: { exp_name: 'ESM4', exp_component: 'atmos', exp_time: segment(i) },
    }),
  ).filter((_, i) => i !== 3),
  madeJob('other', [], { tags: { exp_name: 'ESM5' } }),
];

test('from experiment to component to segment to job, with what is missing', async () => {
  const exploration = await explore('ESM4', jobs);
  assert.equal(exploration.jobs, 19);
  assert.equal(exploration.spacing!.step, '5 years');
  assert.deepEqual(
    exploration.components.map(({ component, jobs: number, missing }) => [component, number, missing]),
    [
      ['ocean', 10, []],
      ['atmos', 9, ['18690101']],
    ],
  );
  const [ocean, atmos] = exploration.components;
  assert.equal(ocean!.sum, 9e8 + 9 * 1e8 + (45 - 6) * 1e6);
  assert.equal(ocean!.share + atmos!.share, 1);
  assert.deepEqual([ocean!.min, ocean!.max], [1e8, 9e8]);
  assert.deepEqual(
    ocean!.entries
      .filter(({ stars }) => stars > 0)
      .map(({ segment: at, jobs: ids, stars, votes }) => [at, ids, stars, votes]),
    [['18840101', ['o6'], 2, 2]],
  );
  assert.deepEqual(
    exploration.segments.filter(({ stars }) => stars > 0).map(({ segment: at, jobs: ids }) => [at, ids]),
    [
      // one job less
      ['18690101', ['o3']],
      ['18840101', ['o6', 'a6']],
    ],
  );
  assert.equal(exploration.segments[0]!.value, 1e8 + 2e7);
  assert.deepEqual(exploration.missing, []);
});

test('a segment that no component has is missing everywhere', async () => {
  const exploration = await explore(
    'ESM4',
    jobs.filter(({ job }) => job.tags.exp_time !== segment(4)),
  );
  assert.deepEqual(exploration.missing, ['18740101']);
  assert.deepEqual(
    exploration.components.map(({ missing }) => missing),
    [['18740101'], ['18690101', '18740101']],
  );
});

test('another metric comes from the processes; jobs without it are named', async () => {
  const exploration = await explore('ESM4', jobs, { metric: 'cpu_time' });
  assert.equal(exploration.sum, 1045);
  assert.equal(exploration.unknown.length, 9);
});

test('an unknown experiment or metric is said, with what there is', async () => {
  await assert.rejects(explore('ESM', jobs), (error: Fault) => /"ESM"/.test(error.message) && error.hint !== undefined);
  await assert.rejects(explore('ESM4', jobs, { metric: 'cpu_tme' }), (error: Fault) => /cpu_time/.test(error.hint!));
  const tags = { experiment: 'case', component: 'part', time: 'at' };
  await assert.rejects(explore('ESM4', jobs, { tags }), (error: Fault) => /tag case/.test(error.hint!));
});

test('segments are missing against a list that somebody gives', async () => {
  const exploration = await explore('ESM4', jobs, { expected: [segment(0), '20500101'] });
  assert.deepEqual(exploration.missing, ['20500101']);
  assert.deepEqual(
    exploration.components.map(({ missing }) => missing),
    [['20500101'], ['20500101']],
  );
});
