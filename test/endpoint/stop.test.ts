import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, type Answer, type Handle, PASSPHRASE } from '../helpers/clients.ts';
import { capture, createCapture, createRetrieve, type MadeEndpoint, retrieve } from '../helpers/endpoints.ts';
import { failNext, holdNext } from '../helpers/hold.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { copyOf, putBack } from '../maintenance/copies.ts';
import { ended, GONE, KINDS, type Kind, kindOf, REFUSED, use } from './kinds.ts';

const NEW = 'the new passphrase of the key';
const NONE = { url: '', secret: '' };
const REPEATED = { body: { number: '7' }, idempotencyKey: 'repeated' };

let vault: TestVault;
let second: TestVault;
let account: AccountClient;
let there: AccountClient;
let servers: readonly Handle[];

beforeAll(async () => {
  vault = await openTestVault();
  second = await vault.secondServer();
  account = await vault.account();
  there = account.via(second.handle);
  servers = [vault.handle, second.handle];
});
afterAll(async () => {
  await second.close();
  await vault.close();
});

function change(
  user: string,
  client = account,
  passphrase = PASSPHRASE,
  new_passphrase = NEW,
): Promise<Answer> {
  return client.send('PUT', '/key/', { body: { user, passphrase, new_passphrase } });
}
function create(
  kind: Kind,
  user: string,
  unique_id: string,
  client = account,
  passphrase = PASSPHRASE,
): Promise<Answer> {
  return client.send('POST', `/${kind}`, { query: { user, unique_id }, passphrase });
}
async function outcomeIn(reply: Promise<Answer>): Promise<string> {
  return (await ended(reply)).outcome;
}
/** The simplest use of an endpoint of either kind. */
function outcomeOf(server: Handle, made: MadeEndpoint, secret = made.secret): Promise<string> {
  return outcomeIn(use(server, { ...made, secret }));
}
/** Every way to use an endpoint, one after another, on one server. */
async function useInAllWays(server: Handle, made: MadeEndpoint, token: string): Promise<string[]> {
  const ways =
    kindOf(made) === 'capture'
      ? [
          () => capture(server, made, { body: { number: '1' } }),
          () => capture(server, made, { body: { number: '2' }, query: { algorithm: 'uuid' } }),
        ]
      : [
          () => retrieve(server, made, { query: { token } }),
          () => retrieve(server, made),
          () => retrieve(server, made, { query: { limit: -1 } }),
          () => retrieve(server, made, { query: { decrypt_all: true } }),
        ];
  const outcomes: string[] = [];
  for (const way of ways) {
    outcomes.push(await outcomeIn(way()));
  }
  return outcomes;
}
/** Where an id still stands: its record, the directory, and the live ones of any key. */
async function tracesOf(id: string, client = account): Promise<string[]> {
  const traces = (await vault.raw.exists(redisKeys.endpoint(id))) === 1 ? ['record'] : [];
  for (const name of [redisKeys.endpointDirectory(client.aid), ...(await vault.raw.keys('{a:*}l:*'))]) {
    const members = await vault.raw.zrange(name, '0', '-1');
    traces.push(...members.filter((member) => member.endsWith(` ${id}`)).map(() => name));
  }
  return traces;
}
async function wrapsOf(ids: readonly string[]): Promise<string[]> {
  const kept = await Promise.all(ids.map((id) => vault.raw.hexists(redisKeys.endpoint(id), 'w')));
  return ids.filter((_, i) => kept[i] === 1);
}

