import * as fs from 'node:fs';
import * as path from 'node:path';
import { append } from '../../base/extremes.ts';
import { reason } from '../../base/fault.ts';
import { count } from '../../base/figure.ts';
import { stated } from '../../base/stated.ts';
import { isAlive, isBeingWritten } from '../folder/alive.ts';
import { headerOf, layoutOf, tableOf } from '../folder/describe.ts';
import { fileNames } from '../folder/file-names.ts';
import { isParquet, packedName, statisticsName, statisticsOf, type TableFiles, tableFiles } from '../folder/files.ts';
import { lostSamplesText } from '../folder/lost-samples.ts';
import { type NodeRecording, openRecording } from '../folder/open.ts';
import { isNumbered } from '../folder/part-name.ts';
import { TABLES_FILE } from '../folder/tables-file.ts';
import { type CsvOptions, type Damage, readCsv } from '../read/csv-read.ts';
import { readTable } from '../read/read.ts';
import { Rows } from '../read/rows.ts';
import { checkParquet } from '../sealed/parquet/read.ts';
import { readStatistics } from '../sealed/statistics-file.ts';
import * as heal from './heal.ts';
import { tornName } from './torn.ts';

/** repaired: done. would repair: a dry run. not repaired: nothing could be done. note: no damage, but worth knowing. */
export type Outcome = 'repaired' | 'would repair' | 'not repaired' | 'note';

export interface Check {
  /** Inside the recording. */
  file: string;
  what: string;
  outcome: Outcome;
  /** What was or would be done, or what can be. */
  action?: string;
}

export interface VerifyOptions {
  /** Say what would be done, and do nothing. */
  dryRun?: boolean;
  /** Epoch microseconds. */
  now?: number;
}

/**
 * Looks for damage in a recording and heals what can be healed without losing a byte: what cannot be read is moved
 * aside (`<name>.torn`), never deleted. A node that is still being recorded is looked at, but not touched.
 */
export function verifyRecording(folder: string, options: VerifyOptions = {}): Check[] {
  const verifier = new Verifier(folder, options);
  verifier.leftovers(folder, fileNames(folder).files);
  const recording = openRecording(folder);
  for (const trouble of recording.troubles) {
    const file = /cannot \w+ (.+?): /.exec(trouble)?.[1] ?? folder;
    verifier.trouble(file, trouble.replace(/^cannot \w+ .+?: /, ''));
  }
  verifier.foreign(
    folder,
    fs.readdirSync(folder),
    /^(job\.json(\.reserve)?|features\.json|dask\.json|(tables|processes|report)\.json\.zst|node=.+|.+\.log|.+\.torn)$/,
  );
  for (const stray of recording.strays ?? [])
    verifier.add(path.join(folder, stray), 'is no node of this job', 'note', 'left out');
  for (const node of recording.nodes) verifier.node(node);
  return verifier.checks;
}

class Verifier {
  readonly checks: Check[] = [];
  private readonly root: string;
  private readonly options: VerifyOptions;
  private hands: boolean;
  /** Files that a temporary one takes, or would take, the place of; that is what is looked at. */
  private readonly replaced = new Map<string, string>();

  constructor(root: string, options: VerifyOptions) {
    this.root = root;
    this.options = options;
    this.hands = options.dryRun !== true;
  }

  add(file: string, what: string, outcome: Outcome, action?: string): void {
    const check = { file: path.relative(this.root, file) || '.', what, outcome };
    this.checks.push(action === undefined ? check : { ...check, action });
  }

  /** Does `work`, unless this is a dry run, and notes what came of it; false when nothing could be done. */
  private mend(file: string, what: string, action: string, work: () => void, outcome: Outcome = 'repaired'): boolean {
    if (!this.hands) {
      this.add(file, what, 'would repair', action);
      return true;
    }
    try {
      work();
      this.add(file, what, outcome, action);
      return true;
    } catch (error) {
      this.add(file, what, 'not repaired', reason(error));
      return false;
    }
  }

  /** Moves a file out of the way, to a name that is free. */
  private setAside(file: string, what: string, more = ''): void {
    const kept = tornName(path.dirname(file), path.basename(file));
    this.mend(file, what, `set aside as ${path.basename(kept)}${more}`, () => fs.renameSync(file, kept));
  }

  /** A file that says who, what and when, and cannot be used. */
  trouble(file: string, what: string): void {
    const name = path.basename(file);
    if (name === TABLES_FILE && what === 'it is damaged') {
      this.setAside(file, what, '; tables are known from their files');
    } else this.add(file, what, 'not repaired', 'the rest is read without it');
  }

