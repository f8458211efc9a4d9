import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agent, job, material, node, span } from '../../../test/made/report-jobs.ts';
import { report } from '../../judge/report.ts';
import { about, ending, endingInText, footer, title } from './head.ts';

test('a job of which nothing was sampled has its id once, and no cost', () => {
  const nothing = { ticks: 0, cost: { cpu_seconds: 0, max_rss_bytes: 0, bytes_written: 0 } };
  const { end: _, ...record } = agent('c1', span(100), nothing);
  const made = report(material(job(100, { id: '4', name: '4' }), [node('c1', record, [])]));
  assert.equal(title(made), '4');
  assert.deepEqual(made.cost, {});
  assert.doesNotMatch(footer(made).join(), /cost/);
});

test('how a job ended, alone and in a sentence: names of signals stay as they are', () => {
  const ended = (facts: Parameters<typeof job>[1]) => report(material(job(100, facts), []));
  const killed = ended({ state: 'failed', signal: 'SIGKILL' });
  assert.deepEqual([ending(killed), endingInText(killed)], ['FAILED, SIGKILL', 'failed, SIGKILL']);
  assert.equal(endingInText(ended({ state: 'out_of_memory' })), 'out of memory');
  assert.equal(endingInText(ended({ state: 'failed', exit_code: 3 })), 'failed, exit code 3');
});

test('the command stands as a shell would run it: its arguments stay apart', () => {
  const of = (facts: Parameters<typeof job>[1]) => report(material(job(100, facts), []));
  const command = ['bash', '-c', 'exit 3; true'];
  assert.equal(title(of({ name: 'bash', command })), "4711 bash -c 'exit 3; true'");
  assert.equal(about(of({ name: 'train', command }))[0], "bash -c 'exit 3; true'");
});
