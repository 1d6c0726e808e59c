/** Recoveries in what an operator does: backup and restore, and rotation of the master key. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Reader } from '../../helpers/age.ts';
import { type AccountClient, PASSPHRASE } from '../../helpers/clients.ts';
import { commandJson, runCommand } from '../../helpers/command.ts';
import { startTestRedis, type TestRedis } from '../../helpers/redis.ts';
import { restoreInto } from '../../helpers/restore.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';
import { holdNext } from '../hold.ts';
import {
  change,
  createCustodians,
  NEW,
  open,
  read,
  recoverable,
  recoverWith,
} from '../key/recovery-steps.ts';

setDefaultTimeout(60_000);

const OLD = ['old', Uint8Array.from({ length: 32 }, (_, at) => (at * 37 + 11) % 256)] as const;
const NEWER = ['new', Uint8Array.from({ length: 32 }, (_, at) => (at * 41 + 13) % 256)] as const;
const CARD = { card_number: '4111111111111111' };

let folder: string;
let vault: TestVault;
let empty: TestRedis;
let account: AccountClient;
let custodians: Reader[];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cv-recovery-'));
  empty = await startTestRedis({ durable: true });
  vault = await openTestVault({ masterKeys: new Map([OLD, NEWER]) });
  [account, custodians] = await Promise.all([vault.account(), createCustodians(2)]);
});
afterAll(async () => {
  for (const { close } of custodians) {
    close();
  }
  await vault.close();
  await empty.stop();
  rmSync(folder, { recursive: true });
});

test('a restored vault has them, also of a key that changed while it was copied', async () => {
  const shares = await recoverable(account, 'copied', custodians);
  const token = await account.store('copied', CARD);
  const file = join(folder, 'copy.backup');
  // Between the items of the key and its records.
  const held = holdNext(vault.opened.stores.keyStore, 'readPair', { skip: 1 });
  const copying = commandJson(vault, 'backup', file);
  await held.reached;
  expect((await change(account, 'copied', PASSPHRASE, `${PASSPHRASE} 2`)).outcome).toBe('200');
  held.release();
  await copying;
  const text = readFileSync(file).toString('latin1');
  expect(shares.some((share) => text.includes(share.slice(0, 60)))).toBe(false);
  expect(await restoreInto(empty.target, file, vault)).toMatchObject({ code: 0, err: '' });
  const copy = await openTestVault({ redis: empty, join: true, masterKeys: new Map([OLD, NEWER]) });
  const there = account.via(copy.handle);
  expect((await read(there, 'copied')).text).toBe((await read(account, 'copied')).text);
  expect((await recoverWith(there, 'copied', shares)).outcome).toBe('200');
  expect((await open(there, 'copied', token, NEW)).json).toEqual(CARD);
  expect((await runCommand(['verify', '--json'], { vault: copy })).code).toBe(0);
  await copy.close();
});

test('a rotation of the master key re-encrypts them, and the old key is not needed afterwards', async () => {
  const shares = await recoverable(account, 'rotated', custodians);
  const token = await account.store('rotated', CARD);
  const rotating = await vault.secondServer({ masterKeys: new Map([NEWER, OLD]) });
  const { done, lost } = await commandJson<{ done: boolean; lost: unknown[] }>(rotating, 'rotate-master');
  expect([done, lost]).toEqual([true, []]);
  await rotating.close();
  const only = await vault.secondServer({ masterKeys: new Map([NEWER]) });
  const there = account.via(only.handle);
  expect((await recoverWith(there, 'rotated', shares)).outcome).toBe('200');
  expect((await open(there, 'rotated', token, NEW)).json).toEqual(CARD);
  expect((await change(there, 'rotated', NEW, PASSPHRASE)).outcome).toBe('200');
  expect((await recoverWith(there, 'rotated', shares)).outcome).toBe('200');
  await only.close();
});
