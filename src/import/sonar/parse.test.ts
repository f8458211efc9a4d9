import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { temporary } from '../../../test/make-recording.ts';
import { decodeLoad } from './base45.ts';
import { readCsvLine } from './csv.ts';
import { sonarJobs } from './jobs.ts';
import { documents, readJsonPacket } from './json.ts';
import { readSonar } from './read.ts';
import { SonarData } from './sample.ts';

function csv(...lines: string[]): SonarData {
  const data = new SonarData();
  for (const line of lines) readCsvLine(line, data);
  return data;
}

const line = (time: string, more: string): string =>
  `v=0.13.1,time=2026-03-01T${time}+01:00,host=n1,user=ada,job=7,${more}`;

test('a line without names is of Sonar until 0.6: cards are a number in binary', () => {
  const data = csv('2023-06-23T05:05:01.224181967+00:00,ml8,192,ada,42,python,744.7,196986336,1010,84,50,19730432');
  const [sample] = data.samples.values();
  assert.equal(sample!.time, Date.UTC(2023, 5, 23, 5, 5, 1, 224) * 1000);
  assert.equal(sample!.cpus, 192);
  const [process] = sample!.processes;
  assert.deepEqual(
    [process!.job, process!.pid, process!.cpu_percent, process!.cpu_seconds],
    ['42', 0, 744.7, undefined],
  );
  assert.deepEqual(
    process!.gpus.map(({ gpu, percent, memory_kib }) => [gpu, percent, memory_kib]),
    [
      ['1', 42, 9865216],
      ['3', 42, 9865216],
    ],
  );
});

test('what is 0 is left out of a line with names, and cells may be quoted', () => {
  const data = csv(
    line('10:00:00', '"cmd=a ""b"", c",pid=5,cpukib=10,"gpus=4,0",gpu%=30'),
    line('10:05:00', 'cmd=_heartbeat_'),
  );
  const [first, second] = [...data.samples.values()];
  assert.deepEqual([first!.processes[0]!.command, first!.processes[0]!.cpu_seconds], ['a "b", c', 0]);
  assert.deepEqual(
    first!.processes[0]!.gpus.map(({ gpu, percent }) => [gpu, percent]),
    [
      ['4', 15],
      ['0', 15],
    ],
  );
  assert.deepEqual(second!.processes, [], 'the node was there');
});

test('busy seconds of every CPU are decoded', () => {
  assert.deepEqual(decodeLoad(')(t*1b'), [1, 30, 89, 12]);
  const digits = {
    first: '(){}[]<>+-abcdefghijklmnopqrstuvwxyz!@#$%^&*_',
    further: "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ~|';:.?/`",
  };
  const encoded = (value: number): string => {
    let text = digits.first[value % 45]!;
    for (let rest = Math.floor(value / 45); rest > 0; rest = Math.floor(rest / 45)) text += digits.further[rest % 45];
    return text;
  };
  fc.assert(
    fc.property(fc.array(fc.nat(2 ** 40), { minLength: 1, maxLength: 200 }), (seconds) => {
      const least = seconds.reduce((a, b) => Math.min(a, b));
      const text = [least, ...seconds.map((value) => value - least)].map(encoded).join('');
      assert.deepEqual(decodeLoad(text), seconds);
    }),
  );
  for (const none of ['', 'A', '(', '(é']) assert.equal(decodeLoad(none), undefined, none);
});

test('records that make no sense are counted: no number, no time, of something else', () => {
  const data = csv(
    line('10:00:00', 'cmd=a,cpu%=inf'),
    line('10:00:00', 'cmd=a,cpu%=NaN'),
    'v=0.7.0,host=n1,cmd=a',
    'a,b,c',
    'v=0.13.1,timestamp=2026-03-01T10:00:00+01:00,error=No can do',
  );
  assert.equal(data.samples.size, 0);
  assert.deepEqual(Object.fromEntries(data.dropped), {
    'with a figure that is no number': 2,
    'without a time, a node or a command': 1,
    'no record of Sonar': 1,
    'an error that Sonar reported': 1,
  });
});

const DAY = { minSamples: 1 };

test('the same moment twice counts once; CPU time that falls is left out, and the next use rests on what was before', () => {
  const data = csv(
    line('10:00:00', 'cmd=a,cputime_sec=310'),
    line('10:00:00', 'cmd=a,cputime_sec=311'),
    line('10:05:00', 'cmd=a,cputime_sec=200'),
    line('10:10:00', 'cmd=a,cputime_sec=910'),
  );
  const [job] = sonarJobs(data, DAY).jobs;
  const [stream] = job!.nodes.get('n1')!;
  assert.deepEqual(stream!.cpu, [310, 910]);
  assert.deepEqual(
    stream!.times.map((time) => new Date(time / 1000).toISOString().slice(11, 16)),
    ['09:00', '09:10'],
  );
});

