import { afterAll, describe, expect, test } from 'bun:test';
import type { LogEntry } from '../../sdk/index.ts';
import { listen } from '../../server/http/listen/listen.ts';
import { PASSPHRASE, type Query } from '../helpers/clients.ts';
import { createRetrieve, useEndpoint } from '../helpers/endpoints.ts';
import { openTestVault } from '../helpers/vault.ts';

const CARD = { number: '4242424242424242', holder: 'Ada' };

const vault = await openTestVault();
const server = listen(vault.app, { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 30 });
const account = (await vault.account()).via(overSocket);
await account.key('u');
const token = await account.store('u', CARD);
afterAll(async () => {
  await server.stop(true);
  await vault.close();
});

/** The runtime makes the reply to HEAD of that to GET, so there must be a socket. */
function overSocket(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  return fetch(`http://127.0.0.1:${server.port}${pathname}${search}`, request);
}

async function logOf(): Promise<LogEntry[]> {
  return (await account.sdk.vault.log({ user: 'u', token })).data;
}

/** What HEAD and GET answer, and what each has left in the item's log and on the bill. */
async function compare(
  send: (method: string) => Promise<{ status: number; text: string; headers: Headers }>,
) {
  const left = async (method: string) => {
    const [before, used] = [await logOf(), await vault.usage(account)];
    const { status, text, headers } = await send(method);
    const [after, billed] = [await logOf(), await vault.usage(account)];
    const entries = after
      .slice(0, after.length - before.length)
      .map(({ action, source, outcome }) => ({ action, source, outcome }));
    const counted = ['decrypt', 'retrieve', 'list'].map((name) => (billed[name] ?? 0) - (used[name] ?? 0));
    return { status, text, length: headers.get('content-length'), entries, counted };
  };
  return { head: await left('HEAD'), get: await left('GET') };
}

function read(query: Query, passphrase = PASSPHRASE) {
  return (method: string) => account.send(method, '/vault', { query: { user: 'u', ...query }, passphrase });
}

describe('HEAD on a card', () => {
  test('opens it, with the log entry and the price of a reading', async () => {
    const { head, get } = await compare(read({ token }));
    expect(JSON.parse(get.text)).toEqual(CARD);
    expect(head).toEqual({ ...get, text: '' });
    expect(head.entries).toEqual([{ action: 'decrypt', source: 'vault', outcome: 'ok' }]);
  });

  test('is refused, and the refusal logged, as a reading is', async () => {
    const { head, get } = await compare(read({ token }, 'not the passphrase of it'));
    expect(head.status).toBe(403);
    expect(head).toEqual({ ...get, text: '' });
    expect(head.entries).toEqual([{ action: 'decrypt', source: 'vault', outcome: 'passphrase_wrong' }]);
  });

  test('with the secret of an endpoint is logged as its use', async () => {
    const { unique_id, secret } = await createRetrieve(account, 'u');
    const use = (given: string) => (method: string) =>
      useEndpoint(overSocket, method, `/v1/retrieve/${unique_id}`, { secret: given, query: { token } });
    const { head, get } = await compare(use(secret));
    expect(head).toEqual({ ...get, text: '' });
    expect(head.entries).toEqual([{ action: 'decrypt', source: 'retrieve', outcome: 'ok' }]);
    const wrong = await compare(use(`${secret}x`));
    expect(wrong.head).toEqual({ ...wrong.get, text: '' });
    expect(wrong.head.status).toBe(403);
  });

  test('of a whole listing, and of one without data', async () => {
    for (const query of [{ decrypt_all: true }, {}]) {
      const { head, get } = await compare(read(query));
      expect(get.text).toContain(token);
      expect(head).toEqual({ ...get, text: '' });
      expect(head.entries.length).toBe('decrypt_all' in query ? 1 : 0);
    }
  });
});
