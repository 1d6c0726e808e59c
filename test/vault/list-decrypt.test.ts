import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Tree, TreeItem } from '../../sdk/index.ts';
import { type AccountClient, type Answer, basicAuth, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { holdNext } from '../helpers/hold.ts';
import { openTestVault } from '../helpers/vault.ts';

const ITEMS = 300;

const vault = await openTestVault();
const account = await vault.account();
await Promise.all([account.key('u'), account.key('empty')]);
const numbers = Array.from({ length: ITEMS }, (_, n) => n);
const tokens = await Promise.all(
  numbers.map((n) =>
    account.store(
      'u',
      { number: `41111111${n}`, cvv: `${n}` },
      { reference: n % 2 ? `odd-${n}` : undefined },
    ),
  ),
);
afterAll(() => vault.close());

function all(query: Query = {}, passphrase = PASSPHRASE, client = account): Promise<Answer> {
  return client.send('GET', '/vault', {
    query: { user: 'u', decrypt_all: true, limit: -1, ...query },
    passphrase,
  });
}
function itemsOf(answer: Answer, user = 'u'): TreeItem[] {
  return answer.as<Tree>()[user] ?? [];
}

describe('decrypt_all', () => {
  test('is the listing with the data of each item', async () => {
    const opened = itemsOf(await all());
    const listed = (await account.sdk.vault.list({ user: 'u', limit: -1 })).data['u'] ?? [];
    expect(opened.map(({ data: _, ...item }) => item)).toEqual(listed);
    const byToken = new Map(opened.map((item) => [item.token, item.data]));
    for (const [n, token] of tokens.entries()) {
      expect(byToken.get(token)).toEqual({ number: `41111111${n}`, cvv: `${n}` });
    }
  });

  test('the SDK yields item by item', async () => {
    const opened = await Array.fromAsync(account.sdk.vault.decryptAll({ user: 'u' }));
    expect(opened.map(({ token }) => token)).toEqual(itemsOf(await all()).map(({ token }) => token));
    const paged = await Array.fromAsync(account.sdk.vault.decryptAll({ user: 'u', limit: 70 }));
    expect(paged).toEqual(opened);
  });

  test('takes limits, filters and pages as the listing does', async () => {
    const first = await all({ limit: 100 });
    const second = await all({ limit: 100, next_token: first.headers.get('x-vault-next-token') ?? '' });
    const rest = await all({ limit: -1, next_token: second.headers.get('x-vault-next-token') ?? '' });
    expect(rest.headers.has('x-vault-next-token')).toBe(false);
    expect([first, second, rest].flatMap((answer) => itemsOf(answer))).toEqual(itemsOf(await all()));
    expect(itemsOf(await all({ reference: 'odd-7' })).map(({ data }) => data)).toEqual([
      { number: '411111117', cvv: '7' },
    ]);
    expect(itemsOf(await all({ reference_prefix: 'odd-1' }))).toHaveLength(1 + 5 + 50);
    expect(itemsOf(await all({ stored_before: '2020-01-01T00:00:00Z' }))).toEqual([]);
  });

  test('of nothing is an empty list', async () => {
    expect((await all({ user: 'empty' })).text).toBe('{"empty":[]}');
    expect((await all({ reference: 'nothing' })).text).toBe('{"u":[]}');
  });
});

describe('what it needs', () => {
  test('the identifier of the key, and its passphrase', async () => {
    const noUser = await account.send('GET', '/vault', {
      query: { decrypt_all: true },
      passphrase: PASSPHRASE,
    });
    expect([noUser.outcome, noUser.field]).toEqual(['400 invalid_request', 'query.key']);
    const noPassphrase = await account.send('GET', '/vault', { query: { decrypt_all: true, user: 'u' } });
    expect([noPassphrase.outcome, noPassphrase.field]).toEqual(['400 invalid_request', 'query.passphrase']);
    const oneToken = await account.send('GET', '/vault', {
      query: { decrypt_all: true, user: 'u', token: tokens[0] },
    });
    expect(oneToken.status).toBe(400);
    expect((await account.send('GET', '/vault', { query: { decrypt_all: 'yes', user: 'u' } })).field).toBe(
      'query.decrypt_all',
    );
  });

  test('the right one, even where there is nothing to open', async () => {
    for (const query of [{}, { reference: 'nothing' }, { user: 'empty' }]) {
      expect((await all(query, 'not the passphrase of it')).outcome).toBe('403 passphrase_wrong');
    }
    expect((await all({ user: 'nobody' })).outcome).toBe('404 key_not_found');
  });
});

describe('what it leaves behind', () => {
  test('a log entry and a counted decryption for each item that was shown, and for no other', async () => {
    const client = await vault.account();
    await client.key('u');
    const stored = await Promise.all(
      Array.from({ length: 90 }, (_, n) =>
        client.store('u', { number: `${n}` }, { reference: n < 30 ? 'r' : undefined }),
      ),
    );
    const entries = async (at: number): Promise<string[]> => {
      const query = { user: 'u', token: stored[at] ?? '', ...(at < 30 ? { reference: 'r' } : {}) };
      return (await client.sdk.vault.log(query)).data.map(({ action, source }) => `${action} ${source}`);
    };
    await all({}, PASSPHRASE, client);
    expect((await vault.usage(client))['decrypt']).toBe(90);
    await all({ reference: 'r' }, PASSPHRASE, client);
    expect((await vault.usage(client))['decrypt']).toBe(120);
    await all({ limit: 10 }, PASSPHRASE, client);
    expect((await vault.usage(client))['decrypt']).toBe(130);
    expect((await vault.usage(client))['list'] ?? 0).toBe(0);
    expect(await entries(89)).toEqual(['decrypt vault', 'encrypt vault']);
    const first = await entries(0);
    expect(first.at(-1)).toBe('encrypt vault');
    expect(first.slice(0, -1).every((entry) => entry === 'decrypt vault')).toBe(true);
    const total = await Promise.all(stored.map((_, at) => entries(at)));
    expect(total.flat()).toHaveLength(90 + 130);
  });

  test('nothing when it was refused', async () => {
    const before = (await vault.usage(account))['decrypt'];
    await all({}, 'not the passphrase of it');
    await all({ rules: 'unknown' });
    await all({ limit: 0 });
    expect((await vault.usage(account))['decrypt']).toBe(before);
  });
});

describe('while things change', () => {
  // Five pages of 32 items and more.
  const MANY = 520;
  let client: AccountClient;
  let passphrase = PASSPHRASE;
  let stored: string[];

  const newClient = async (items = MANY) => {
    const made = await vault.account();
    await made.key('u');
    const bodies = Array.from({ length: items }, (_, n) => ({ number: `${n}`, text: 'old' }));
    return { made, tokens: await Promise.all(bodies.map((body) => made.store('u', body))) };
  };
  beforeAll(async () => {
    ({ made: client, tokens: stored } = await newClient());
  });

  /** Stops the reading of the last page, when the first one is on its way. */
  const holdLastPage = () => {
    const { itemStore } = vault.opened.stores;
    return holdNext(itemStore, 'readMany', { skip: 3 });
  };
  const changePassphrase = async (): Promise<void> => {
    const change = { user: 'u', passphrase, new_passphrase: `${passphrase} and more` };
    expect((await client.send('PUT', '/key', { body: change })).status).toBe(200);
    passphrase = change.new_passphrase;
  };
  const beginReply = async () => {
    const authorization = basicAuth(client.name, client.password);
    const headers = { authorization, 'x-vault-passphrase': encodeURIComponent(passphrase) };
    const url = 'http://localhost/v1/vault?user=u&decrypt_all=t';
    const response = await vault.handle(new Request(url, { headers }));
    expect(response.status).toBe(200);
    const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
    let text = new TextDecoder().decode((await reader.read()).value);
    const readOn = async (): Promise<string> => {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) {
          return 'ended';
        }
        text += new TextDecoder().decode(value);
      }
    };
    return { text: () => text, end: () => readOn().catch(() => 'broke off') };
  };

  test('items that are updated on the way are shown whole, and none is missing', async () => {
    const held = holdLastPage();
    const opening = all({}, passphrase, client);
    await held.reached;
    await Promise.all(
      stored.map((token) =>
        client.sdkWith({ passphrase }).vault.update({ user: 'u', token, data: { text: 'new' } }),
      ),
    );
    held.release();
    const shown = itemsOf(await opening);
    expect([...new Set(shown.map(({ token }) => token))].sort()).toEqual(stored.toSorted());
    for (const texts of Map.groupBy(shown, ({ token }) => token).values()) {
      // An updated one may come twice: where it was, and where it is now.
      expect(['new', 'old', 'old new', 'new new']).toContain(
        texts.map(({ data }) => String(data?.['text'])).join(' '),
      );
    }
  });

  test('items that are deleted on the way are left out, all others are there', async () => {
    const held = holdLastPage();
    const opening = all({}, passphrase, client);
    await held.reached;
    const gone = new Set(stored.filter((_, n) => n % 10 === 0));
    await Promise.all([...gone].map((token) => client.sdk.vault.delete({ user: 'u', token })));
    held.release();
    const shown = itemsOf(await opening).map(({ token }) => token);
    stored = stored.filter((token) => !gone.has(token));
    expect(stored.filter((token) => !shown.includes(token))).toEqual([]);
    expect(shown.length).toBe(new Set(shown).size);
    expect(
      itemsOf(await all({}, passphrase, client))
        .map(({ token }) => token)
        .sort(),
    ).toEqual(stored.toSorted());
  });

  test('an item that is damaged ends the reply', async () => {
    const { itemStore } = vault.opened.stores;
    const { made } = await newClient(4);
    const flip = (replies: Uint8Array): Uint8Array => {
      const mixed = new Uint8Array(replies);
      mixed[200] = (mixed[200] ?? 0) ^ 1;
      return mixed;
    };
    const readMany = itemStore.readMany.bind(itemStore);
    itemStore.readMany = async (...given) => (await readMany(...given))?.map(flip);
    const before = (await vault.usage(made))['decrypt'];
    expect((await all({}, PASSPHRASE, made)).outcome).toBe('500 integrity_failed');
    expect((await vault.usage(made))['decrypt']).toBe(before);
    itemStore.readMany = readMany;
  });

  test('a passphrase change ends the reply, which is then no valid JSON', async () => {
    const held = holdLastPage();
    const reply = await beginReply();
    const end = reply.end();
    await held.reached;
    await changePassphrase();
    held.release();
    expect(await end).toBe('broke off');
    expect(() => JSON.parse(reply.text())).toThrow();
    expect(vault.lines.some(({ event }) => event === 'reply_broken_off')).toBe(true);
  });
});
