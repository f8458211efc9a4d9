import { count, listed } from '../../base/readable.ts';
import { stated } from '../../base/stated.ts';
import type { Material } from '../../query/material.ts';
import { lossesOf } from '../../recording/folder/lost-samples.ts';
import type { Note } from '../../sources/host.ts';
import type { CheckResult, Unmeasured } from '../report-schema.ts';
import { overruns } from '../use/unrecorded-time.ts';
import { lostOf } from './lost.ts';

/** What is lost of the recording's files, what the agents could not read, each thing once with its nodes, then the checks that could not be made. */
export function unmeasuredOf(material: Material, checks: readonly CheckResult[]): Unmeasured[] {
  const notesById = new Map<string, Unmeasured>();
  const hint = `tacho verify ${material.path} says what can be saved`;
  for (const why of material.troubles ?? []) notesById.set(why, { what: troubleWhat(why), why, hint });
  for (const { node, table, file, why } of material.unread ?? []) {
    const id = `${table} ${file}\n${why}`;
    const sameNote = notesById.get(id);
    if (sameNote !== undefined) sameNote.nodes!.push(node);
    else notesById.set(id, { what: `${table}: ${file} on ${node}`, why, hint, nodes: [node] });
  }
  for (const [node, lost] of Map.groupBy(lostOf(material), (each) => each.node)) {
    for (const { why, samples, since, tables } of lossesOf(lost)) {
      const what = `${count(samples, 'sample')} on ${node} (${tables})`;
      notesById.set(`lost ${node} ${why}`, { what, why: since === '' ? why : `${why}, ${since}`, nodes: [node] });
    }
  }
  for (const { node, agent } of material.nodes) {
    for (const { where, why } of agent?.doubts ?? [])
      notesById.set(`doubt ${where}`, { what: where, why, nodes: [node] });
    for (const note of once(agent?.unmeasured ?? [])) {
      const what = note.what === note.table || note.what === '' ? note.table : `${note.table}: ${note.what}`;
      const id = `${what}\n${note.why}`;
      const sameNote = notesById.get(id);
      if (sameNote !== undefined) sameNote.nodes!.push(node);
      else notesById.set(id, { what, why: note.why, ...stated({ hint: note.hint }), nodes: [node] });
    }
  }
  const shared = material.nodes.filter(({ agent }) => (agent?.shared_with?.length ?? 0) > 0);
  if (shared.length > 0) {
    const others = [...new Set(shared.flatMap(({ agent }) => agent!.shared_with!))];
    notesById.set('shared', {
      what: 'the job’s own part of what belongs to a whole node (load, disks, network, energy, memory of the node)',
      why: `shared with ${others.length === 1 ? 'job' : 'jobs'} ${listed(others)}`,
      nodes: shared.map(({ node }) => node),
    });
  }
  for (const { what, why } of material.dask?.()?.unmeasured ?? []) notesById.set(`${what}\n${why}`, { what, why });
  for (const what of material.strays ?? []) notesById.set(what, { what, why: 'no node of this job: left out' });
  for (const check of checks) {
    if (check.outcome !== 'unmeasurable') continue;
    const hint = check.hint === undefined ? {} : { hint: check.hint };
    notesById.set(`check ${check.id}`, { what: check.title, why: check.why ?? 'not recorded', ...hint });
  }
  return [...notesById.values(), ...overruns(material), ...(material.leftOut ?? [])];
}

/** What a file that cannot be used would have said. */
function troubleWhat(trouble: string): string {
  const node = /node=([^/]+)\/agent\.json: /.exec(trouble)?.[1];
  if (node !== undefined) return `the job’s own part of ${node} (cgroup, limits, cards), and what recording cost there`;
  return /\/tables\.json\.zst: /.test(trouble) ? 'units and kinds of tables' : 'what the job and its nodes were';
}

/** Number of reasons for one thing that are written out. */
const MOST_REASONS = 3;

/** A thing that failed several times is one thing: its reasons stand together, and one that was told again in more words once. */
function once(notes: readonly Note[]): Note[] {
  const things = new Map<string, { note: Note; reasons: string[] }>();
  for (const note of notes) {
    const id = `${note.table}\n${note.what}`;
    const { reasons } = things.get(id) ?? things.set(id, { note, reasons: [] }).get(id)!;
    const at = reasons.findIndex((why) => note.why.startsWith(why));
    if (at >= 0) reasons[at] = note.why;
    else if (!reasons.some((why) => why.startsWith(note.why))) reasons.push(note.why);
  }
  return [...things.values()].map(({ note, reasons }) => {
    const more = reasons.length - MOST_REASONS;
    const shownReasons = more > 0 ? [...reasons.slice(0, MOST_REASONS), `and ${more} more`] : reasons;
    return { ...note, why: shownReasons.join('; ') };
  });
}
