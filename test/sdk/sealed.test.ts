import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { type CaptureOptions, captureClient, type NewCaptureEndpoint, VaultError } from '../../sdk/index.ts';
import { CARD, fetchOf, type Live, openLive } from './live.ts';

const SEALED = 'application/vnd.cardvault.sealed+json';
const DATA = { card_number: CARD, expiry: '12/30' };

let live: Live;
let made: NewCaptureEndpoint;
let strict: NewCaptureEndpoint;
const { subtle } = crypto;

beforeAll(async () => {
  live = await openLive();
  made = await live.owner.sdk.capture.create({ user: 'customers', ttl: '0' });
  strict = await live.owner.sdk.capture.create({ user: 'customers', ttl: '0', require_sealed: true });
});
afterEach(() => {
  Object.defineProperty(crypto, 'subtle', { value: subtle, configurable: true });
});
afterAll(() => live.vault.close());

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly type: string | null;
  readonly body: string;
}
/** What comes between a client and the vault: it may answer in its place, or spoil a reply. */
type Between = (sent: Sent, reply: () => Promise<Response>) => Promise<Response>;

function open(
  seal: CaptureOptions['seal'],
  between: Between = (_, reply) => reply(),
  { url, secret } = made,
) {
  const sent: Sent[] = [];
  const send = fetchOf(live.vault.handle);
  const client = captureClient({
    ...{ url: `http://localhost${url}`, secret, seal, retries: 0 },
    fetch: (to, init) => {
      const one = {
        ...{ method: init.method ?? '', url: to, body: String(init.body ?? '') },
        type: new Headers(init.headers).get('content-type'),
      };
      sent.push(one);
      return between(one, () => send(to, init));
    },
  });
  const posts = () => sent.filter(({ method }) => method === 'POST');
  return { client, sent, posts };
}
function isKey({ url }: Sent): boolean {
  return url.endsWith('/sealing-key');
}
async function storedOf({ token, reference }: { token: string; reference?: string }): Promise<unknown> {
  return JSON.parse(await live.owner.open('customers', token, { reference }));
}

test.each(['prefer', 'require'] as const)('%s seals, with one key for many', async (seal) => {
  const { client, sent, posts } = open(seal, undefined, strict);
  for (const reference of [undefined, 'order ä', 'order-2']) {
    const captured = await client.submit({ data: DATA, reference });
    expect(await storedOf(captured)).toEqual(DATA);
  }
  expect(sent.filter(isKey)).toHaveLength(1);
  expect(posts().map(({ type }) => type)).toEqual([SEALED, SEALED, SEALED]);
  expect(JSON.stringify(sent)).not.toContain(CARD);
});

test('exact JSON text arrives as it is', async () => {
  const { client } = open('require');
  const captured = await client.submit({ data: '{"card_number":4111111111111111, "amount":1.10}' });
  const reference = captured.reference ?? '';
  expect(await live.owner.open('customers', captured.token, { reference })).toBe(
    '{"card_number":4111111111111111,"amount":1.10}',
  );
});

test('by default nothing is sealed, and no key asked for', async () => {
  const { client, sent } = open(undefined);
  await client.submit({ data: DATA });
  expect(sent.map(({ method, type }) => [method, type])).toEqual([['POST', 'application/json']]);
});

describe('a repeat', () => {
  test('of an attempt is the same bytes', async () => {
    let posts = 0;
    const { client, posts: sent } = open('require', async ({ method }, reply) => {
      const response = await reply();
      posts += method === 'POST' ? 1 : 0;
      if (method === 'POST' && posts === 1) {
        throw new TypeError('the reply was lost');
      }
      return response;
    });
    await client.submit({ data: DATA }, { retries: 1 });
    expect(sent()).toHaveLength(2);
    expect(sent()[0]?.body).toBe(sent()[1]?.body ?? '');
  });

  test('of a call under its own idempotency key is, too, while its outcome is unknown', async () => {
    let isLost = true;
    const { client, posts } = open('require', async ({ method }, reply) => {
      const response = await reply();
      if (isLost && method === 'POST') {
        throw new TypeError('the reply was lost');
      }
      return response;
    });
    const submit = (data: Readonly<Record<string, string>>) =>
      client.submit({ data }, { idempotencyKey: 'own 1' });
    await expect(submit(DATA)).rejects.toThrow('connection');
    isLost = false;
    await submit(DATA);
    expect(posts()[0]?.body).toBe(posts()[1]?.body ?? '');
    await expect(submit({ ...DATA, expiry: '01/31' })).rejects.toMatchObject({
      code: 'idempotency_conflict',
    });
  });
});

describe('a key that has expired', () => {
  const stale = async (sent: Sent, reply: () => Promise<Response>, isStale: boolean): Promise<Response> => {
    const response = await reply();
    return isKey(sent) && isStale
      ? Response.json({ ...((await response.json()) as object), kid: '1-0123456789abcdef' })
      : response;
  };

  test('is fetched again, once', async () => {
    let keys = 0;
    const { client, posts } = open('require', (sent, reply) =>
      stale(sent, reply, isKey(sent) && keys++ === 0),
    );
    expect(await storedOf(await client.submit({ data: DATA }))).toEqual(DATA);
    expect([keys, posts().length]).toEqual([2, 2]);
  });

  test('and no more', async () => {
    const { client, posts } = open('require', (sent, reply) => stale(sent, reply, true));
    await expect(client.submit({ data: DATA })).rejects.toMatchObject({ code: 'sealing_key_expired' });
    expect(posts()).toHaveLength(2);
  });
});

describe('where nothing can be sealed', () => {
  const CASES = [
    [
      'without WebCrypto',
      () => Object.defineProperty(crypto, 'subtle', { value: undefined, configurable: true }),
    ],
    ['at an older vault', () => undefined],
  ] as const;
  const older: Between = async (sent, reply) =>
    isKey(sent) ? Response.json({ error: '', code: 'not_found', request_id: 'r' }, { status: 404 }) : reply();

  test.each(CASES)('%s, prefer sends it open', async (_, prepare) => {
    prepare();
    const { client, posts } = open('prefer', older);
    await client.submit({ data: DATA });
    expect(posts().map(({ type }) => type)).toEqual(['application/json']);
  });

  test.each(CASES)('%s, prefer sends nothing to an endpoint that requires it', async (_, prepare) => {
    prepare();
    const { client, posts } = open('prefer', older, strict);
    await expect(client.submit({ data: DATA })).rejects.toThrow(VaultError);
    expect(posts()).toEqual([]);
  });

  test.each(CASES)('%s, require sends nothing', async (_, prepare) => {
    prepare();
    const { client, posts } = open('require', older);
    await expect(client.submit({ data: DATA })).rejects.toThrow('cannot be sealed');
    expect(posts()).toEqual([]);
  });

  test('another error of the key is its own', async () => {
    const { client, posts } = open('prefer', async (sent, reply) =>
      isKey(sent) ? new Response('no', { status: 502 }) : reply(),
    );
    await expect(client.submit({ data: DATA })).rejects.toMatchObject({ status: 502 });
    expect(posts()).toEqual([]);
  });
});

test('a number beside the data would be seen', async () => {
  const { client, sent } = open('require');
  await expect(client.submit({ data: {}, number: CARD })).rejects.toThrow('put it into data');
  expect(sent).toEqual([]);
});

test('another mode is none', () => {
  // A program without types may give any.
  expect(() => open('always' as 'require')).toThrow('seal must be prefer, require or never.');
});
