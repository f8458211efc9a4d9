import { defineTable, gauge, text } from '../../table/table.ts';
import { jobEnding, jobKeys } from './columns.ts';

/** One row per finding of a job. */
export const findingsTable = defineTable({
  name: 'findings',
  help: 'One row per finding of a job. Its time is the start of the job.',
  scope: 'job',
  events: true,
  keys: [...jobKeys, { name: 'finding', help: 'Id of the rule that found it.' }],
  columns: [
    ...jobEnding,
    text('severity', 'info, advice, warning or critical.'),
    text('confidence', 'low, medium or high.'),
    text('kind', 'waste or trouble.'),
    text('text', 'One sentence: what is the matter.'),
    text('advice', 'What to do.'),
    text('node', 'The node of the first piece of evidence.'),
    gauge('value', 'count', 'What was measured there.', 'float', 6),
    gauge('threshold', 'count', 'The limit that it was held against.', 'float', 6),
    text('recording', 'Path of the recording below the archive.'),
  ],
});
