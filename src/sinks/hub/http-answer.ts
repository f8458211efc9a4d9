export interface Answer {
  status: number;
  text: string;
}

const END_OF_HEAD = '\r\n\r\n';
const LONGEST_HEAD = 64 << 10;

/**
 * The answer in what has been received on a connection; undefined: more has to come. `ended`: nothing more will come.
 * `last`: the connection cannot be used again. Throws an Error when this is no answer.
 */
export function readAnswer(received: Buffer, ended: boolean): { answer: Answer; last: boolean } | undefined {
  const end = received.indexOf(END_OF_HEAD);
  if (!received.subarray(0, 5).equals(HTTP.subarray(0, received.length))) throw notHttp();
  if (end < 0) {
    if (received.length > LONGEST_HEAD) throw notHttp();
    return undefined;
  }
  const head = received.toString('latin1', 0, end + 2);
  const status = Number(/^HTTP\/1\.[01] (\d{3})[ \r]/.exec(head)?.[1]);
  if (Number.isNaN(status)) throw notHttp();
  const body = received.subarray(end + END_OF_HEAD.length);
  // what is said meanwhile is not the answer
  if (status < 200) return readAnswer(body, ended);
  const close = header(head, 'connection')?.toLowerCase() === 'close' || head.startsWith('HTTP/1.0');
  const text = (bytes: Buffer): Answer => ({ status, text: bytes.toString('utf8') });
  if (header(head, 'transfer-encoding')?.toLowerCase() === 'chunked') {
    const found = readChunks(body);
    return found === undefined ? undefined : { answer: text(found.bytes), last: close || found.length !== body.length };
  }
  const stated = header(head, 'content-length');
  if (stated === undefined && status !== 204 && status !== 304) {
    return ended ? { answer: text(body), last: true } : undefined;
  }
  const length = Number(stated ?? 0);
  if (!Number.isSafeInteger(length) || length < 0) throw notHttp();
  if (body.length < length) return undefined;
  return { answer: text(body.subarray(0, length)), last: close || body.length > length };
}

const HTTP = Buffer.from('HTTP/');
const notHttp = (): Error => new Error('what answers there is no HTTP server');

function header(head: string, name: string): string | undefined {
  return new RegExp(`\r\n${name}:[ \t]*([^\r]*?)[ \t]*\r\n`, 'i').exec(head)?.[1];
}

function readChunks(body: Buffer): { bytes: Buffer; length: number } | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const line = body.indexOf('\r\n', at);
    if (line < 0) return undefined;
    const digits = /^[0-9a-f]{1,8}/i.exec(body.toString('latin1', at, line))?.[0];
    if (digits === undefined) throw notHttp();
    const size = Number.parseInt(digits, 16);
    if (size === 0) {
      // after the last chunk come trailers, if any, and an empty line
      const last = body.indexOf(END_OF_HEAD, line);
      return last < 0 ? undefined : { bytes: Buffer.concat(chunks), length: last + END_OF_HEAD.length };
    }
    const begin = line + 2;
    at = begin + size + 2;
    if (body.length < at) return undefined;
    chunks.push(body.subarray(begin, begin + size));
  }
}
