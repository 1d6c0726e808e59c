import { expect, test } from 'bun:test';
import { keyNameOf } from '../../server/store/maintenance/census.ts';
import { redisKeys } from '../../server/store/redis/keys.ts';

const BUCKET = { kid: 'kid', number: 3 };
const NAMES = Object.values(redisKeys).map((key) => {
  if (typeof key === 'string') {
    return key;
  }
  const make = key as (...parts: unknown[]) => string;
  return make.length === 1 && key.toString().includes('bucket') ? make(BUCKET) : make('one', 'two');
});

test.each(NAMES)('%s is a name of ours', (name) => {
  expect(keyNameOf(name.replace('{undefined.undefined}', '{kid.3}')).kind).not.toBe('foreign');
});

test.each(['stranger', '{a}', '{x:y}', '{kid.3}z', '{e:id}x', '{bin}x', ''])('%p is none', (name) => {
  expect(keyNameOf(name).kind).toBe('foreign');
});
