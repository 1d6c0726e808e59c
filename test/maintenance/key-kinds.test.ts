import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBackup } from '../../server/backup/file.ts';
import { readName } from '../../server/maintenance/store/census.ts';
import { RECORD_KINDS } from '../../server/redis/records/registry.ts';
import { commandJson } from '../helpers/command.ts';
import { furnish } from '../helpers/furnish.ts';
import { localProxy } from '../helpers/proxy.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

/**
 * Kinds that a furnished vault does not have, and why. Nothing in them is sealed. Re-encryption and verification are
 * tested on a furnished vault, so whatever holds records has to be in it.
 */
const NOT_FURNISHED: Readonly<Record<string, string>> = {
  accountOutbox: 'there until an announced event is queued',
  accountRate: 'counts for a minute at most',
  challenge: 'there for minutes after a sign-in',
  ownRate: 'counts for an hour at most',
  eventOutbox: 'there until the events of changes are queued',
  expiring: 'there while a server counts what expires',
  expiringLease: 'there while a server counts what expires',
  endpointRate: 'counts for an hour at most',
  reseal: 'begins with a reseal of a key',
  resealLease: 'there while a key is being resealed',
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
  takenCounts: 'there while counts are added to those of the account',
  undelivered: 'there where a sink has not got what is in a log',
  usageFold: 'begins with the first report of usage',
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

/** Kinds of a furnished vault that a restored one does not need, and why. */
const IN_NO_BACKUP: Readonly<Record<string, string>> = {
  accountHeads: 'a restored vault records its logs anew',
  changedLogs: 'as `accountHeads`',
  closedAccount: 'ends some minutes after a deletion',
  counts: 'added to those of the account before these are copied',
  eventAccounts: 'added by the sweep',
  eventKeys: 'added by the sweep',
  guesses: 'ends within two days',
  headsCheckpoints: 'as `accountHeads`',
  jobQueue: 'made from the jobs themselves',
  logHeads: 'as `accountHeads`',
  sad: 'the codes of this vault are to expire, and stay out of every file',
  sealingKeys: 'nothing that is stored is under one',
  session: 'people sign in again',
};

test('a backup has a key of every kind that a restored vault needs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cv-kinds-'));
  const file = join(folder, 'vault.backup');
  await commandJson(vault, 'backup', file);
  const names = new Set<string>();
  const { records } = await openBackup(file, vault.ring, 'staging');
  for await (const { key } of records(() => undefined)) {
    names.add(key);
  }
  rmSync(folder, { recursive: true, force: true });
  const furnished = Object.entries(RECORD_KINDS).filter(([name]) => !(name in NOT_FURNISHED));
  const missing = furnished.filter(([, kind]) => ![...names].some((name) => readName([kind], name)));
  expect(missing.map(([name]) => name).sort()).toEqual(Object.keys(IN_NO_BACKUP).sort());
});

describe('a restored vault repeats nothing that may have been sent after the copy was made:', () => {
  const { job, idempotency } = RECORD_KINDS;
  test.each([
    ['a job that waited', job, { p: 'send', n: '0', f: '' }, { n: '1', f: 'restored' }],
    ['a job under way', job, { p: 'send', n: '2', f: 'nonce' }, { f: 'restored' }],
    ['a job with a reply', job, { p: 'tell', n: '1', f: '' }, {}],
    ['an Idempotency-Key without a reply', idempotency, { f: 'print', s: 'seed' }, { o: 'restored' }],
    ['one whose request was sent', idempotency, { f: 'print', o: 'sent' }, {}],
    ['one with a reply', idempotency, { f: 'print', r: 'sealed' }, {}],
  ] as const)('%s', (_, { restored }, stored, changed) => {
    const fields = new Map(Object.entries(stored).map(([name, value]) => [name, Buffer.from(value)]));
    const texts = [...restored(fields)].map(([name, value]) => [name, value.toString()]);
    expect(Object.fromEntries(texts)).toEqual({ ...stored, ...changed });
  });
});
