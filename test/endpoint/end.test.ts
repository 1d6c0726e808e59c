import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, type Answer, type Handle, PASSPHRASE } from '../helpers/clients.ts';
import {
  capture,
  createCapture,
  createRetrieve,
  type MadeEndpoint,
  retrieve,
  useEndpoint,
} from '../helpers/endpoints.ts';
import { holdNext } from '../helpers/hold.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { type Copy, copyOf, putBack } from '../maintenance/copies.ts';
import { changePassphrase, GONE, KINDS, REFUSED } from './kinds.ts';

const DAY = 86_400_000;
const DATA = 'data of the key';
const NEW = 'the new passphrase of the key';

let now = Date.now();
let vault: TestVault;
let second: TestVault;
let account: AccountClient;
let servers: readonly Handle[];

beforeAll(async () => {
  vault = await openTestVault({ now: () => now });
  second = await vault.secondServer();
  account = await vault.account();
  servers = [vault.handle, second.handle];
});
afterAll(async () => {
  await second.close();
  await vault.close();
});

function remove(user: string, safe: boolean, client = account): Promise<Answer> {
  return client.send('DELETE', '/key/', { query: { user, safe } });
}

/** A key with an item and an endpoint of either kind, all of them in use on both servers. */
interface Equipped {
  readonly user: string;
  readonly kid: string;
  readonly token: string;
  readonly taking: MadeEndpoint;
  readonly giving: MadeEndpoint;
  readonly ids: readonly string[];
}
async function usesOf(server: Handle, { taking, giving, token }: Equipped): Promise<Answer[]> {
  return [
    await capture(server, taking, { body: { number: '77', note: DATA } }),
    await useEndpoint(server, 'GET', taking.url, { secret: taking.secret }),
    await retrieve(server, giving, { query: { token } }),
    await retrieve(server, giving),
    await retrieve(server, giving, { query: { decrypt_all: true } }),
  ];
}
async function equip(user: string, client = account): Promise<Equipped> {
  await client.key(user);
  const token = await client.store(user, { number: '4111111111111111', note: DATA });
  const [taking, giving] = await Promise.all([createCapture(client, user), createRetrieve(client, user)]);
  const made = {
    user,
    kid: await vault.kidOf(client, user),
    token,
    taking,
    giving,
    ids: [taking.unique_id, giving.unique_id],
  };
  for (const server of servers) {
    expect((await usesOf(server, made)).map(({ outcome }) => outcome)).toEqual(Array(5).fill('200'));
  }
  return made;
}
function recordsOf({ ids }: Equipped): Promise<Copy> {
  return copyOf(vault.raw, ...ids.map(redisKeys.endpoint));
}
/** That no use of the endpoints does anything any more, on either server. */
async function expectEnded(made: Equipped, allowed: readonly string[]): Promise<void> {
  const items = await vault.raw.keys(`{${made.kid}.*}i*`);
  for (const server of servers) {
    for (const { outcome, text } of await usesOf(server, made)) {
      expect(allowed).toContain(outcome);
      expect(text).not.toContain(DATA);
    }
  }
  expect((await vault.raw.keys(`{${made.kid}.*}i*`)).length).toBeLessThanOrEqual(items.length);
}
async function directoryOf({ aid }: AccountClient, { kid }: Equipped): Promise<string[]> {
  return [
    ...(await vault.raw.zrange(redisKeys.endpointDirectory(aid), '0', '-1')).filter((entry) =>
      entry.startsWith(`${kid} `),
    ),
    ...(await vault.raw.keys(redisKeys.liveEndpoints(aid, kid))),
  ];
}