  /** Files that nobody of Tacho's wrote stay where they are. */
  foreign(folder: string, names: readonly string[], ownNames: RegExp): void {
    for (const name of names) {
      if (!ownNames.test(name))
        this.add(path.join(folder, name), "is not one of Tacho's files", 'note', 'left as it is');
    }
  }

  /** Temporary files of something that was interrupted. */
  leftovers(folder: string, names: readonly string[]): void {
    for (const name of names.filter((each) => each.endsWith('.tmp'))) {
      const file = path.join(folder, name);
      const target = path.join(folder, name.replace(/(\.(?:json|parquet|zst))\.[\da-f-]+\.tmp$|\.tmp$/, '$1'));
      const what = 'was left by something that was interrupted';
      const whole = heal.isComplete(target);
      if (isBeingWritten(file, this.options.now)) {
        this.add(file, 'is just being written', 'note', 'left to whoever writes it');
      } else if ((whole && !heal.holdsRows(target)) || statisticsOf(target) !== undefined) {
        this.mend(file, what, 'removed; what it was made from is there', () => fs.rmSync(file));
      } else if ((whole || !fs.existsSync(target)) && heal.hasOrigin(folder, file, target)) {
        this.mend(file, what, 'removed; what it was made from is there', () => fs.rmSync(file));
      } else if (whole) {
        this.add(
          file,
          `${what}, and holds more than ${path.basename(target)}`,
          'not repaired',
          'both stay as they are',
        );
      } else if (!heal.isComplete(file, target)) {
        this.add(file, `${what}, and is not whole`, 'not repaired', 'nothing else holds what it was made from');
      } else if (fs.existsSync(target) && heal.readableRows(file, target) < heal.readableRows(target)) {
        this.add(
          file,
          `${what}, and holds less than ${path.basename(target)}`,
          'not repaired',
          'both stay as they are',
        );
      } else {
        const instead = fs.existsSync(target);
        const kept = instead ? ', in place of a damaged one, which is kept beside it' : '';
        // the damaged one may have had rows that the other has not
        const lost = instead && heal.holdsRows(target);
        const action = `is whole: ${lost && !this.hands ? 'to be' : 'now'} ${path.basename(target)}${kept}`;
        if (lost && !this.hands) this.add(file, what, 'not repaired', action);
        else if (
          !this.mend(file, what, action, () => heal.putInPlace(file, target), lost ? 'not repaired' : 'repaired')
        )
          continue;
        this.replaced.set(target, this.hands ? target : file);
      }
    }
  }

  node(node: NodeRecording): void {
    const alive = isAlive(node, this.options.now);
    const hands = this.hands;
    if (alive) {
      this.add(node.folder, 'is still being recorded', 'note', 'looked at, not touched');
      this.hands = false;
    } else this.leftovers(node.folder, fileNames(node.folder).files);
    const { files: names, others } = fileNames(node.folder);
    this.foreign(
      node.folder,
      [...names, ...others],
      /^(\.hubs|\.overview|(agent|received)\.json|(tables|received)\.json\.zst|.+\.(csv|csv\.zst|parquet|stats\.json|stats\.json\.zst|torn|damaged|tmp|log))$/,
    );
    if (![...names, ...others].includes('agent.json') && !this.replaced.has(path.join(node.folder, 'agent.json'))) {
      const action = 'tables are known from their files; a copy from a backup would help';
      this.add(
        path.join(node.folder, 'agent.json'),
        'is missing',
        node.tables.size > 0 ? 'not repaired' : 'note',
        action,
      );
    }
    if (node.agent?.tables.length === 0 && node.tables.size > 0 && !names.includes(TABLES_FILE))
      this.add(path.join(node.folder, TABLES_FILE), 'is missing', 'note', 'tables are known from their files');
    for (const { where, why } of node.agent?.doubts ?? [])
      this.add(path.join(node.folder, 'agent.json'), `says: ${where}: ${why}`, 'note', 'what was there is there');
    for (const lossText of lostSamplesText(node.agent?.lost_samples ?? []))
      this.add(path.join(node.folder, 'agent.json'), `says: ${lossText}`, 'note', 'what was written is there');
    for (const { file, kept } of node.lost ?? []) {
      if (this.replaced.has(path.join(node.folder, file))) continue;
      const what = kept === undefined ? 'is missing' : `is missing: it was damaged, and is kept as ${kept}`;
      const isReplaced = /\.0000\./.test(file);
      const action = isReplaced ? 'its rows are nowhere else' : 'a copy from a backup would help';
      this.add(path.join(node.folder, file), what, 'not repaired', action);
    }
    for (const [table, files] of tableFiles(names)) this.table(node, table, files, alive);
    this.hands = hands;
  }

