import * as net from 'node:net';
import { SCHEMA } from '../src/database/migrations/index.ts';

/*
 * Says to `tacho submit` what an empty database with Tacho's tables would, and keeps nothing: when a release is made, V8 is
 * shown what submitting needs, also where there is no PostgreSQL. Prints its port.
 */

/** Columns and values of the questions that have an answer, by what their text contains. */
const ANSWERS: readonly [text: string, column: string, type: number, value: string][] = [
  ['to_regclass', 'there', 16, 't'],
  ['max(version)', 'version', 23, String(SCHEMA)],
  ['row_security_active', 'active', 16, 'f'],
  ['returning job', 'job', 20, '1'],
];

const SYNC = message('Z', Buffer.from('I'));

net
  .createServer((socket) => {
    let rest: Buffer = Buffer.alloc(0);
    let isStarted = false;
    let asked = '';
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (;;) {
        const lead = isStarted ? 1 : 0;
        if (rest.length < lead + 4 || rest.length < lead + rest.readInt32BE(lead)) return;
        const type = isStarted ? String.fromCharCode(rest[0]!) : '';
        const body = rest.subarray(lead + 4, lead + rest.readInt32BE(lead));
        rest = rest.subarray(lead + 4 + body.length);
        isStarted = true;
        // the text comes after the name of the statement, which is empty
        if (type === 'P') asked = body.toString('utf8', 1, body.indexOf(0, 1));
        socket.write(replyTo(type, body, asked));
      }
    });
  })
  .listen(0, '127.0.0.1', function (this: net.Server) {
    process.stdout.write(`${(this.address() as net.AddressInfo).port}\n`);
  });

function replyTo(type: string, body: Buffer, asked: string): Buffer {
  switch (type) {
    case '':
      return Buffer.concat([message('R', int32(0)), SYNC]);
    case 'Q': {
      const text = body.toString('utf8', 0, body.length - 1);
      if (text.startsWith('copy ')) return message('G', Buffer.from([1, 0, 0]));
      return Buffer.concat([described(text), answered(text), SYNC]);
    }
    case 'P':
      return message('1');
    case 'B':
      return message('2');
    case 'D':
      return described(asked, message('n'));
    case 'E':
      return answered(asked);
    case 'c':
      return Buffer.concat([message('C', Buffer.from('COPY 0\0')), SYNC]);
    case 'S':
      return SYNC;
    default:
      return Buffer.alloc(0);
  }
}

function described(text: string, none: Buffer = Buffer.alloc(0)): Buffer {
  const cannedAnswer = ANSWERS.find(([queryText]) => text.includes(queryText));
  if (cannedAnswer === undefined) return none;
  const [, column, type] = cannedAnswer;
  const rest = [int32(0), int16(0), int32(type), int16(-1), int32(-1), int16(0)];
  return message('T', Buffer.concat([int16(1), Buffer.from(`${column}\0`), ...rest]));
}

function answered(text: string): Buffer {
  const cannedAnswer = ANSWERS.find(([queryText]) => text.includes(queryText));
  const done = message('C', Buffer.from('SELECT 0\0'));
  if (cannedAnswer === undefined) return done;
  const value = Buffer.from(cannedAnswer[3]);
  return Buffer.concat([message('D', Buffer.concat([int16(1), int32(value.length), value])), done]);
}

function message(type: string, body: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([Buffer.from(type), int32(4 + body.length), body]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}