describe('a hundred endpoints in use while the passphrase changes', () => {
  const EACH = 50;
  const CLIENTS_EACH = 10;
  /** Uses that each client begins after the change was answered: 500 on either server. */
  const LATE_EACH = 50;
  const user = 'busy';
  let token: string;
  let made: MadeEndpoint[];
  let answered = false;
  const captured: string[] = [];
  const early: string[] = [];
  const late: string[] = [];

  const useAs = async (server: Handle, client: number, n: number): Promise<string> => {
    const endpoint = made[(client * 7 + n) % made.length];
    if (!endpoint) {
      throw new RangeError('no endpoint');
    }
    if (kindOf(endpoint) === 'retrieve') {
      const queries = [{ token }, { decrypt_all: true, reference: 'only' }, { limit: 3 }];
      return outcomeIn(retrieve(server, endpoint, { query: queries[n % 3] ?? {} }));
    }
    const own = { body: { number: `${client}000${n}` } };
    const answer = await capture(server, endpoint, n % 4 === 0 ? REPEATED : own);
    if (answer.status === 200 && n % 4 !== 0) {
      captured.push(answer.as<{ token: string }>().token);
    }
    return answer.outcome;
  };
  const runClient = async (server: Handle, client: number): Promise<void> => {
    let left = LATE_EACH;
    for (let n = 0; left > 0; n++) {
      const isLate = answered;
      (isLate ? late : early).push(await useAs(server, client, n));
      left -= isLate ? 1 : 0;
    }
  };

  beforeAll(async () => {
    await account.key(user);
    token = await account.store(user, { number: '4111111111111111' }, { reference: 'only' });
    const makers = [createCapture, createRetrieve].flatMap((make) =>
      Array.from({ length: EACH }, (_, n) =>
        make(n % 2 === 0 ? account : there, user, make === createRetrieve ? { reference: 'only' } : {}),
      ),
    );
    made = await Promise.all(makers);
    const clients = servers.flatMap((server, s) =>
      Array.from({ length: CLIENTS_EACH }, (_, n) => runClient(server, s * CLIENTS_EACH + n)),
    );
    while (early.length < 500) {
      await new Promise(setImmediate);
    }
    expect((await change(user)).outcome).toBe('200');
    answered = true;
    await Promise.all(clients);
  }, 60_000);

  test('all of them worked before it', () => {
    // Those that were under way at the change may have ended in any of these ways.
    const meant = ['200', GONE, 'broke off', '409 key_changed', '409 idempotency_conflict'];
    expect(early.filter((outcome) => !meant.includes(outcome))).toEqual([]);
    expect(early.filter((outcome) => outcome === '200').length).toBeGreaterThan(400);
  });

  test('not one use that began after the answer succeeds, on either server', () => {
    expect(late.length).toBe(2 * CLIENTS_EACH * LATE_EACH);
    expect([...new Set(late)]).toEqual([GONE]);
  });

  test('each of them is gone for its secret, and refused for any other', async () => {
    const wrong = new Map(KINDS.map((kind) => [kind, made.find((one) => kindOf(one) === kind)?.secret]));
    for (const server of servers) {
      const right = await Promise.all(made.map((endpoint) => outcomeOf(server, endpoint)));
      expect(right.filter((outcome) => outcome !== GONE)).toEqual([]);
      const others = made.filter(({ secret }) => ![...wrong.values()].includes(secret));
      const refused = await Promise.all(others.map((one) => outcomeOf(server, one, wrong.get(kindOf(one)))));
      expect(refused.length).toBe(2 * EACH - 2);
      expect(refused.filter((outcome) => outcome !== REFUSED)).toEqual([]);
    }
  });

  test('no record of them has a wrap any more, and none counts as live', async () => {
    expect(await wrapsOf(made.map(({ unique_id }) => unique_id))).toEqual([]);
    const live = redisKeys.liveEndpoints(account.aid, await vault.kidOf(account, user));
    expect(await vault.raw.zcard(live)).toBe(0);
  });

  test('every capture that was acknowledged opens with the new passphrase', async () => {
    const opened = await Array.fromAsync(there.sdk.vault.decryptAll({ user, passphrase: NEW }));
    const tokens = new Set(opened.map((item) => item.token));
    expect(captured.length).toBeGreaterThan(50);
    expect(captured.filter((one) => !tokens.has(one))).toEqual([]);
  });

  test('endpoints made after it work, on both servers', async () => {
    for (const client of [account, there]) {
      const [taking, giving] = await Promise.all([
        createCapture(client, user, {}, NEW),
        createRetrieve(client, user, {}, NEW),
      ]);
      for (const server of servers) {
        expect(await outcomeOf(server, taking)).toBe('200');
        expect((await retrieve(server, giving, { query: { token, reference: 'only' } })).json).toEqual({
          number: '4111111111111111',
        });
      }
      for (const { url } of [taking, giving]) {
        expect((await client.send('DELETE', url.replace('/v1', ''))).outcome).toBe('200');
      }
    }
  });
});