  private table(node: NodeRecording, name: string, files: TableFiles, alive: boolean): void {
    const file = (each: string): string => path.join(node.folder, each);
    const { sealed } = files;
    const good = isParquet(sealed)
      ? this.isNew(file(sealed!)) || this.sealed(node, name, file(sealed!), files)
      : sealed !== undefined && heal.isComplete(file(sealed));
    for (const partFile of sealed === undefined || isParquet(sealed) ? files.parts : [sealed, ...files.parts]) {
      if (partFile.endsWith('.csv') && files.parts.includes(`${partFile}.zst`)) {
        if (heal.sameContent(file(partFile), file(`${partFile}.zst`))) {
          const what = 'is there twice, plain and compressed';
          this.mend(file(partFile), what, 'the plain one is removed', () => fs.rmSync(file(partFile)));
          continue;
        }
      }
      if (!this.isNew(file(partFile))) this.verifyPart(node, name, file(partFile), alive);
    }
    if (good && files.parts.length === 0) this.statistics(node, name, files);
  }

  /** In a dry run: what would be there instead is whole. */
  private isNew(file: string): boolean {
    return (this.replaced.get(file) ?? file) !== file;
  }

  private verifyPart(node: NodeRecording, name: string, file: string, alive: boolean): void {
    const ranges: heal.Range[] = [];
    const rows = new Rows();
    const table = tableOf(node, name);
    const undescribed: string[] = [];
    const header = headerOf(node, name);
    const csv: CsvOptions = {
      ...stated({ header }),
      layout: (header, sample) => {
        if (table !== undefined) {
          const definedNames = ['time', ...table.keys.map((k) => k.name), ...table.columns.map((c) => c.name)];
          append(
            undescribed,
            header.filter((column) => !definedNames.includes(column)),
          );
        }
        return layoutOf(table, header, sample);
      },
      wanted: (column) => table?.keys.some((key) => key.name === column) ?? false,
      reject: (bytes, offset) => ranges.push({ from: offset, to: offset + bytes.length }),
    };
    let damage: Damage;
    try {
      damage = readCsv(file, rows, csv);
    } catch (error) {
      this.add(file, `cannot be read: ${reason(error)}`, 'not repaired');
      return;
    }
    if (damage.lost_header) {
      this.mend(file, 'its header is lost', 'written again, as agent.json has it', () =>
        heal.writeHeader(file, header!),
      );
      // what else is wrong is counted from the new beginning
      if (damage.bad_lines + damage.torn_bytes > 0 && this.hands) this.verifyPart(node, name, file, alive);
      return;
    }
    const lost = node.agent?.lost_samples?.some((each) => each.table === name);
    if (damage.not_plain) this.add(file, damage.unreadable!, 'not repaired', 'left as it is');
    else if (damage.unreadable === 'it is empty' && lost) {
      // what would be in it is known to be lost: the disk was full before its first line
      this.mend(file, damage.unreadable, 'removed: nothing was ever in it', () => heal.removeEmpty(file));
    } else if (damage.unreadable === 'it is empty')
      this.add(file, damage.unreadable, 'not repaired', 'a copy from a backup would help');
    else if (damage.unreadable !== undefined && file.endsWith('.zst')) {
      this.packed(file, damage.unreadable, rows.length);
    } else if (damage.unreadable !== undefined) {
      this.setAside(file, damage.unreadable);
    } else if (damage.bad_lines > 0 || (damage.torn_bytes > 0 && !alive)) {
      if (damage.torn_bytes === fs.statSync(file).size && !file.endsWith('.zst')) {
        this.setAside(file, 'not a line of it is whole');
        return;
      }
      const badLines = damage.first_bad.map(({ line, why }) => (line === undefined ? why : `line ${line}: ${why}`));
      const bad = damage.bad_lines > 0 ? [`${count(damage.bad_lines, 'bad line')} (${badLines.join('; ')})`] : [];
      const cut = damage.torn_bytes > 0 ? ['its last line is torn'] : [];
      const kept = path.basename(heal.keptIn(file, ranges));
      this.mend(file, [...bad, ...cut].join(', '), `moved to ${kept}`, () => {
        heal.cutOut(file, ranges);
        const lost = `${count(damage.bad_lines, 'line')} could not be read, and went to ${kept}`;
        // a last line that was being written is no loss
        if (damage.bad_lines > 0) heal.noteDoubt(node.folder, `${name}: ${path.basename(file)} on ${node.name}`, lost);
      });
    }
    if (undescribed.length > 0 && damage.unreadable === undefined) {
      this.add(
        file,
        `has columns that nobody described: ${undescribed.slice(0, 5).join(', ')}`,
        'note',
        'read as gauges',
      );
    }
    const back = backwards(rows, table?.keys.map((key) => key.name) ?? []);
    if (back > 0 && table?.events !== true)
      this.add(
        file,
        `time goes backwards or repeats ${count(back, 'time')}`,
        'note',
        'read in the right order, each once',
      );
  }

