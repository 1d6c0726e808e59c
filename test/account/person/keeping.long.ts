/** People where a whole vault is moved: backup and restore, new master key, new root. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as pathOf } from 'node:path';
import type { AccountClient } from '../../helpers/clients.ts';
import { commandJson } from '../../helpers/command.ts';
import { clientOf, type MadeCredential } from '../../helpers/credentials.ts';
import { type Invited, invite, join, type PersonClient, person, signInAgain } from '../../helpers/people.ts';
import { startTestRedis, type TestRedis } from '../../helpers/redis.ts';
import { restoreInto } from '../../helpers/restore.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

setDefaultTimeout(60_000);

const [OLD, NEW] = [3, 7].map((step) => Uint8Array.from({ length: 32 }, (_, at) => (at * step + 11) % 256));
const RINGS = {
  old: new Map([['old', OLD as Uint8Array]]),
  both: new Map([
    ['new', NEW as Uint8Array],
    ['old', OLD as Uint8Array],
  ]),
  new: new Map([['new', NEW as Uint8Array]]),
};

let vault: TestVault;
let account: AccountClient;
let empty: TestRedis;
let folder = '';

beforeAll(async () => {
  folder = mkdtempSync(pathOf(tmpdir(), 'cv-people-'));
  empty = await startTestRedis({ durable: true });
  vault = await openTestVault({ alone: true, masterKeys: RINGS.old });
  account = await vault.account();
});
afterAll(async () => {
  await vault.close();
  await empty.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A person with a session, and with a credential that it has made. */
async function somebody(): Promise<{ ada: PersonClient; made: MadeCredential }> {
  const ada = await person(vault, account, 'admin', { keys: ['u'] });
  const answer = await ada.send('POST', '/credential', { body: { name: 'c', scopes: ['vault:list'] } });
  return { ada, made: answer.as<MadeCredential>() };
}

async function outcome(client: Pick<PersonClient, 'send'>): Promise<string> {
  return (await client.send('GET', '/whoami')).outcome;
}

test('a restore brings back people, passkeys and invitations, and no sessions', async () => {
  const { ada, made } = await somebody();
  const eve: Invited = await invite(account, 'support');
  const seen = (await account.send('GET', '/person')).json;
  const file = pathOf(folder, 'vault.backup');
  await commandJson(vault, 'backup', file);

  expect((await restoreInto(empty.target, file, vault)).err).toBe('');
  const copy = await openTestVault({ redis: empty, join: true, masterKeys: RINGS.old });
  const there = account.via(copy.handle);
  expect((await there.send('GET', '/person')).json).toEqual(seen);
  expect(await outcome(ada.via(copy.handle))).toBe('401 unauthenticated');
  expect(await outcome(await signInAgain(copy, ada))).toBe('200');
  expect(await outcome(await join(copy, eve))).toBe('200');
  expect(await outcome(clientOf(copy.handle, account, made))).toBe('200');
  const verified = await commandJson<{ faults: object[] }>(copy, 'verify');
  expect(verified.faults).toEqual([]);
  await there.send('DELETE', `/person/${ada.id}`);
  expect(await outcome(clientOf(copy.handle, account, made))).toBe('401 unauthenticated');
  await copy.close();
});

// The last: the servers before it have the old key alone.
test('a new master key, without the old one, and a new root keep people and their sessions', async () => {
  const { ada, made } = await somebody();
  const { roots, services } = vault.opened;
  const waitForServers = async (): Promise<void> => {
    await roots.refresh();
  };
  await services.rootRotation.rotate({ waitForServers, seen: () => undefined, isForced: true });
  expect(await outcome(ada)).toBe('200');

  const both = await vault.secondServer({ masterKeys: RINGS.both });
  expect(await commandJson(both, 'rotate-master')).toMatchObject({ done: true, removable: ['old'] });
  await both.close();
  const alone = await vault.secondServer({ masterKeys: RINGS.new });
  expect(await outcome(ada.via(alone.handle))).toBe('200');
  expect(await outcome(await signInAgain(alone, ada))).toBe('200');
  expect(await outcome(clientOf(alone.handle, account, made))).toBe('200');
  await alone.close();
});
