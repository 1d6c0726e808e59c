import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Redis from 'ioredis';
import { StartError } from '../../server/core/errors.ts';
import { ServerStore } from '../../server/installation/server-store.ts';
import { toVaultError } from '../../server/redis/errors.ts';
import { openRedis } from '../../server/redis/open.ts';
import { REQUIRED_COMMANDS } from '../../server/redis/requirements.ts';
import { ReplyError } from '../../server/redis/resp.ts';
import { findUnsafe } from '../../server/redis/safety.ts';
import { PASSPHRASE } from '../helpers/clients.ts';
import { runCommand } from '../helpers/command.ts';
import { CARD, jobsDone, openProxyVault, proxyPost, requestTo } from '../helpers/proxy.ts';
import { documentedUsers, launchLimitedRedis } from '../helpers/redis-limited.ts';
import { newRedisFolder, sendCommand, socketIn } from '../helpers/redis-process.ts';
import { startThirdParty, type ThirdParty } from '../helpers/third-party.ts';
import type { TestVault } from '../helpers/vault.ts';
import { createReceiver } from '../helpers/webhook.ts';
import { readSources } from '../sources.ts';

const folder = newRedisFolder();
let limited: Awaited<ReturnType<typeof launchLimitedRedis>>;
let vault: TestVault;
let party: ThirdParty;
beforeAll(async () => {
  party = await startThirdParty();
  limited = await launchLimitedRedis(folder, true);
  vault = await openProxyVault({ redis: { target: limited.target, socketPath: socketIn(folder) } });
});
afterAll(async () => {
  await vault.close();
  party.stop();
  limited.child.kill('SIGKILL');
  await limited.child.exited;
  rmSync(folder, { recursive: true, force: true });
});

async function denied(): Promise<readonly string[]> {
  const log = await sendCommand(socketIn(folder), 'ACL LOG 100');
  return [...log.matchAll(/object\r\n\$\d+\r\n([^\r]+)/g)].map(([, command = '']) => command);
}

describe('the documented user of Redis', () => {
  test('may do all that the command line needs', async () => {
    const account = await vault.account();
    await account.key('u');
    await account.store('u', CARD, { reference: 'r' });
    await sendCommand(socketIn(folder), 'ACL LOG RESET');
    const path = join(folder, 'copy.backup');
    for (const words of [
      ['backup', path],
      ['verify'],
      ['audit', 'verify'],
      ['audit', 'export'],
      ['rotate-master'],
      ['compact'],
      ['health'],
    ]) {
      const { code, err } = await runCommand(words, { vault });
      expect([words[0], code, err]).toEqual([words[0], 0, '']);
    }
    expect(await denied()).toEqual([]);
    expect(statSync(path).size).toBeGreaterThan(0);
  });

  test('may do all that a round of the features needs', async () => {
    const account = await vault.account();
    await account.key('u');
    const token = await account.store('u', CARD, { reference: 'r' });
    const send = async (method: string, path: string, body?: unknown): Promise<Record<string, string>> => {
      const answer = await account.send(method, path, {
        passphrase: PASSPHRASE,
        body,
        idempotencyKey: 'once',
      });
      expect([method, path, answer.status, answer.text.slice(0, 100)]).toEqual([
        method,
        path,
        200,
        expect.anything(),
      ]);
      return answer.as<Record<string, string>>();
    };
    const at = `/vault/?user=u&token=${token}&reference=r`;
    await send('POST', '/vault/?user=u', CARD);
    await send('GET', at);
    await send('GET', '/vault/?user=u&reference_prefix=r&decrypt_all=true');
    await send('POST', `/vault/update?user=u&token=${token}&reference=r`, { expiry_year: '2032' });
    await send('GET', `/vault/metadata?user=u&token=${token}&reference=r`);
    await send('POST', '/rule/?id=one', [{ name: 'noop' }]);
    await send('GET', '/rule/');
    await send('DELETE', '/rule/?id=one');
    const capture = await send('POST', '/capture/?user=u');
    const captured = await account.send('POST', `/capture/${capture['unique_id']}`, {
      body: CARD,
      headers: { 'x-vault-capture-secret': capture['secret'] ?? '' },
    });
    expect(captured.status).toBe(200);
    await send('POST', '/retrieve/?user=u');
    await send('GET', '/retrieve/');
    await send('POST', '/retrieve/iframe?form_type=pcd', {});
    await send('GET', '/retrieve/iframe');
    party.script('/target', { status: 200, body: 'done' });
    const sent = await proxyPost(
      { account, user: 'u', token, reference: 'r' },
      { request: requestTo(party.url('/target')), webhook: createReceiver(party, 200).webhook },
    );
    expect(sent.status).toBe(200);
    await jobsDone(vault, account);
    await account.send('POST', '/vault/?user=u', { passphrase: 'a wrong passphrase', body: CARD });
    await send('PUT', '/key/', { user: 'u', passphrase: PASSPHRASE, new_passphrase: `${PASSPHRASE}2` });
    await send('DELETE', '/key/?user=u&safe=false');
    await vault.opened.sweep();
    await vault.opened.removeAccount(account.name);
    expect(await runCommand(['verify'], { vault })).toMatchObject({ code: 0, err: '' });
    const store = new ServerStore(vault.opened.redis);
    expect(await store.list()).toEqual([]);
    await store.leave('x');
    expect(await findUnsafe(vault.opened.redis)).toEqual([]);
    expect(await denied()).toEqual([]);
  });

  test('may not empty the database, change its configuration, or touch other names', async () => {
    if (limited.target.kind !== 'url') {
      throw new Error('the limited Redis is reached by its URL');
    }
    const client = new Redis(limited.target.url);
    for (const [command = '', ...rest] of [
      ['KEYS', '*'],
      ['FLUSHALL'],
      ['FLUSHDB'],
      ['CONFIG', 'SET', 'appendfsync', 'no'],
      ['CONFIG', 'REWRITE'],
      ['SHUTDOWN'],
      ['REPLICAOF', 'NO', 'ONE'],
      ['MONITOR'],
      ['ACL', 'LIST'],
      ['SAVE'],
      ['SCRIPT', 'FLUSH'],
      ['GET', 'elsewhere'],
      ['PUBLISH', 'x', 'y'],
    ]) {
      await expect(client.call(command, ...rest), command).rejects.toThrow(/NOPERM/);
    }
    client.disconnect();
  });
});