  /** A compressed file of which `rows` can be relied on. */
  private packed(file: string, what: string, rows: number): void {
    const plain = file.slice(0, -4);
    const taken = fs.existsSync(plain);
    if (taken && isNumbered(plain)) {
      this.setAside(file, what, `; the same is in ${path.basename(plain)}`);
      return;
    }
    const kept = tornName(path.dirname(file), path.basename(file), 'damaged');
    const some = rows > 0 && !taken;
    const left = some
      ? `; the ${count(rows, 'row')} that can be read ${rows === 1 ? 'is' : 'are'} now in ${path.basename(plain)}`
      : '';
    const aside = `set aside as ${path.basename(kept)}${left}; a copy from a backup would help`;
    this.lose(file, what, aside, () => (some ? heal.unpackStart(file, kept) : fs.renameSync(file, kept)));
  }

  /** What is lost stays lost, wherever its file goes. */
  private lose(file: string, what: string, action: string, work: () => void): void {
    if (!this.hands) this.add(file, what, 'not repaired', `to be ${action}`);
    else this.mend(file, what, action, work, 'not repaired');
  }

  /** Whether it is whole. */
  private sealed(node: NodeRecording, name: string, file: string, files: TableFiles): boolean {
    try {
      checkParquet(file, name);
      return true;
    } catch (error) {
      const what = `cannot be read: ${reason(error)}`;
      const aside = (kept: string): void => {
        fs.renameSync(file, kept);
        if (files.statistics !== undefined) heal.setAside(path.join(node.folder, files.statistics));
      };
      if (files.parts.length > 0 && this.isInParts(node, name, files)) {
        const kept = tornName(node.folder, path.basename(file));
        const action = `set aside as ${path.basename(kept)}; the same is in its live parts`;
        this.mend(file, what, action, () => aside(kept));
      } else if (files.parts.length > 0) {
        const kept = tornName(node.folder, path.basename(file), 'damaged');
        this.lose(file, what, `set aside as ${path.basename(kept)}; a copy from a backup would help`, () =>
          aside(kept),
        );
      } else {
        const still = files.statistics === undefined ? '' : '; its statistics still make the report card';
        this.add(file, what, 'not repaired', `a copy from a backup would help${still}`);
      }
      return false;
    }
  }

  /** Whether live parts hold all that a damaged Parquet file did, as an interrupted seal leaves them: others came later. */
  private isInParts(node: NodeRecording, name: string, files: TableFiles): boolean {
    if (files.parts[0] === packedName(name)) return true;
    const { statistics } = files;
    const had = statistics === undefined ? undefined : readStatistics(path.join(node.folder, statistics));
    return had !== undefined && readTable(node, name, { columns: [], to: had.end }).rows >= had.rows;
  }

  private statistics(node: NodeRecording, name: string, files: TableFiles): void {
    // a table that is small enough to be read has none
    if (files.statistics === undefined && !isParquet(files.sealed)) return;
    const file = path.join(node.folder, files.statistics ?? statisticsName(name));
    const sealed = path.join(node.folder, files.sealed!);
    const whole = this.isNew(sealed) ? this.replaced.get(sealed)! : sealed;
    const there = whole === sealed ? readTable(node, name, { columns: [] }).rows : heal.readableRows(whole, sealed);
    const what = heal.wrongStatistics(file, whole, there);
    if (what === undefined) return;
    this.mend(file, what, 'computed again', () => heal.writeStatistics(file, readTable(node, name), sealed));
  }
}

/** How many rows are not later than the row before them of the same series. */
function backwards(rows: Rows, keys: readonly string[]): number {
  const newest = new Map<string, number>();
  const codes = keys.flatMap((key) => rows.texts.get(key)?.codes ?? []);
  let backwardRows = 0;
  for (let i = 0; i < rows.length; i++) {
    const series = codes.map((each) => each[i]).join(',');
    if (rows.time[i]! <= (newest.get(series) ?? Number.NEGATIVE_INFINITY)) backwardRows++;
    else newest.set(series, rows.time[i]!);
  }
  return backwardRows;
}
