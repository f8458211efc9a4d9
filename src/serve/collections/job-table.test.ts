import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { test } from 'node:test';
import { eventually } from '../../../test/made/eventually.ts';
import { agentOf, appendRows, jobOf, makeRecording, START, temporary } from '../../../test/make-recording.ts';
import { loadavgTable } from '../../sources/tables.ts';
import { JobTable } from './job-table.ts';

test('rows are the same array until one of them changes', async () => {
  const folder = temporary();
  for (const id of ['1', '2'])
    await makeRecording({
      folder: path.join(folder, id),
      seconds: 1,
      job: { id, name: 'a', start: START, end: START + 5e6 },
    });
  const table = new JobTable();
  const entries = ['1', '2'].map((id) => ({ id, path: path.join(folder, id) }));
  const { jobs, pending } = table.rows(entries);
  assert.deepEqual([jobs.map(({ job }) => job), pending], [['1', '2'], 0]);
  assert.equal(table.rows(entries).jobs, jobs);
  const file = path.join(folder, '2', 'job.json');
  fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync(file, 'utf8')), name: 'renamed' }));
  const renamed = await eventually('the new name', () =>
    table.rows(entries).jobs.find(({ name }) => name === 'renamed'),
  );
  assert.equal(renamed.job, '2');
  assert.notEqual(table.rows(entries).jobs, jobs);
  assert.deepEqual(
    table.rows(entries.slice(0, 1)).jobs.map(({ job }) => job),
    ['1'],
  );
  table.close();
});

test('what nodes record beside jobs has its name and its nodes', async () => {
  const folder = path.join(temporary(), 'day=2026-11-19');
  const id = 'fleet-2026-11-19';
  const job = { id, name: id, uid: -1, user: '', start: START };
  await makeRecording({ folder, nodes: ['c1', 'c2'], seconds: 1, job });
  const table = new JobTable();
  const [row] = table.rows([{ id: 'x', path: folder }]).jobs;
  assert.deepEqual([row!.job, row!.name, row!.nodes, row!.start], [id, id, 2, START]);
  table.close();
});

test('when a damaged job started is not known: it has no time in 1970', () => {
  const folder = temporary();
  fs.writeFileSync(path.join(folder, 'job.json'), '{');
  const table = new JobTable();
  const [row] = table.rows([{ id: '1', path: folder }]).jobs;
  assert.deepEqual([row!.state, row!.start], ['unknown', undefined]);
  table.close();
});

test('a job that fell silent runs again when a sample comes', async () => {
  const folder = temporary();
  const nodePath = path.join(folder, 'node=c1');
  const start = Date.now() * 1000 - 600e6;
  const { end: _, ...job } = jobOf({ start, state: 'running', scheduler: 'none' });
  fs.writeFileSync(path.join(folder, 'job.json'), JSON.stringify(job));
  await appendRows(nodePath, loadavgTable, [{ time: start, load1: 1 }]);
  const { end: _end, end_reason: _reason, ...agent } = agentOf('c1', [loadavgTable], { start });
  fs.writeFileSync(path.join(nodePath, 'agent.json'), JSON.stringify(agent));
  const table = new JobTable();
  const state = (): string => table.rows([{ id: '1', path: folder }]).jobs[0]!.state;
  assert.equal(state(), 'unknown');
  await eventually('that it runs', async () => {
    await appendRows(nodePath, loadavgTable, [{ time: Date.now() * 1000, load1: 1 }]);
    return state() === 'running';
  });
  table.close();
});
