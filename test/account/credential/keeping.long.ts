/** Credentials where a whole vault is moved: backup and restore, new master key, new root, deletion of the account. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AccountClient } from '../../helpers/clients.ts';
import { commandJson } from '../../helpers/command.ts';
import { clientOf, type MadeCredential, makeCredential } from '../../helpers/credentials.ts';
import { startTestRedis, type TestRedis } from '../../helpers/redis.ts';
import { restoreInto } from '../../helpers/restore.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

setDefaultTimeout(60_000);

const HOUR_MS = 3_600_000;
const [OLD, NEW] = [3, 7].map((step) => Uint8Array.from({ length: 32 }, (_, at) => (at * step + 11) % 256));
const RINGS = {
  old: new Map([['old', OLD as Uint8Array]]),
  both: new Map([
    ['new', NEW as Uint8Array],
    ['old', OLD as Uint8Array],
  ]),
  new: new Map([['new', NEW as Uint8Array]]),
};

let nowMs = Date.now();
let vault: TestVault;
let account: AccountClient;
let empty: TestRedis;
let folder = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cv-credentials-'));
  empty = await startTestRedis({ durable: true });
  vault = await openTestVault({ alone: true, masterKeys: RINGS.old, now: () => nowMs });
});
afterAll(async () => {
  await vault.close();
  await empty.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A credential that was rolled, with a secret that lives on for an hour. */
async function newCredential(): Promise<readonly [before: MadeCredential, after: MadeCredential]> {
  account = await vault.account();
  await account.key('u');
  const made = await makeCredential(account, ['vault:list'], { keys: ['u'] });
  const rolled = await account.send('POST', `/credential/${made.id}/roll`, { body: { overlap: '1h' } });
  return [made, rolled.as<MadeCredential>()];
}

/** What a secret may still do: what it is for, another key, and another scope. */
async function rightsOf(server: Pick<TestVault, 'handle'>, made: MadeCredential): Promise<string> {
  const client = clientOf(server.handle, account, made);
  const list = (user: string) => client.send('GET', '/vault', { query: { user } });
  const answers = [await list('u'), await list('other'), await client.send('GET', '/key')];
  return answers.map(({ outcome }) => outcome).join();
}
const ITS_OWN = '200,403 not_allowed,403 not_allowed';
const NONE = '401 unauthenticated,401 unauthenticated,401 unauthenticated';

test('a restore brings back both secrets with their limits, and credentials that were deleted since', async () => {
  const [before, after] = await newCredential();
  const deleted = await makeCredential(account, ['vault:list'], { keys: ['u'] });
  const file = join(folder, 'vault.backup');
  await commandJson(vault, 'backup', file);
  expect((await account.send('DELETE', `/credential/${deleted.id}`)).outcome).toBe('200');
  expect(await rightsOf(vault, deleted)).toBe(NONE);

  expect((await restoreInto(empty.target, file, vault)).err).toBe('');
  const copy = await openTestVault({ redis: empty, join: true, masterKeys: RINGS.old, now: () => nowMs });
  for (const made of [before, after, deleted]) {
    expect(await rightsOf(copy, made)).toBe(ITS_OWN);
  }
  const there = account.via(copy.handle);
  expect((await there.send('DELETE', `/credential/${deleted.id}`)).outcome).toBe('200');
  expect(await rightsOf(copy, deleted)).toBe(NONE);
  nowMs += HOUR_MS + 1;
  expect([await rightsOf(copy, before), await rightsOf(copy, after)]).toEqual([NONE, ITS_OWN]);
  await copy.close();
});

// The last: the servers before it have the old key alone.
test('a new master key, without the old one, and a new root keep both secrets and their limits', async () => {
  const [before, after] = await newCredential();
  const roller = await makeCredential(account, ['vault:list', 'credential:write']);
  const { roots, services } = vault.opened;
  const waitForServers = async (): Promise<void> => {
    await roots.refresh();
  };
  await services.rootRotation.rotate({ waitForServers, seen: () => undefined, isForced: true });
  expect([await rightsOf(vault, before), await rightsOf(vault, after)]).toEqual([ITS_OWN, ITS_OWN]);

  const both = await vault.secondServer({ masterKeys: RINGS.both });
  expect(await commandJson(both, 'rotate-master')).toMatchObject({ done: true, removable: ['old'] });
  await both.close();
  const alone = await vault.secondServer({ masterKeys: RINGS.new });
  expect([await rightsOf(alone, before), await rightsOf(alone, after)]).toEqual([ITS_OWN, ITS_OWN]);
  // The older root is gone, and with it the password of an account that has not signed in since.
  const { outcome } = await account.via(alone.handle).send('GET', '/whoami');
  expect(outcome).toBe('401 unauthenticated');
  const rolling = clientOf(alone.handle, account, roller);
  const roll = await rolling.send('POST', `/credential/${after.id}/roll`, { body: {} });
  const secrets = [before, after, roll.as<MadeCredential>()];
  expect(await Promise.all(secrets.map((made) => rightsOf(alone, made)))).toEqual([NONE, NONE, ITS_OWN]);
  await alone.close();
});
