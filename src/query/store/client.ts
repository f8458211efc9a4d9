import { shownAddress } from '../../base/address.ts';
import { Fault, usage } from '../../base/fault.ts';
import { formatBytes } from '../../base/size.ts';
import { basicAuthorization } from '../../http/basic-authorization.ts';
import { Connection, type HttpStream } from '../../http/connection.ts';
import { EXTRA_CERTIFICATES, unreachableText } from '../../trust/connection-text.ts';
import { exportLineParser, isLabels, type StoredSeries } from './export-lines.ts';

export type Labels = Readonly<Record<string, string>>;

/** One answer of an instant query: a series and its value; NaN and infinities as they are. */
export interface SeriesValue {
  labels: Labels;
  value: number;
}

/** A VictoriaMetrics that can be asked. Times are epoch milliseconds, as it keeps them. */
export interface Store {
  /** As it may be printed. */
  readonly name: string;
  /** What an expression in MetricsQL is at one moment. */
  query(expression: string, time: number): Promise<SeriesValue[]>;
  /** The labels of all series that match in a range. */
  series(match: string, from: number, to: number): Promise<Labels[]>;
  /** All samples of the series that match in a range, as they are stored; a series may come in several parts. */
  samples(match: string, from?: number, to?: number): AsyncGenerator<StoredSeries>;
}

/** Longer than any answer takes; a store that says nothing for so long has gone. */
const PATIENCE_SECONDS = 120;
const CONNECT_SECONDS = 10;

/** What a store says beyond this is not read: in memory it takes many times as much. Of samples, those of one table of a node. */
const MOST_BYTES = { response: 128 << 20, samples: 512 << 20, line: 16 << 20 };

/** Why something is refused is short. */
const MOST_REFUSAL = 1 << 20;

/** Nothing was recorded before 2000; VictoriaMetrics finds nothing at all in a range that begins in 1970. */
export const EVER = Date.UTC(2000, 0);

/** The store behind an address: `http://vm:8428`, with a path for a cluster (`http://vmselect:8481/select/0/prometheus`). */
export function openStore(address: string, most = MOST_BYTES): Store {
  const url = parseStoreAddress(address);
  const name = shownAddress(address).replace(/\/+$/, '');
  const ask = asker(name, url);
  return {
    name,
    async query(expression, time) {
      const form = { query: expression, time: String(time / 1000), nocache: '1' };
      const data = await jsonOf(name, await ask('/api/v1/query', form), most.response);
      return resultsOf(name, data).map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
    },
    async series(match, from, to) {
      const form = { 'match[]': match, start: String(from / 1000), end: String(to / 1000) };
      const data = await jsonOf(name, await ask('/api/v1/series', form), most.response);
      if (!Array.isArray(data) || !data.every(isLabels)) throw strange(name);
      return data;
    },
    async *samples(match, from = EVER, to) {
      const form: Record<string, string> = { 'match[]': match, start: String(from / 1000) };
      if (to !== undefined) form.end = String(to / 1000);
      const responseBody = await ask('/api/v1/export', form);
      yield* exported(name, responseBody, most);
    },
  };
}

/** Checks the address of a store. */
export function parseStoreAddress(text: string): URL {
  try {
    const address = new URL(text);
    if (address.protocol !== 'http:' && address.protocol !== 'https:') throw new Error('another protocol');
    return address;
  } catch {
    throw usage(
      `"${shownAddress(text)}" is not the address of a store`,
      'it looks like http://vm:8428, or http://vmselect:8481/select/0/prometheus',
    );
  }
}

type Ask = (path: string, form: Record<string, string>) => Promise<HttpStream['body']>;

/** Several may ask at once, each over a connection of its own. */
function asker(name: string, url: URL): Ask {
  const idle: Connection[] = [];
  const base = url.pathname.replace(/\/+$/, '');
  const headers = { ...basicAuthorization(url), 'Content-Type': 'application/x-www-form-urlencoded' };
  const open = (): Connection =>
    new Connection(url, {
      requestSeconds: PATIENCE_SECONDS,
      connectSeconds: CONNECT_SECONDS,
      mostBytes: Number.POSITIVE_INFINITY,
      advice: EXTRA_CERTIFICATES,
    });
  return async (path, form) => {
    const connection = idle.pop() ?? open();
    let storeReply: HttpStream;
    try {
      const body = Buffer.from(String(new URLSearchParams(form)));
      storeReply = await connection.stream({ method: 'POST', path: `${base}${path}`, headers, body });
    } catch (error) {
      throw unreachable(name, error);
    }
    storeReply.body.once('close', () => idle.push(connection));
    if (storeReply.status >= 200 && storeReply.status < 300) return storeReply.body;
    const text = await textOf(name, storeReply.body, MOST_REFUSAL).catch(() => 'more than it takes to say why');
    throw refused(name, storeReply.status, text);
  };
}

