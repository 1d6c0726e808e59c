/** Recoveries in what an operator does: backup and restore, and rotation of the master key. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { Reader } from '../helpers/age.ts';
import { type AccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { commandJson, runCommand } from '../helpers/command.ts';
import { holdNext } from '../helpers/hold.ts';
import type { TestVault } from '../helpers/vault.ts';
import {
  change,
  createCustodians,
  NEW,
  open,
  read,
  recoverable,
  recoverWith,
} from '../key/recovery-steps.ts';
import { masterKeyOf, useRestores } from './restores.ts';

setDefaultTimeout(60_000);

const OLD = ['old', masterKeyOf()] as const;
const NEWER = ['new', masterKeyOf(41)] as const;
const CARD = { card_number: '4111111111111111' };

const { backup, open: openVault, restored } = useRestores();
let vault: TestVault;
let account: AccountClient;
let custodians: Reader[];
beforeAll(async () => {
  vault = await openVault({ masterKeys: new Map([OLD, NEWER]) });
  [account, custodians] = await Promise.all([vault.account(), createCustodians(2)]);
});
afterAll(() => custodians.forEach(({ close }) => void close()));

test('a restored vault has them, also of a key that changed while it was copied', async () => {
  const shares = await recoverable(account, 'copied', custodians);
  const token = await account.store('copied', CARD);
  // Between the items of the key and its records.
  const held = holdNext(vault.opened.stores.keyStore, 'readPair', { skip: 1 });
  const copying = backup();
  await held.reached;
  expect((await change(account, 'copied', PASSPHRASE, `${PASSPHRASE} 2`)).outcome).toBe('200');
  held.release();
  const { file } = await copying;
  const text = readFileSync(file).toString('latin1');
  expect(shares.some((share) => text.includes(share.slice(0, 60)))).toBe(false);
  await restored(file, async (copy) => {
    const there = account.via(copy.handle);
    expect((await read(there, 'copied')).text).toBe((await read(account, 'copied')).text);
    expect((await recoverWith(there, 'copied', shares)).outcome).toBe('200');
    expect((await open(there, 'copied', token, NEW)).json).toEqual(CARD);
    expect((await runCommand(['verify', '--json'], { vault: copy })).code).toBe(0);
  });
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
