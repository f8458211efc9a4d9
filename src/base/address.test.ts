import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseAddress, shownAddress, splitPassword } from './address.ts';

test('an address is shown without its password', () => {
  assert.equal(shownAddress('postgres://ada:s3cret@db.site:5432/tacho'), 'postgres://ada@db.site:5432/tacho');
  assert.equal(shownAddress('postgres://db.site/tacho'), 'postgres://db.site/tacho');
  assert.equal(shownAddress('postgresql://ada@/tacho?host=/run/pg'), 'postgresql://ada@/tacho?host=/run/pg');
  assert.equal(shownAddress('postgres://ada@h/t?password=s3cret&x=1'), 'postgres://ada@h/t?password=…&x=1');
  assert.equal(shownAddress('postgres://:s3cret@h/t'), 'postgres://@h/t');
  // a password that should have been percent-encoded
  assert.equal(shownAddress('postgres://ada:a@b:/c?d@host/tacho'), 'postgres://ada@host/tacho');
});

test('no part of a password is ever shown', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (secret) => {
      const shown = shownAddress(`postgres://ada:<${secret}>@host/tacho`);
      assert.ok(!shown.includes(`<${secret}>`), shown);
    }),
  );
});

test('something else is refused, also without its password', () => {
  assert.equal(parseAddress('postgres://h/d'), 'postgres://h/d');
  assert.throws(() => parseAddress('mysql://ada:s3cret@h/d'), {
    message: '"mysql://ada@h/d" is not the address of a PostgreSQL database',
    exit: 2,
  });
});

test('a password is taken out of an address, as it is meant', () => {
  const bare = 'postgres://ada@db.site:5432/tacho?sslmode=require';
  assert.deepEqual(splitPassword('postgres://ada:s%40c%3Aret@db.site:5432/tacho?sslmode=require'), {
    address: bare,
    password: 's@c:ret',
  });
  assert.deepEqual(splitPassword('postgres://ada:100%@db.site/tacho').password, '100%');
  assert.deepEqual(splitPassword(bare), { address: bare });
  assert.deepEqual(splitPassword('postgresql://ada@/tacho?host=/run/pg'), {
    address: 'postgresql://ada@/tacho?host=/run/pg',
  });
});
