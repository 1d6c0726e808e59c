import { afterAll, beforeAll, expect, test } from 'bun:test';
import { redisKeys } from '../../../server/store/redis/keys.ts';
import { furnish } from '../../helpers/furnish.ts';
import { localProxy } from '../../helpers/proxy.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

/**
 * Names that a furnished vault does not have, and why. Nothing in them is sealed. Rotation and verify are tested on a
 * furnished vault, so whatever holds records has to be in it.
 */
const NOT_FURNISHED: Readonly<Record<string, string>> = {
  accountRate: 'counts for a minute at most',
  fence: 'begins with the first change of a passphrase',
  goneAccounts: 'there while an account is being removed',
  keyChanges: 'there while a passphrase is being changed',
  passphraseFailures: 'counts for 15 minutes',
  passwordChanges: 'counts for a minute',
  purge: 'there while a key is being removed',
  servers: 'there while a server listens',
  signInFailures: 'counts for 15 minutes',
  sourceRate: 'counts for a minute at most',
};

const ANY = 'ANYTHING';
const BUCKET = { kid: ANY, number: ANY };

/** What keys of one kind look like. */
const patternOf = (name: keyof typeof redisKeys): RegExp => {
  const made: unknown = redisKeys[name];
  const ofBucket = /bucket/.test(String(made));
  const text = typeof made === 'function' ? String(made(ofBucket ? BUCKET : ANY, ANY)) : String(made);
  const pattern = text.replaceAll(/[{}.]/g, '\\$&').replaceAll(ANY, '[^{}]+');
  return new RegExp(`^${pattern}${/Prefix$|Queue$/.test(name) ? '' : '$'}`);
};

let vault: TestVault;
beforeAll(async () => {
  vault = await openTestVault({ proxy: await localProxy(), jobs: false, sadTtlMs: 3_600_000 });
  await furnish(vault);
});
afterAll(() => vault.close());

test('a furnished vault has a key of every kind, or there is a reason why not', async () => {
  const names = await vault.raw.keys('*');
  const kinds = Object.keys(redisKeys) as (keyof typeof redisKeys)[];
  const missing = kinds.filter((kind) => !names.some((name) => patternOf(kind).test(name)));
  expect<string[]>(missing.toSorted()).toEqual(Object.keys(NOT_FURNISHED).toSorted());
  const patterns = kinds.map(patternOf);
  expect(names.filter((name) => !patterns.some((pattern) => pattern.test(name)))).toEqual([]);
});
