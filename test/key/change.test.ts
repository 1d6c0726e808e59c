import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import { type AccountClient, type Answer, PASSPHRASE } from '../helpers/clients.ts';
import { failNext, holdNext } from '../helpers/hold.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const CARD = { card_number: '4111111111111111', cvv: '123' };
const NEW = 'the new passphrase of the key';

const vault = await openTestVault();
const account = await vault.account();
afterAll(() => vault.close());

function change(
  user: string,
  passphrase: string,
  new_passphrase?: string,
  client = account,
): Promise<Answer> {
  return client.send('PUT', '/key/', { body: { user, passphrase, new_passphrase } });
}
function store(user: string, passphrase: string, client = account): Promise<Answer> {
  return client.send('POST', '/vault', { query: { user }, passphrase, body: CARD });
}
function open(user: string, token: string, passphrase: string, client = account): Promise<Answer> {
  return client.send('GET', '/vault', { query: { user, token }, passphrase });
}

/** A key with one item, unlocked and so known to the server. */
async function warmKey(user: string): Promise<string> {
  await account.key(user);
  const token = await account.store(user, CARD);
  expect(await account.open(user, token)).toBe(JSON.stringify(CARD));
  return token;
}

describe('changing a passphrase', () => {
  test('stops the old one at once, for every use of the key', async () => {
    const user = 'stops';
    const token = await warmKey(user);
    expect((await change(user, PASSPHRASE, NEW)).json).toEqual({ user, passphrase: NEW });
    const attempts = [
      open(user, token, PASSPHRASE),
      store(user, PASSPHRASE),
      account.send('GET', '/vault', { query: { user, decrypt_all: true }, passphrase: PASSPHRASE }),
      account.send('POST', '/vault/update', {
        query: { user, token },
        passphrase: PASSPHRASE,
        body: { a: 1 },
      }),
      change(user, PASSPHRASE, 'yet another passphrase'),
    ];
    for (const attempt of await Promise.all(attempts)) {
      expect(attempt.outcome).toBe('403 passphrase_wrong');
    }
  });

  test('keeps what was stored before readable, under the same token, and lets it be updated', async () => {
    const user = 'keeps';
    const token = await warmKey(user);
    await change(user, PASSPHRASE, NEW);
    expect((await open(user, token, NEW)).text).toBe(JSON.stringify(CARD));
    const update = { query: { user, token }, passphrase: NEW, body: { holder: 'Ada' } };
    expect((await account.send('POST', '/vault/update', update)).outcome).toBe('200');
    expect((await open(user, token, NEW)).json).toEqual({ ...CARD, holder: 'Ada' });
    expect((await store(user, NEW)).as<{ token: string }>().token).toBe(token);
  });

  test('makes the new one when none is given', async () => {
    const user = 'makes';
    const token = await warmKey(user);
    const { passphrase } = await account.sdk.keys.changePassphrase({ user, passphrase: PASSPHRASE });
    expect(passphrase).toMatch(/^[A-Za-z0-9_-]{32,}$/);
    expect((await open(user, token, passphrase)).status).toBe(200);
    expect((await open(user, token, PASSPHRASE)).status).toBe(403);
  });

  test('wants the right old one, and changes nothing without it', async () => {
    const user = 'wrong-old';
    const token = await warmKey(user);
    expect((await change(user, 'not the passphrase at all', NEW)).outcome).toBe('403 passphrase_wrong');
    expect((await open(user, token, PASSPHRASE)).status).toBe(200);
    expect((await open(user, token, NEW)).status).toBe(403);
  });

  test('knows no key that is not there, nor one of another account', async () => {
    await account.key('mine');
    const nobody = await change('nobody', PASSPHRASE, NEW);
    expect([nobody.outcome, nobody.field]).toEqual(['404 key_not_found', 'body.user']);
    expect((await change('mine', PASSPHRASE, NEW, await vault.account())).outcome).toBe('404 key_not_found');
  });
});

test('two changes at once: one wins, and its passphrase is the one that opens', async () => {
  for (let round = 0; round < 2; round++) {
    const user = `two-${round}`;
    const token = await warmKey(user);
    const wanted = [`passphrase of the first ${round}`, `passphrase of the second ${round}`];
    const outcomes = (await Promise.all(wanted.map((next) => change(user, PASSPHRASE, next)))).map(
      ({ outcome }) => outcome,
    );
    const winner = outcomes.indexOf('200');
    expect(outcomes.filter((outcome) => outcome === '200')).toHaveLength(1);
    expect(['409 key_changed', '403 passphrase_wrong']).toContain(outcomes[1 - winner] ?? '');
    expect((await open(user, token, wanted[winner] ?? '')).status).toBe(200);
    expect((await open(user, token, wanted[1 - winner] ?? '')).status).toBe(403);
    expect((await open(user, token, PASSPHRASE)).status).toBe(403);
  }
});

