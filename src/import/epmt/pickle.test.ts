import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import fc from 'fast-check';
import { metadataOf, PickledMoment, pickle0, pickle3 } from '../../../test/made/epmt-archive.ts';
import { type Plain, readPickle, textOf } from './pickle.ts';

const python = spawnSync('python3', ['-c', '1']).status === 0;

/** What Python makes of an expression, pickled. */
function pickled(expression: string, protocol: number): Buffer {
  const program = `import pickle,sys,datetime;sys.stdout.buffer.write(pickle.dumps(${expression},${protocol}))`;
  const { status, stdout, stderr } = spawnSync('python3', ['-c', program]);
  assert.equal(status, 0, stderr.toString());
  return stdout;
}

const read = (text: string): Plain => readPickle(Buffer.from(text, 'latin1'));
const refused = (text: string, why: RegExp): void => assert.throws(() => read(text), why);

test('plain data of every protocol of Python 3', { skip: python ? false : 'python3 is missing' }, () => {
  const value = '{"a":[1,-2,2**40,-2**70,1.5,True,None],"t":("x",b"\\x00\\xff"),"s":{7},"n":{"ü\\n€":{}},"e":b""}';
  for (let protocol = 0; protocol <= 5; protocol++) {
    const map = readPickle(pickled(value, protocol)) as Map<string, Plain>;
    assert.deepEqual(map.get('a'), [1, -2, 2 ** 40, -(2n ** 70n), 1.5, true, null], `protocol ${protocol}`);
    assert.deepEqual(map.get('t'), ['x', Buffer.from([0, 255])]);
    assert.deepEqual(map.get('s'), new Set([7]));
    assert.deepEqual(map.get('n'), new Map([['ü\n€', new Map()]]));
    assert.deepEqual(map.get('e'), Buffer.alloc(0));
  }
});

test('moments with and without a zone', { skip: python ? false : 'python3 is missing' }, () => {
  const zone = 'datetime.timezone(datetime.timedelta(hours=-3,minutes=-30),"NST")';
  const value = `[datetime.datetime(2019,6,15,7,52,4,73965),datetime.datetime(2020,6,8,10,33,54,355139,${zone}),
    datetime.date(2019,2,28),datetime.timedelta(1,2,3),datetime.datetime(2021,1,1,tzinfo=datetime.timezone.utc),
    datetime.datetime(2021,10,31,2,30,fold=1),datetime.time(1,2,3),datetime.time(23,5,0,42,${zone},fold=1)]`.replaceAll(
    '\n',
    ' ',
  );
  for (let protocol = 0; protocol <= 5; protocol++) {
    assert.deepEqual(readPickle(pickled(value, protocol)), [
      { wall: Date.UTC(2019, 5, 15, 7, 52, 4) * 1000 + 73_965 },
      { wall: Date.UTC(2020, 5, 8, 10, 33, 54) * 1000 + 355_139, offset: -12_600e6 },
      { wall: Date.UTC(2019, 1, 28) * 1000 },
      { duration: 86_402_000_003 },
      { wall: Date.UTC(2021, 0, 1) * 1000, offset: 0 },
      { wall: Date.UTC(2021, 9, 31, 2, 30) * 1000 },
      '01:02:03',
      '23:05:00.000042-03:30',
    ]);
  }
});

test('what Python 2 wrote: texts are bytes, quoted', () => {
  const map = read(
    "(dp0\nS'it\\'s'\np1\nS\"\\x41\\n\\\\\\101\"\np2\nsS'n'\nI5\nsS'l'\nL12345678901234567890L\ns.",
  ) as Map<string, Plain>;
  assert.equal(textOf(map.get("it's")!), 'A\n\\A');
  assert.equal(map.get('n'), 5);
  assert.equal(map.get('l'), 12_345_678_901_234_567_890n);
  // what is no UTF-8 is still told apart
  assert.equal(textOf(read("S'caf\\xe9'\n.")), 'café');
  assert.equal(textOf(read("S'caf\\xc3\\xa9'\n.")), 'café');
  assert.equal(read('Vcaf\\u00e9 \\U0001f600\n.'), 'café 😀');
});