describe('deleting a key', () => {
  test('ends its endpoints, removes their records, and frees their ids for anybody', async () => {
    const made = await equip('deleted');
    expect((await remove('deleted', false)).outcome).toBe('200');
    await expectEnded(made, [REFUSED]);
    expect((await recordsOf(made)).size).toBe(0);
    expect(await directoryOf(account, made)).toEqual([]);
    const stranger = await vault.account();
    await stranger.key('theirs');
    const [taken, given] = made.ids;
    const taking = await createCapture(stranger, 'theirs', { unique_id: taken });
    const giving = await createRetrieve(stranger, 'theirs', { unique_id: given });
    await expectEnded(made, [REFUSED]);
    expect((await capture(second, taking, { body: { number: '1' } })).outcome).toBe('200');
    expect((await retrieve(second, giving)).outcome).toBe('200');
  });

  test('safely ends the endpoints of a key without items as well', async () => {
    const made = await equip('empty');
    const { data } = await account.sdk.vault.list({ user: 'empty' });
    for (const { token, reference } of data['empty'] ?? []) {
      await account.send('DELETE', '/vault', { query: { user: 'empty', token, reference } });
    }
    expect((await remove('empty', true)).outcome).toBe('200');
    expect((await recordsOf(made)).size).toBe(0);
    expect(await directoryOf(account, made)).toEqual([]);
    await expectEnded(made, [REFUSED]);
  });

  test('that is refused, since it holds data, leaves its endpoints as they were', async () => {
    const made = await equip('kept');
    const records = await recordsOf(made);
    expect((await remove('kept', true)).outcome).toBe('409 key_not_empty');
    expect(await recordsOf(made)).toEqual(records);
    for (const server of servers) {
      expect((await usesOf(server, made)).map(({ outcome }) => outcome)).toEqual(Array(5).fill('200'));
    }
  });

  test('with uses that wait for a deletion that is then refused: they go on', async () => {
    const made = await equip('waits');
    const held = holdNext(vault.opened.stores.keyStore, 'reopen');
    const removing = remove('waits', true);
    await held.reached;
    const uses = [
      capture(second, made.taking, { body: { number: '5' } }),
      retrieve(second, made.giving, { query: { token: made.token } }),
    ];
    held.release();
    expect((await removing).outcome).toBe('409 key_not_empty');
    expect((await Promise.all(uses)).map(({ outcome }) => outcome)).toEqual(['200', '200']);
  });

  test('ends a use that began before it', async () => {
    const made = await equip('late');
    const writing = holdNext(second.opened.stores.itemStore, 'write');
    const capturing = capture(second, made.taking, { body: { number: '9', note: DATA } });
    await writing.reached;
    const logging = holdNext(second.opened.stores.itemStore, 'appendLog');
    const reading = retrieve(second, made.giving, { query: { token: made.token } });
    await logging.reached;
    expect((await remove('late', false)).outcome).toBe('200');
    writing.release();
    logging.release();
    for (const answer of await Promise.all([capturing, reading])) {
      expect(answer.outcome).toBe(GONE);
      expect(answer.text).not.toContain(DATA);
    }
    expect(await vault.raw.keys(`{${made.kid}.*}i*`)).toEqual([]);
  });

  test('safely, and capturing at once: no acknowledged item loses its key', async () => {
    for (let round = 0; round < 12; round++) {
      const user = `safe-race-${round}`;
      await account.key(user);
      const taking = await createCapture(account, user);
      const captures = servers.map(async (server, s) => {
        for (let ticks = 0; ticks < (round * (s + 3)) % 11; ticks++) {
          await new Promise(setImmediate);
        }
        return capture(server, taking, { body: { number: `3${s}` } });
      });
      const [removed, ...captured] = await Promise.all([remove(user, true), ...captures]);
      const outcomes = captured.map(({ outcome }) => outcome);
      if (removed?.outcome === '200') {
        expect(outcomes.filter((outcome) => outcome !== GONE && outcome !== REFUSED)).toEqual([]);
      } else {
        expect([removed?.outcome, ...outcomes]).toEqual(['409 key_not_empty', '200', '200']);
        for (const answer of captured) {
          const { token, reference } = answer.as<{ token: string; reference: string }>();
          expect(await account.open(user, token, { reference })).toStartWith('{"number":"3');
        }
      }
    }
  });

  test('that was interrupted behind its record leaves no endpoint in use, also when its closing has run out', async () => {
    const made = await equip('cut-off');
    const held = holdNext(vault.opened.stores.endpointStore, 'removeOfKey');
    const removing = remove('cut-off', false);
    await held.reached;
    for (const fence of await vault.raw.keys(`{${made.kid}.*}f`)) {
      await vault.raw.hset(fence, 'c', Date.now() - 1);
    }
    const outcomes = (await usesOf(second.handle, made)).map(({ outcome }) => outcome);
    held.release();
    expect((await removing).outcome).toBe('200');
    expect(outcomes).toEqual(Array(5).fill(GONE));
  });

  test.each(['reserve', 'enter', 'commit'] as const)(
    'while an endpoint is being made, come as far as %s, leaves none and no trace of its id',
    async (step) => {
      const user = `made-${step}`;
      await account.key(user);
      const kid = await vault.kidOf(account, user);
      const held = holdNext(vault.opened.stores.endpointStore, step);
      const query = { user, unique_id: `made-${step}` };
      const making = account.send('POST', '/capture', { query, passphrase: PASSPHRASE });
      await held.reached;
      expect((await remove(user, true)).outcome).toBe('200');
      await account.key(user);
      held.release();
      expect(['409 key_changed', '404 key_not_found']).toContain((await making).outcome);
      expect(await vault.raw.exists(redisKeys.endpoint(`made-${step}`))).toBe(0);
      expect(await vault.raw.exists(redisKeys.liveEndpoints(account.aid, kid))).toBe(0);
      const again = await createCapture(account, user, { unique_id: `made-${step}` });
      expect((await capture(vault, again, { body: { number: '1' } })).outcome).toBe('200');
    },
  );
});