describe('old records put back after a passphrase change', () => {
  let user: string;
  let rounds = 0;
  const SINCE = 'stored since the change';
  let before: Awaited<ReturnType<typeof copyOf>>;
  let keyBefore: Awaited<ReturnType<typeof copyOf>>;
  let made: MadeEndpoint[];
  let since: string[];

  beforeEach(async () => {
    rounds += 1;
    user = `put-back-${rounds}`;
    await account.key(user);
    const updated = await account.store(user, { number: '10', note: 'from before' });
    made = [await createCapture(account, user), await createRetrieve(account, user)];
    for (const server of servers) {
      for (const endpoint of made) {
        expect(await useInAllWays(server, endpoint, updated)).not.toContain(GONE);
      }
    }
    expect((await capture(vault, made[0] ?? NONE, REPEATED)).outcome).toBe('200');
    before = await copyOf(vault.raw, ...made.map(({ unique_id }) => redisKeys.endpoint(unique_id)));
    keyBefore = await copyOf(vault.raw, redisKeys.keyRecord(account.aid, user));
    expect((await change(user)).outcome).toBe('200');
    const client = account.sdkWith({ passphrase: NEW });
    since = [(await client.vault.store({ user, data: { number: '11', note: SINCE } })).token, updated];
    await client.vault.update({ user, token: updated, data: { note: SINCE } });
    const fresh = await createCapture(account, user, {}, NEW);
    since.push(
      (await capture(vault, fresh, { body: { number: '12', note: SINCE }, query: { reference: 'r' } })).as<{
        token: string;
      }>().token,
    );
  });

  test('endpoints alone: every use is still refused', async () => {
    await putBack(vault.raw, before);
    for (const server of servers) {
      for (const endpoint of made) {
        const outcomes = await useInAllWays(server, endpoint, since[1] ?? '');
        expect(outcomes.filter((outcome) => outcome !== GONE)).toEqual([]);
      }
      // So is a repeat of what one has answered before.
      expect(await outcomeIn(capture(server, made[0] ?? NONE, REPEATED))).toBe(GONE);
    }
  });

  test('with the key’s record: nothing of what was stored or updated since comes out', async () => {
    await putBack(vault.raw, before, keyBefore);
    const fresh = await vault.secondServer();
    try {
      for (const server of [...servers, fresh.handle]) {
        for (const token of since) {
          for (const reference of [undefined, 'r']) {
            const answer = await retrieve(server, made[1] ?? NONE, {
              query: { token, reference },
            });
            expect([answer.status === 200, answer.text.includes(SINCE)]).toEqual([false, false]);
          }
        }
        const all = await retrieve(server, made[1] ?? NONE, {
          query: { decrypt_all: true },
        })
          .then(({ text }) => text)
          .catch(() => '');
        expect(all).not.toContain(SINCE);
      }
      const opening = { query: { user, token: since[0] }, passphrase: PASSPHRASE };
      const old = await account.via(fresh.handle).send('GET', '/vault', opening);
      expect([old.status === 200, old.text.includes(SINCE)]).toEqual([false, false]);
    } finally {
      await fresh.close();
    }
  });
});

