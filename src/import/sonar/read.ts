import * as fs from 'node:fs';
import * as path from 'node:path';
import { Fault, reason } from '../../base/fault.ts';
import { readCsvLine } from './csv.ts';
import { documents, readJsonPacket } from './json.ts';
import { SonarData } from './sample.ts';

/** Files that Sonar writes, below a folder. */
function sonarFiles(paths: readonly string[]): string[] {
  return paths.flatMap((start) => {
    try {
      if (!fs.statSync(start).isDirectory()) return [start];
      return fs
        .readdirSync(start, { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.(csv|json|jsonl)$/.test(name))
        .sort()
        .map((name) => path.join(start, name));
    } catch (error) {
      throw new Fault(`cannot read ${start}: ${reason(error)}`, { cause: error });
    }
  });
}

/** Reads files of any version of Sonar together. A file that holds nothing of Sonar's is refused when it was named itself. */
export function readSonar(paths: readonly string[], progress?: (done: number, of: number) => void): SonarData {
  const files = sonarFiles(paths);
  if (files.length === 0)
    throw new Fault(`there are no files of Sonar in ${paths.join(', ')}`, { hint: 'they end in .csv or .json' });
  const data = new SonarData();
  files.forEach((file, i) => {
    const before = sizeOf(data);
    const foreign = data.dropped.get(FOREIGN) ?? 0;
    readFile(file, data);
    if (sizeOf(data) === before && (data.dropped.get(FOREIGN) ?? 0) > foreign && paths.includes(file))
      throw new Fault(`${file} cannot be imported: nothing in it is a record of Sonar`, { hint: FORMATS });
    progress?.(i + 1, files.length);
  });
  if (sizeOf(data) === 0 && data.dropped.has(FOREIGN))
    throw new Fault(`nothing in ${paths.join(', ')} is a record of Sonar`, { hint: FORMATS });
  return data;
}

const FORMATS = 'Sonar until 0.16 writes CSV, since 0.13 JSON (sample, sysinfo, jobs, cluster)';
const FOREIGN = 'no record of Sonar';
const sizeOf = ({ samples, nodes, slurm, dropped }: SonarData): number =>
  samples.size +
  nodes.size +
  slurm.length +
  [...dropped].reduce((all, [why, n]) => (why === FOREIGN ? all : all + n), 0);

function readFile(file: string, data: SonarData): void {
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    throw new Fault(`cannot read ${file}: ${reason(error)}`, { cause: error });
  }
  if (!/^\s*[{[]/.test(text)) {
    for (const line of text.split('\n')) if (line.trim() !== '') readCsvLine(line.replace(/\r$/, ''), data);
    return;
  }
  for (const document of documents(text)) {
    if (document === undefined) data.drop('JSON that is cut off or damaged');
    else readJsonPacket(document, data);
  }
}