test('whoever comes with another password is told so at once, and not what it is', async () => {
  if (limited.target.kind !== 'url') {
    throw new Error('the limited Redis is reached by its URL');
  }
  const url = limited.target.url.replace(/:[^:@]+@/, ':another-password@');
  await expect(openRedis({ kind: 'url', url }, { replicas: 0 })).rejects.toThrow(
    new StartError('Redis does not answer: it rejects the user name or password. Check VAULT_REDIS_URL.'),
  );
});

test('every command that the code names is one that the user may call', async () => {
  const allowed = new Set(
    documentedUsers()
      .join(' ')
      .split(' ')
      .filter((word) => word.startsWith('+'))
      .map((word) => word.slice(1).split('|')[0]),
  );
  const scripts = [...new Bun.Glob('server/**/*.lua').scanSync()];
  const lua = await Promise.all(scripts.map((path) => Bun.file(path).text()));
  const called = lua.flatMap((text) => [...text.matchAll(/\bp?call\('(\w+)'/g)]);
  const sources = await readSources('server');
  const named = [...sources.values()].flatMap((text) => [
    ...text.matchAll(/\b(?:command|write|call)\(\s*'([A-Z]+)'/g),
  ]);
  const names = [...called, ...named].map(([, name = '']) => name.toLowerCase());
  expect(names.length).toBeGreaterThan(100);
  expect([...new Set(names)].filter((name) => !allowed.has(name))).toEqual([]);
});

test('a start asks for every documented command, but for those that a vault can do without or needs to connect', () => {
  const asked = new Set(REQUIRED_COMMANDS);
  const documented = documentedUsers()
    .join(' ')
    .matchAll(/ \+(\S+)/g);
  const others = [...documented].map(([, name = '']) => name).filter((name) => !asked.has(name));
  const connecting = ['auth', 'hello', 'client|setname', 'client|id', 'readonly', 'readwrite', 'asking'];
  expect(others.toSorted()).toEqual([...connecting, 'config|get', 'scan', 'bgrewriteaof'].toSorted());
});

test('a script that may not call a command is no damage to what is stored', async () => {
  const text =
    "ERR ACL failure in script: User vault has no permissions to run the 'mget' command script: x, on @user_script:1.";
  expect(toVaultError(new ReplyError(text))).toMatchObject({ code: 'store_unavailable' });
});