describe('a change while requests are under way', () => {
  const begun = { passphrase: PASSPHRASE };
  let late = 0;

  test('a store and an update that began before it do not land after it, a decryption shows nothing', async () => {
    for (const [step, begin] of [
      ['write', (user) => account.send('POST', '/vault', { query: { user }, ...begun, body: { n: '55' } })],
      [
        'write',
        (user, token) =>
          account.send('POST', '/vault/update', { query: { user, token }, ...begun, body: { late: true } }),
      ],
      ['appendLog', (user, token) => open(user, token, PASSPHRASE)],
    ] as readonly (readonly ['write' | 'appendLog', (user: string, token: string) => Promise<Answer>])[]) {
      late += 1;
      const user = `late-${late}`;
      const token = await warmKey(user);
      const held = holdNext(vault.opened.stores.itemStore, step);
      const answer = begin(user, token);
      await held.reached;
      expect((await change(user, PASSPHRASE, NEW)).status).toBe(200);
      held.release();
      expect((await answer).outcome).toBe('403 passphrase_wrong');
      expect((await account.sdk.vault.list({ user })).data[user]).toHaveLength(1);
      expect((await open(user, token, NEW)).text).toBe(JSON.stringify(CARD));
    }
  });
});

describe('on two servers', () => {
  let second: TestVault;
  let there: AccountClient;
  beforeAll(async () => {
    second = await vault.secondServer();
    there = account.via(second.handle);
  });
  afterAll(() => second.close());

  type Use = (user: string, token: string, passphrase: string) => Promise<Answer>;
  const all = (user: string, passphrase: string, reference?: string): Promise<Answer> =>
    there.send('GET', '/vault', { query: { user, decrypt_all: true, reference }, passphrase });
  const uses: readonly (readonly [string, Use])[] = [
    ['store', (user, _, passphrase) => store(user, passphrase, there)],
    ['decrypt', (user, token, passphrase) => open(user, token, passphrase, there)],
    ['decrypt_all', (user, _, passphrase) => all(user, passphrase)],
    ['decrypt_all of nothing', (user, _, passphrase) => all(user, passphrase, 'none')],
    [
      'update',
      (user, token, passphrase) =>
        there.send('POST', '/vault/update', { query: { user, token }, passphrase, body: {} }),
    ],
    ['change', (user, _, passphrase) => change(user, passphrase, 'a next passphrase', there)],
  ];
  test.each(uses)(
    'the new passphrase opens on the other from its first use on, the old one nothing: %s',
    async (name, use) => {
      const user = `used-for-${name.replaceAll(' ', '-')}`;
      const token = await warmKey(user);
      expect((await open(user, token, PASSPHRASE, there)).status).toBe(200);
      expect((await change(user, PASSPHRASE, NEW)).status).toBe(200);
      expect((await use(user, token, PASSPHRASE)).outcome).toBe('403 passphrase_wrong');
      expect((await use(user, token, NEW)).outcome).toBe('200');
      // The other order, on a server that has heard of neither: the right one comes first.
      expect((await change(user, name === 'change' ? 'a next passphrase' : NEW, PASSPHRASE)).status).toBe(
        200,
      );
      expect((await use(user, token, PASSPHRASE)).outcome).toBe('200');
    },
  );
  test('what either acknowledged before and during a change is there after it', async () => {
    const user = 'under-load';
    await warmKey(user);
    const acknowledged: string[] = [];
    const write = async (client: AccountClient, writer: number): Promise<string> => {
      for (let n = 0; ; n++) {
        const body = { number: `${writer}-${n}` };
        const stored = await client.send('POST', '/vault', { query: { user }, passphrase: PASSPHRASE, body });
        if (stored.status !== 200) {
          return stored.outcome;
        }
        acknowledged.push(stored.as<{ token: string }>().token);
      }
    };
    const writers = [account, there, account, there].map(write);
    while (acknowledged.length < 40) {
      await Bun.sleep(1);
    }
    expect((await change(user, PASSPHRASE, NEW)).status).toBe(200);
    expect(await Promise.all(writers)).toEqual(Array(4).fill('403 passphrase_wrong'));
    const opened = await Array.fromAsync(there.sdk.vault.decryptAll({ user, passphrase: NEW }));
    const tokens = new Set(opened.map(({ token }) => token));
    expect(acknowledged.filter((token) => !tokens.has(token))).toEqual([]);
    expect(tokens.size).toBe(acknowledged.length + 1);
  });

  test('short passphrases, which are never kept, change everywhere at once as well', async () => {
    const user = 'short';
    await account.key(user, 'short-01');
    const { token } = (await store(user, 'short-01')).as<{ token: string }>();
    expect((await open(user, token, 'short-01', there)).status).toBe(200);
    expect((await change(user, 'short-01', 'short-02')).status).toBe(200);
    expect((await open(user, token, 'short-02', there)).outcome).toBe('200');
    expect((await open(user, token, 'short-01', there)).outcome).toBe('403 passphrase_wrong');
  });

  test('a change that falters behind its record is carried through, and the new passphrase is not lost', async () => {
    const user = 'broken-off';
    const token = await warmKey(user);
    failNext(vault.opened.stores.keyStore, 'moveFences', new VaultError('store_unavailable'));
    expect((await change(user, PASSPHRASE, NEW)).status).toBe(200);
    const statusesOn = async (client: AccountClient): Promise<number[]> => [
      (await open(user, token, PASSPHRASE, client)).status,
      (await open(user, token, NEW, client)).status,
    ];
    expect(await statusesOn(account)).toEqual([403, 200]);
    expect(await statusesOn(there)).toEqual([403, 200]);
  });
});