describe('a creation while the passphrase changes', () => {
  const steps = KINDS.flatMap((kind) =>
    (['reserve', 'enter', 'commit'] as const).map((step) => [kind, step] as const),
  );
  test.each(steps)('of a %s endpoint, come as far as %s, makes none and leaks no id', async (kind, step) => {
    const [user, id] = [`race-${kind}-${step}`, `id-${kind}-${step}`];
    await account.key(user);
    const held = holdNext(vault.opened.stores.endpointStore, step);
    const creating = create(kind, user, id);
    await held.reached;
    expect((await change(user, there)).outcome).toBe('200');
    held.release();
    expect((await creating).outcome).toBe('409 key_changed');
    expect(await tracesOf(id)).toEqual([]);
    const again = await create(kind, user, id, there, NEW);
    expect(again.outcome).toBe('200');
    expect(await outcomeOf(vault.handle, again.as<MadeEndpoint>())).toBe('200');
  });

  test('makes no endpoint of the old generation that lives, however they meet', async () => {
    for (let round = 0; round < 2; round++) {
      const user = `free-race-${round}`;
      await account.key(user);
      const made: MadeEndpoint[] = [];
      const refused: string[] = [];
      const makeUntilRefused = async (client: AccountClient, maker: number): Promise<string> => {
        for (let n = 0; ; n++) {
          const id = `free-${round}-${maker}-${n}`;
          const answer = await create(KINDS[n % 2] ?? 'capture', user, id, client);
          if (answer.status !== 200) {
            refused.push(id);
            return answer.outcome;
          }
          made.push(answer.as<MadeEndpoint>());
        }
      };
      const makers = [account, there, account, there].map(makeUntilRefused);
      while (made.length < 20) {
        await new Promise(setImmediate);
      }
      expect((await change(user, round % 2 === 0 ? account : there)).outcome).toBe('200');
      for (const outcome of await Promise.all(makers)) {
        expect(['409 key_changed', '403 passphrase_wrong']).toContain(outcome);
      }
      expect(await wrapsOf(made.map(({ unique_id }) => unique_id))).toEqual([]);
      expect(await Promise.all(refused.map((id) => tracesOf(id)))).toEqual(refused.map(() => []));
      const uses = await Promise.all(
        made.map((endpoint, n) => outcomeOf(servers[n % 2] ?? vault.handle, endpoint)),
      );
      expect(uses.filter((outcome) => outcome !== GONE)).toEqual([]);
    }
  });
});

describe('a passphrase change that was interrupted', () => {
  const broken = [
    ['keyStore', 'moveFences'],
    ['endpointStore', 'stopBefore'],
  ] as const;

  test.each(broken)('before %s.%s is finished by the next unlock, on any server', async (store, step) => {
    const user = `cut-${step}`;
    await account.key(user);
    const token = await account.store(user, { number: '5' });
    const made = [await createCapture(account, user), await createRetrieve(there, user)];
    const { keyStore, endpointStore } = vault.opened.stores;
    const held =
      store === 'keyStore' ? holdNext(keyStore, 'moveFences') : holdNext(endpointStore, 'stopBefore');
    const changing = change(user);
    await held.reached;
    const opened = await there.send('GET', '/vault', { query: { user, token }, passphrase: NEW });
    expect(opened.outcome).toBe('200');
    for (const server of servers) {
      for (const endpoint of made) {
        expect(new Set(await useInAllWays(server, endpoint, token))).toEqual(new Set([GONE]));
      }
    }
    expect(await wrapsOf(made.map(({ unique_id }) => unique_id))).toEqual([]);
    held.release();
    expect((await changing).outcome).toBe('200');
  });

  test('by a step that failed is carried through before it is answered', async () => {
    const user = 'failed-stop';
    await account.key(user);
    const made = [await createCapture(account, user), await createRetrieve(there, user)];
    failNext(vault.opened.stores.endpointStore, 'stopBefore', new VaultError('store_unavailable'));
    expect((await change(user)).outcome).toBe('200');
    expect(await wrapsOf(made.map(({ unique_id }) => unique_id))).toEqual([]);
    expect(await Promise.all(made.map((endpoint) => outcomeOf(second.handle, endpoint)))).toEqual([
      GONE,
      GONE,
    ]);
  });
});