test('CPU time that a parent has from a child is not counted twice', () => {
  const shell = (time: string, used: number): string => line(time, `cmd=sh,pid=10,cputime_sec=${used}`);
  const child = (time: string, used: number): string => line(time, `cmd=a,pid=11,ppid=10,cputime_sec=${used}`);
  const data = csv(
    shell('10:00:00', 1),
    child('10:00:00', 100),
    shell('10:05:00', 1),
    child('10:05:00', 400),
    shell('10:10:00', 402),
  );
  const [job] = sonarJobs(data, DAY).jobs;
  assert.deepEqual(
    job!.nodes.get('n1')!.map(({ cpu }) => cpu!.at(-1)),
    [2, 400],
  );
});

test('a process that is new tells by its mean how long it has run', () => {
  const data = csv(
    line('10:00:00', 'cmd=a,pid=10,cpu%=50,cputime_sec=100'),
    line('10:05:00', 'cmd=a,pid=10,cpu%=50,cputime_sec=250'),
  );
  const [job] = sonarJobs(data, DAY).jobs;
  assert.equal(job!.first - job!.nodes.get('n1')![0]!.start, 200e6);
});

test('a batch job is one on all nodes; others are of their node and its boot', () => {
  const sample = (node: string, epoch: number | undefined, time: string): object => ({
    meta: { producer: 'sonar', version: '0.17.0' },
    data: {
      type: 'sample',
      attributes: {
        time: `2026-03-01T${time}Z`,
        cluster: 'lab',
        node,
        jobs: [
          {
            job: 7,
            user: 'ada',
            ...(epoch === undefined ? {} : { epoch }),
            processes: [{ cmd: 'a', pid: 10, cpu_time: 5 }],
          },
        ],
      },
    },
  });
  const jobs = (...all: object[]): number => {
    const data = new SonarData();
    for (const one of all) readJsonPacket(one, data);
    return sonarJobs(data, DAY).jobs.length;
  };
  assert.equal(jobs(sample('n1', undefined, '10:00:00'), sample('n2', undefined, '10:00:00')), 1);
  assert.equal(jobs(sample('n1', 99, '10:00:00'), sample('n2', 99, '10:00:00')), 2);
  assert.equal(jobs(sample('n1', 99, '10:00:00'), sample('n1', 123, '11:00:00')), 2, 'the pid came again after a boot');
});

test('several documents in a file, one of them torn', () => {
  assert.deepEqual([...documents('{"a": "}{"}\n{"b": [1]} {"c": ')], [{ a: '}{' }, { b: [1] }, undefined]);
  fc.assert(
    fc.property(fc.array(fc.dictionary(fc.string(), fc.jsonValue())), (all) => {
      assert.deepEqual(
        [...documents(all.map((one) => JSON.stringify(one, null, 1)).join('\n'))],
        JSON.parse(JSON.stringify(all)),
      );
    }),
  );
});

test('whatever is in a packet or a line, nothing but samples comes out', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom('sample', 'sysinfo', 'jobs', 'cluster'), (value, type) => {
      const data = new SonarData();
      readJsonPacket({ data: { type, attributes: value } }, data);
      readJsonPacket(
        {
          data: {
            type,
            attributes: {
              time: '2026-03-01T10:00:00Z',
              node: 'n',
              jobs: value,
              system: value,
              cards: value,
              slurm_jobs: value,
            },
          },
        },
        data,
      );
      readJsonPacket(value, data);
      for (const sample of data.samples.values()) assert.ok(Number.isFinite(sample.time));
    }),
  );
  fc.assert(
    fc.property(fc.string(), (text) => {
      for (const sample of csv(text, line('10:00:00', text)).samples.values())
        for (const { cpu_seconds } of sample.processes) assert.ok(cpu_seconds === undefined || cpu_seconds >= 0);
    }),
  );
});

test('a file of something else is refused, and so is a folder without files', () => {
  const folder = temporary();
  assert.throws(() => readSonar([folder]), /no files of Sonar/);
  const file = path.join(folder, 'a.csv');
  fs.writeFileSync(file, 'name,value\nx,1\n');
  assert.throws(() => readSonar([file]), /a\.csv cannot be imported: nothing in it is a record of Sonar/);
  assert.throws(() => readSonar([path.join(folder, 'none')]), /cannot read .*none: no such file/);
  fs.writeFileSync(file, '{"data": {"type": "sample", "attributes": {"time"');
  assert.equal(readSonar([file]).dropped.get('JSON that is cut off or damaged'), 1);
});
