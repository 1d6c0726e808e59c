/** Exports that do not come to their end, and readers who do not read. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { VaultConnectionError } from '../../sdk/index.ts';
import { listen } from '../../server/http/listen/listen.ts';
import { createReader, type Reader } from '../helpers/age.ts';
import { type AccountClient, basicAuth, PASSPHRASE } from '../helpers/clients.ts';
import { holdNext } from '../helpers/hold.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const ITEMS = 160;
const ITEM_BYTES = 60_000;
/** A page aims at 1 MB. */
const PAGES = (ITEMS * ITEM_BYTES) / 1_048_576;
const NOTHING = { list: 0, open: 0 };

let vault: TestVault;
let account: AccountClient;
let ada: Reader;

beforeAll(async () => {
  vault = await openTestVault({ alone: true });
  ada = await createReader();
  account = await newAccount();
});
afterAll(async () => {
  ada.close();
  await vault.close();
});

/** An account with a key whose items are several pages. */
async function newAccount(): Promise<AccountClient> {
  const made = await vault.account();
  await made.key('u');
  for (let from = 0; from < ITEMS; from += 40) {
    const numbers = Array.from({ length: 40 }, (_, n) => from + n);
    await Promise.all(numbers.map((n) => made.store('u', { number: `${n}`, text: 'x'.repeat(ITEM_BYTES) })));
  }
  return made;
}

/** Begins an export, and reads its first piece. */
async function begin({ name, password } = account) {
  const response = await vault.handle(
    new Request('http://localhost/v1/vault/export', {
      method: 'POST',
      headers: {
        authorization: basicAuth(name, password),
        'x-vault-passphrase': encodeURIComponent(PASSPHRASE),
      },
      body: JSON.stringify({ user: 'u', recipients: [ada.recipient] }),
    }),
  );
  expect(response.status).toBe(200);
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
  const pieces = [(await reader.read()).value ?? new Uint8Array(0)];
  const readOn = async (): Promise<string> => {
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      pieces.push(step.value);
    }
    return 'ended';
  };
  return { reader, file: () => Buffer.concat(pieces), end: () => readOn().catch(() => 'broke off') };
}
function holdLastPage() {
  return holdNext(vault.opened.stores.itemStore, 'readMany', { skip: Math.floor(PAGES) - 2 });
}
function inFlight() {
  const { list, open } = vault.opened.services.limiter.stats();
  return { list: list.used, open: open.used };
}

describe.each([
  [
    'a change of the passphrase',
    (client: AccountClient) =>
      client.send('PUT', '/key', {
        body: { user: 'u', passphrase: PASSPHRASE, new_passphrase: 'another one for it' },
      }),
  ],
  [
    'a deletion of the key',
    (client: AccountClient) => client.send('DELETE', '/key', { query: { user: 'u', safe: false } }),
  ],
] as const)('%s', (_, change) => {
  test('breaks the file off: age rejects it, and it has no last line', async () => {
    const client = await newAccount();
    const held = holdLastPage();
    const { end, file } = await begin(client);
    const ended = end();
    await held.reached;
    expect((await change(client)).outcome).toBe('200');
    held.release();
    expect(await ended).toBe('broke off');
    const { code, text } = await ada.open(file());
    expect(code).not.toBe(0);
    expect(text.slice(0, 10)).toBe('{"token":"');
    expect(text.includes('"sha256"')).toBe(false);
    expect(vault.lines.some(({ event }) => event === 'reply_broken_off')).toBe(true);
    expect(inFlight()).toEqual(NOTHING);
  });
});

describe('over a socket', () => {
  let server: ReturnType<typeof listen>;
  beforeAll(() => {
    server = listen(vault.app, { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 30 });
  });
  afterAll(() => server.stop(true));

  function overSocket(client: AccountClient) {
    return client.sdkWith({ baseUrl: `http://127.0.0.1:${server.port}`, fetch: undefined, retries: 0 }).vault;
  }
  const request = () => ({ user: 'u', recipients: [ada.recipient], passphrase: PASSPHRASE });

  test('the SDK throws where the connection is aborted', async () => {
    const client = await newAccount();
    const held = holdLastPage();
    const stream = await overSocket(client).export(request());
    const read = (async (): Promise<unknown> => {
      for await (const piece of stream) {
        expect(piece.length).toBeGreaterThan(0);
      }
      return 'ended';
    })().catch((error: unknown) => error);
    await held.reached;
    await client.send('DELETE', '/key', { query: { user: 'u', safe: false } });
    held.release();
    expect(await read).toBeInstanceOf(VaultConnectionError);
  });

  test('a client that goes away ends the work, and gives its place back', async () => {
    const held = holdLastPage();
    const before = (await vault.usage(account))['decrypt'] ?? 0;
    const abort = new AbortController();
    const stream = await overSocket(account).export(request(), { signal: abort.signal });
    const read = new Response(stream).bytes().catch((error: unknown) => error);
    await held.reached;
    abort.abort(new Error('gone'));
    expect(await read).toEqual(new Error('gone'));
    // The last page waits until the server knows.
    while (server.pendingRequests > 0) {
      await Bun.sleep(5);
    }
    held.release();
    await server.stop(true);
    // The server learns of it by itself, and ends what is under way.
    while (inFlight().open > 0) {
      await Bun.sleep(5);
    }
    expect(((await vault.usage(account))['decrypt'] ?? 0) - before).toBeLessThan(ITEMS);
  });
});

describe('a reader who does not read', () => {
  test('has a few pages made for it, and takes a place until it goes', async () => {
    const { itemStore } = vault.opened.stores;
    const readMany = itemStore.readMany.bind(itemStore);
    let pages = 0;
    itemStore.readMany = async (...given) => {
      const replies = await readMany(...given);
      pages += replies === undefined ? 0 : 1;
      return replies;
    };
    const before = (await vault.usage(account))['decrypt'] ?? 0;
    const { reader } = await begin();
    // A short request goes past all the work that is under way and waits for nobody.
    expect((await account.send('GET', '/whoami')).outcome).toBe('200');
    expect(inFlight()).toEqual({ ...NOTHING, open: 1 });
    await reader.cancel();
    itemStore.readMany = readMany;
    expect(pages).toBeLessThan(PAGES - 2);
    expect(((await vault.usage(account))['decrypt'] ?? 0) - before).toBeLessThan(ITEMS);
    expect(inFlight()).toEqual(NOTHING);
    const { queued, running } = vault.opened.pool.stats();
    expect([queued.hot + queued.bulk, running]).toEqual([0, 0]);
  });
});

describe('an error before the first piece', () => {
  test('is a reply, and takes no place', async () => {
    const { itemStore } = vault.opened.stores;
    const readMany = itemStore.readMany.bind(itemStore);
    itemStore.readMany = async (...given) =>
      (await readMany(...given))?.map(({ length }) => new Uint8Array(length));
    const answer = await account.send('POST', '/vault/export', {
      body: { user: 'u', recipients: [ada.recipient] },
      passphrase: PASSPHRASE,
    });
    itemStore.readMany = readMany;
    expect(answer.outcome).toBe('500 integrity_failed');
    expect(inFlight()).toEqual(NOTHING);
  });
});