describe('an endpoint of a deleted key, put back', () => {
  test('shows nothing and stores nothing', async () => {
    const made = await equip('returned');
    const records = await recordsOf(made);
    const items = await copyOf(vault.raw, `{${made.kid}.*}[istr]*`);
    await remove('returned', false);
    await putBack(vault.raw, records);
    await expectEnded(made, [GONE]);
    await putBack(vault.raw, items);
    await expectEnded(made, [GONE]);
  });

  test('does not reach a key that was made anew under the same identifier and passphrase', async () => {
    const made = await equip('anew');
    const records = await recordsOf(made);
    await remove('anew', false);
    await account.key('anew');
    const fresh = await account.store('anew', { number: '4111111111111111', note: DATA });
    await putBack(vault.raw, records);
    await expectEnded(made, [GONE]);
    await expectEnded({ ...made, token: fresh }, [GONE]);
    const { data } = await account.sdk.vault.list({ user: 'anew' });
    expect(data['anew']?.map(({ token }) => token)).toEqual([fresh]);
  });

  test('is refused also when the marks of the deletion are gone', async () => {
    const made = await equip('forgotten');
    const records = await recordsOf(made);
    const items = await copyOf(vault.raw, `{${made.kid}.*}[istr]*`);
    await remove('forgotten', false);
    await vault.raw.del(...(await vault.raw.keys(`{${made.kid}.*}f`)));
    await putBack(vault.raw, records, items);
    await expectEnded(made, [GONE]);
  });
});

describe('deleting an account', () => {
  test('ends its endpoints, stopped ones too, with its rules, and nobody else’s', async () => {
    const [client, other] = [await vault.account(), await vault.account()];
    const theirs = await equip('same', other);
    const made = await equip('same', client);
    await client.send('POST', '/rule', { query: { id: 'r' }, body: [{ name: 'noop' }] });
    const stopped = await createCapture(client, 'same');
    const records = await recordsOf(made);
    expect((await changePassphrase(client, 'same', NEW)).outcome).toBe('200');
    const live = await createRetrieve(client, 'same', {}, NEW);
    await vault.opened.removeAccount(client.name);
    for (const id of [...made.ids, stopped.unique_id, live.unique_id]) {
      expect(await vault.raw.exists(redisKeys.endpoint(id))).toBe(0);
    }
    // All that is left is the security log.
    expect(await vault.raw.keys(`{a:${client.aid}}[erl]*`)).toEqual([redisKeys.auditChain(client.aid)]);
    await expectEnded(made, [REFUSED]);
    await putBack(vault.raw, records);
    await expectEnded(made, [GONE]);
    expect((await usesOf(second.handle, theirs)).map(({ outcome }) => outcome)).toEqual(Array(5).fill('200'));
  });
});

