import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadAsUsual } from '../base/short-run.ts';
import type { Written } from './columns.ts';
import type { Database } from './connect.ts';
import { copyWriter } from './copy-write.ts';

/** Writing rows into a table. */
export interface Copy {
  ended: Promise<void>;
  /** Has the connection all of the rows? */
  isSent: () => boolean;
}

/** Writes rows into a table of Tacho's, given as columns. */
export function copyIn(database: Database, table: string, rows: number, columns: readonly Written[]): Copy {
  let sent = rows === 0;
  const encoded = function* (): Generator<Buffer> {
    yield* encode(rows, columns);
    sent = true;
  };
  const write = async (): Promise<void> => {
    if (rows === 0) return;
    const { from } = await loadAsUsual(() => import('pg-copy-streams'));
    const names = columns.flatMap((each) => each.columns).join(', ');
    const into = await target(database, table);
    const stream = database.client.query(from(`copy ${into} (${names}) from stdin (format binary)`));
    await pipeline(Readable.from(encoded(), { objectMode: true, highWaterMark: 4 }), stream);
    if (into !== `tacho.${table}`) {
      await database.query(`insert into tacho.${table} (${names}) select ${names} from ${into}`);
    }
  };
  return { ended: write(), isSent: () => sent };
}

/** Several, one behind the other. */
export function inTurn(copies: readonly (() => Copy)[]): Copy {
  let last: Copy | undefined;
  const write = async (): Promise<void> => {
    for (const [i, begin] of copies.entries()) {
      const copy = begin();
      if (i === copies.length - 1) last = copy;
      await copy.ended;
    }
  };
  return { ended: write(), isSent: () => last?.isSent() === true };
}

/**
 * For work beside a copy: each call ends when the connection has as much as it takes for now, or all there is, so that
 * the database has something to do meanwhile; or when the copy has ended.
 */
export function pausesOf(database: Database, copy: Copy): () => Promise<void> {
  let ended = false;
  const end = (): void => {
    ended = true;
  };
  copy.ended.then(end, end);
  return async () => {
    do await sleep(1);
    while (!ended && !copy.isSent() && !database.isFull());
  };
}

/** COPY does not work where row-level security holds for the user: then rows go through a table of the session's own. */
async function target(database: Database, table: string): Promise<string> {
  const { rows } = await database.query<{ active: boolean }>(
    `select row_security_active('tacho.${table}'::regclass) as active`,
  );
  if (!rows[0]!.active) return `tacho.${table}`;
  const name = `tacho_${table}`;
  await database.query(`create temporary table if not exists ${name} (like tacho.${table}) on commit drop`);
  await database.query(`truncate ${name}`);
  return name;
}

function* encode(rows: number, columns: readonly Written[]): Generator<Buffer> {
  const writer = copyWriter();
  const fields = columns.reduce((sum, each) => sum + each.columns.length, 0);
  for (let row = 0; row < rows; row++) {
    writer.row(fields);
    for (const column of columns) column.write(writer, row);
    const chunk = writer.chunk();
    if (chunk !== undefined) yield chunk;
  }
  yield writer.end();
}

/** The rows that a question gives, in COPY's binary form. */
export async function copyOut(database: Database, select: string): Promise<Buffer> {
  const { to } = await import('pg-copy-streams');
  const stream = database.client.query(to(`copy (${select}) to stdout (format binary)`));
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