test('whatever a pickle asks for beyond data is refused by name', () => {
  refused("cos\nsystem\n(S'touch /tmp/x'\ntR.", /os\.system, which is refused/);
  refused("c__builtin__\neval\n(S'1'\ntR.", /__builtin__\.eval/);
  refused('\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x02id\x85R.', /posix\.system/);
  refused('cdatetime\ndatetime.fromtimestamp\n(I1\ntR.', /datetime\.datetime\.fromtimestamp/);
  refused('ccopy_reg\n_reconstructor\n(tR.', /copy_reg\._reconstructor/);
  refused('(ios\nsystem\n.', /INST/);
  refused('(cos\nsystem\no.', /os\.system/);
  refused('(I1\no.', /OBJ/);
  refused('Pid\n.', /PERSID/);
  refused('I1\nQ.', /BINPERSID/);
  refused('\x82\x01.', /EXT1/);
  refused('}}b.', /BUILD/);
  refused(')\x81.', /NEWOBJ/);
  refused('\x97.', /NEXT_BUFFER/);
  refused('cdatetime\ndatetime\n.', /itself, which is no data/);
  refused("cdatetime\ndatetime\n(S'short'\ntR.", /moment in it is damaged/);
  refused("cdatetime\ntime\n(S'short'\ntR.", /time in it is damaged/);
  refused("cdatetime\ntime\n(S'\\x18\\x00\\x00\\x00\\x00\\x00'\ntR.", /moment in it is damaged/);
  refused('c_codecs\nencode\n(Vabc\nVrot13\ntR.', /odd way/);
  refused('c__builtin__\nbytes\n(I1000000000\ntR.', /odd way/);
  refused('\x80\x09.', /protocol 9/);
});

test('limits: nesting, numbers, copies, size', () => {
  refused('('.repeat(5000), /nested more than/);
  refused(`L${'9'.repeat(5000)}L\n.`, /number in it is damaged/);
  refused(`\x8b\xff\xff\xff\x7f${'x'.repeat(100)}`, /number in it is damaged/);
  refused('X\xff\xff\xff\x7fabc.', /cut off/);
  const many = `(${'K\x01'.repeat(1000)}lp0\n`;
  refused(`${many}${'c__builtin__\nset\n(g0\ntR'.repeat(2000)}.`, /multiplies/);
  assert.throws(() => readPickle(Buffer.alloc((1 << 24) + 1)), /more than any/);
  // a byte each: dictionaries, sets, tuples in tuples, names for what is there
  for (const most of ['}'.repeat(1 << 20), '\x8f'.repeat(1 << 20), `)${'\x85'.repeat(1 << 20)}`])
    refused(`${most}.`, /more than 250000 values/);
  refused(`N${'\x94'.repeat(1 << 20)}.`, /more than 250000 values/);
  // a list that contains itself is no reason to hang
  assert.ok(Array.isArray(read(']q\0h\0a.')));
});

test('cut off anywhere, or with any byte changed, it is read or refused with a reason', () => {
  const whole = [
    pickle0(metadataOf()),
    pickle3(metadataOf({ more: { a: new PickledMoment('2020-01-01T00:00:00', 5, 3600) } })),
  ];
  for (const bytes of whole) {
    for (let length = 0; length < bytes.length; length++) {
      assert.throws(
        () => readPickle(bytes.subarray(0, length)),
        (error: Error) => error.constructor === Error,
      );
    }
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(255), (at, byte) => {
        const changed = Buffer.from(bytes);
        changed[at] = byte;
        try {
          readPickle(changed);
        } catch (error) {
          assert.equal((error as Error).constructor, Error, String(error));
        }
      }),
      { numRuns: 300 },
    );
  }
});
