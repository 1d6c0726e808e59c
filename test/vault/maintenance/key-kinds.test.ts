import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readName } from '../../../server/store/maintenance/census.ts';
import { RECORD_KINDS } from '../../../server/store/records/registry.ts';
import { furnish } from '../../helpers/furnish.ts';
import { localProxy } from '../../helpers/proxy.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

/**
 * Kinds that a furnished vault does not have, and why. Nothing in them is sealed. Re-encryption and verification are
 * tested on a furnished vault, so whatever holds records has to be in it.
 */
const NOT_FURNISHED: Readonly<Record<string, string>> = {
  accountRate: 'counts for a minute at most',
  fence: 'begins with the first change of a passphrase',
  goneAccounts: 'there while an account is being removed',
  keyChanges: 'there while a passphrase is being changed',
  lastBackup: 'begins with the first backup',
  outbox: 'there where a sink has not got the log of a deleted item',
  passwordChanges: 'counts for a minute',
  purge: 'there while a key is being removed',
  removedLogs: 'there until the removal of an item is recorded',
  servers: 'there while a server listens',
  rewrite: 'there where codes expire',
  rewriteLease: 'there during a rewrite',
  sinkBuckets: 'there where access events go to a sink',
  sinkLease: 'there where access events go to a sink',
  sinkPositions: 'there where access events go to a sink',
  sourceRate: 'counts for a minute at most',
  undelivered: 'there where a sink has not got what is in a log',
};

let vault: TestVault;
beforeAll(async () => {
  vault = await openTestVault({ proxy: await localProxy(), jobs: false, sadTtlMs: 3_600_000 });
  await furnish(vault);
});
afterAll(() => vault.close());

test('a furnished vault has a key of every kind, or there is a reason why not, and no key of no kind', async () => {
  const names = await vault.raw.keys('*');
  const missing = Object.entries(RECORD_KINDS).filter(
    ([, kind]) => !names.some((name) => readName([kind], name)),
  );
  expect(missing.map(([name]) => name).sort()).toEqual(Object.keys(NOT_FURNISHED).sort());
  expect(names.filter((name) => !readName(Object.values(RECORD_KINDS), name))).toEqual([]);
});
