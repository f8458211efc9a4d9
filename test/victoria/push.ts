import * as fs from 'node:fs';
import * as path from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { tableOf } from '../../src/recording/describe.ts';
import { openRecording } from '../../src/recording/open.ts';
import { ImportBody, labelJson } from '../../src/sinks/import-body.ts';
import { type Fact, jobFacts, nodeFactSeries } from '../../src/sinks/job-series.ts';
import { packRecord } from '../../src/sinks/record-labels.ts';
import { type Labels, recordingLabels } from '../../src/sinks/series-labels.ts';
import { VictoriaRows } from '../../src/sinks/victoria-rows.ts';

/** Pushes a recording that is not sealed, all at once, in the form in which the sink does. */
export async function pushRecording(url: string, folder: string): Promise<void> {
  const { job, nodes } = openRecording(folder);
  for (const node of nodes) {
    const common = recordingLabels(node.name, job);
    const last = (node.agent!.last_sample ?? node.agent!.end!) / 1000;
    for (const [name, { parts }] of node.tables) {
      const rows = new VictoriaRows(name, tableOf(node, name), common);
      if (!rows.wanted) continue;
      for (const part of parts) {
        const bytes = fs.readFileSync(path.join(node.folder, part));
        const text = part.endsWith('.zst') ? zstdDecompressSync(bytes) : bytes;
        const line = text.indexOf('\n');
        const body = new ImportBody();
        rows.add(text.toString('utf8', 0, line), text.subarray(line + 1), body);
        await post(url, body.take());
      }
    }
    const body = new ImportBody();
    const add = (labels: Labels, { name, value, labels: own }: Omit<Fact, 'help'>): void => {
      for (const time of [Math.floor(job.start / 1000), Math.floor(last)])
        body.single(name, labelJson([...labels, ...Object.entries(own)]), value, time);
    };
    for (const fact of [...jobFacts(job), ...nodeFactSeries(node.agent!, true)]) add(common, fact);
    for (const [record, object] of Object.entries({ job, agent: node.agent! })) {
      const pieces = packRecord(object);
      pieces.forEach((text, piece) => {
        const labels = { record, piece: String(piece), pieces: String(pieces.length), text };
        add(common, { name: 'tacho_record', value: last / 1000, labels });
      });
    }
    await post(url, body.take());
  }
  await fetch(`${url}/internal/force_flush`);
}

async function post(url: string, body: string): Promise<void> {
  const answer = await fetch(`${url}/api/v1/import`, { method: 'POST', body });
  if (!answer.ok) throw new Error(`VictoriaMetrics refused the samples: ${await answer.text()}`);
}