describe('many endpoints', () => {
  const COUNT = 1_100;
  const dummy = Buffer.alloc(64, 1);
  const enter = async (kid: string, gen: number): Promise<string[]> => {
    const { endpointStore } = vault.opened.stores;
    return Promise.all(
      Array.from({ length: COUNT }, async (_, n) => {
        const entry = { kid, kind: 'capture', nonce: `nonce-${n}`, id: `${kid}-${n}` } as const;
        await endpointStore.reserve(entry.id, entry.nonce);
        await endpointStore.enter(account.aid, entry, now, gen);
        const record = { nonce: entry.nonce, aid: account.aid, gen, policy: dummy, wrap: dummy };
        expect(await endpointStore.commit(entry.id, record)).toBe(true);
        return redisKeys.endpoint(entry.id);
      }),
    );
  };

  test('of a key are all stopped, but for those of the new generation', async () => {
    const { endpointStore } = vault.opened.stores;
    const names = await enter('many-stopped', 1);
    const entry = { kid: 'many-stopped', kind: 'retrieve', nonce: 'n', id: 'many-newer' } as const;
    await endpointStore.enter(account.aid, entry, now, 2);
    await endpointStore.stopBefore(account.aid, 'many-stopped', 2);
    const wraps = await Promise.all(names.map((name) => vault.raw.hexists(name, 'w')));
    expect(wraps.filter((has) => has === 1)).toEqual([]);
    const live = redisKeys.liveEndpoints(account.aid, 'many-stopped');
    expect(await vault.raw.zrange(live, '0', '-1')).toEqual(['many-stopped retrieve n many-newer']);
  });

  test('of a key are all removed', async () => {
    const names = await enter('many-removed', 1);
    await vault.opened.stores.endpointStore.removeOfKey(account.aid, 'many-removed');
    expect(await vault.raw.exists(...names)).toBe(0);
    expect(await vault.raw.exists(redisKeys.liveEndpoints(account.aid, 'many-removed'))).toBe(0);
  });
});

describe('the sweep', () => {
  test('takes a stopped endpoint a day later, also when its key is gone, and frees its id', async () => {
    const made = await equip('swept');
    expect((await changePassphrase(account, 'swept', NEW)).outcome).toBe('200');
    expect((await remove('swept', false)).outcome).toBe('200');
    await vault.opened.sweep();
    await expectEnded(made, [GONE, REFUSED]);
    now = Math.max(now, Date.now()) + DAY + 60_000;
    await vault.opened.sweep();
    expect((await recordsOf(made)).size).toBe(0);
    expect(await directoryOf(account, made)).toEqual([]);
    await expectEnded(made, [REFUSED]);
  });
});

describe('a passphrase that was changed at another server', () => {
  const change = async (user: string, new_passphrase: string): Promise<void> => {
    await account.key(user);
    await createCapture(account.via(second.handle), user);
    expect((await changePassphrase(account, user, new_passphrase)).outcome).toBe('200');
  };

  test.each(KINDS)('makes a %s endpoint there at once, and the old one none', async (kind) => {
    const create = (user: string, passphrase: string): Promise<Answer> =>
      account.via(second.handle).send('POST', `/${kind}`, { query: { user }, passphrase });
    await change(`new-${kind}`, NEW);
    expect((await create(`new-${kind}`, PASSPHRASE)).outcome).toBe('403 passphrase_wrong');
    expect((await create(`new-${kind}`, NEW)).outcome).toBe('200');
    await change(`same-${kind}`, PASSPHRASE);
    expect((await create(`same-${kind}`, PASSPHRASE)).outcome).toBe('200');
  });
});