function unreachable(name: string, error: unknown): Fault {
  return new Fault(`cannot reach the store ${name}: ${unreachableText(error)}`, {
    hint: `is VictoriaMetrics running there? curl ${name}/health says OK when it is`,
    cause: error,
  });
}

function refused(name: string, status: number, text: string): Fault {
  const message = messageOf(text);
  if (status === 401 || status === 403) {
    return new Fault(`the store ${name} wants to know who asks (HTTP ${status})`, {
      hint: 'a user and password may be in the address: http://user:password@vm:8428',
    });
  }
  const unknown = /unknown func(?:tion)?(?: with name)? \\?"(\w+)/.exec(message)?.[1];
  if (unknown !== undefined || message.includes('parse error')) {
    const what = unknown === undefined ? 'it does not understand MetricsQL' : `it does not know ${unknown}`;
    return new Fault(`the store ${name} cannot answer: ${what}`, {
      hint: 'VictoriaMetrics 1.79 or newer is needed; Prometheus itself lacks what a report asks for',
    });
  }
  if (status === 404) return strange(name);
  return new Fault(`the store ${name} refused (HTTP ${status}): ${message.slice(-300) || 'no reason given'}`);
}

/** What VictoriaMetrics says went wrong. */
function messageOf(text: string): string {
  try {
    return String((JSON.parse(text) as { error?: unknown }).error ?? text);
  } catch {
    return text.trim();
  }
}

const strange = (name: string): Fault =>
  new Fault(`${name} does not answer like VictoriaMetrics`, {
    hint: 'the address of a cluster ends in /select/0/prometheus',
  });

async function jsonOf(name: string, responseBody: HttpStream['body'], most: number): Promise<unknown> {
  let body: { status?: string; data?: unknown };
  try {
    body = JSON.parse(await textOf(name, responseBody, most)) as typeof body;
  } catch (error) {
    if (error instanceof SyntaxError) throw strange(name);
    throw error instanceof Fault ? error : unreachable(name, error);
  }
  if (body?.status !== 'success') throw strange(name);
  return body.data;
}

interface Result {
  metric: Labels;
  value: [time: number, value: string];
}

function resultsOf(name: string, data: unknown): Result[] {
  const { result } = (data ?? {}) as { result?: unknown };
  if (!Array.isArray(result) || !result.every(isResult)) throw strange(name);
  return result;
}

function isResult(result: unknown): result is Result {
  const { metric, value } = (result ?? {}) as Partial<Result>;
  return isLabels(metric) && Array.isArray(value) && typeof value[1] === 'string';
}

const tooMuch = (name: string, what: string, most: number): Fault =>
  new Fault(`${what} of the store ${name} is larger than ${formatBytes(most)}, and not read any further`, {
    hint: 'is it a VictoriaMetrics, and the right one?',
  });

/** All of an answer, unless it is too much. */
async function textOf(name: string, responseBody: HttpStream['body'], most: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of responseBody) {
    bytes += (chunk as Uint8Array).length;
    if (bytes > most) throw tooMuch(name, 'an answer', most);
    text += decoder.decode(chunk as Uint8Array, { stream: true });
  }
  return text + decoder.decode();
}

/** Lines of /api/v1/export. An answer that is cut off is never taken for a whole one. */
async function* exported(
  name: string,
  responseBody: HttpStream['body'],
  most: typeof MOST_BYTES,
): AsyncGenerator<StoredSeries> {
  const decoder = new TextDecoder();
  const parse = exportLineParser();
  let rest = '';
  let bytes = 0;
  try {
    for await (const chunk of responseBody) {
      bytes += (chunk as Uint8Array).length;
      if (bytes > most.samples) throw tooMuch(name, 'what is exported', most.samples);
      const text = decoder.decode(chunk as Uint8Array, { stream: true });
      // only what is new is looked through: a line may be long
      const lines = text.split('\n');
      lines[0] = rest + lines[0]!;
      rest = lines.pop()!;
      if (rest.length > most.line) throw tooMuch(name, 'a line of the export', most.line);
      for (const line of lines) if (line !== '') yield parse(line);
    }
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw unreachable(name, error);
  }
  if (rest.trim() !== '') throw new Fault(`the answer of the store ${name} ends in the middle of a line`);
}
