import { describe, expect, test } from 'bun:test';
import { Vault, VaultApiError, VaultConnectionError, VaultTimeoutError } from '../../sdk/index.ts';
import { chunk, closingAfterEach, HEAD_CHUNKED, json, openPeer, openRawPeer, refusal } from './peer.ts';

const keep = closingAfterEach();

function clientOf<P extends { baseUrl: string; close: () => unknown }>(peer: P) {
  keep(peer);
  const options = {
    baseUrl: peer.baseUrl,
    username: 'shop',
    password: 'p',
    passphrase: 'open sesame',
    retries: 0,
  };
  return { peer, vault: new Vault(options).vault };
}

function itemText(token: string): string {
  return `{"token":"${token}","stored_at":"2026-01-31T12:00:00.000Z","data":{"card_number":"4111","name":"Zoë ]}"}}`;
}

/** Collects tokens until the loop ends or throws, and tells which. */
async function collect(items: AsyncIterable<{ token: string }>) {
  const tokens: string[] = [];
  try {
    for await (const item of items) {
      tokens.push(item.token);
    }
    return { tokens, error: undefined };
  } catch (error) {
    return { tokens, error };
  }
}

describe('decryptAll', () => {
  test('yields every item of a reply that arrives in pieces, cut inside characters too', async () => {
    const bytes = Buffer.from(`{"shop":[${itemText('a')},${itemText('b')}]}`);
    const { vault, peer } = clientOf(
      openPeer(
        () =>
          new Response(
            new ReadableStream({
              start: (stream) => {
                for (let at = 0; at < bytes.length; at += 7) {
                  stream.enqueue(bytes.subarray(at, at + 7));
                }
                stream.close();
              },
            }),
          ),
      ),
    );
    const items = await Array.fromAsync(vault.decryptAll({ user: 'shop' }));
    expect(items.map(({ token }) => token)).toEqual(['a', 'b']);
    expect(items[0]?.data['name']).toBe('Zoë ]}');
    const [request] = peer.seen;
    expect(request?.url.search).toBe('?limit=-1&user=shop&decrypt_all=true');
    expect(request?.headers.get('x-vault-passphrase')).toBe('open%20sesame');
  });

  test('with a limit, goes from page to page', async () => {
    const { vault, peer } = clientOf(
      openPeer(
        () => new Response(`{"shop":[${itemText('a')}]}`, { headers: { 'X-Vault-Next-Token': 'n1' } }),
        () => new Response(`{"shop":[${itemText('b')}]}`),
      ),
    );
    expect((await collect(vault.decryptAll({ user: 'shop', limit: 1 }))).tokens).toEqual(['a', 'b']);
    expect(peer.seen[1]?.url.searchParams.get('next_token')).toBe('n1');
  });

  test('of a key without items ends at once', async () => {
    const { vault } = clientOf(openPeer(json({})));
    expect(await collect(vault.decryptAll({ user: 'shop' }))).toEqual({ tokens: [], error: undefined });
  });

  test('throws what the service refuses, before any item', async () => {
    const { vault } = clientOf(openPeer(refusal(403, 'passphrase_wrong')));
    const { error } = await collect(vault.decryptAll({ user: 'shop' }));
    expect(error).toBeInstanceOf(VaultApiError);
    expect(error).toMatchObject({ code: 'passphrase_wrong' });
  });

  test.each([
    ['reset', `{"shop":[${itemText('a')},{"tok`, 'terminate'],
    ['closed inside an item', `{"shop":[${itemText('a')},{"tok`, 'end'],
    ['closed between items', `{"shop":[${itemText('a')},`, 'end'],
    ['closed before the last bracket', `{"shop":[${itemText('a')}]`, 'end'],
  ] as const)('throws when the connection is %s', async (_, text, ending) => {
    const { vault } = clientOf(
      openRawPeer((socket) => {
        socket.write(HEAD_CHUNKED + chunk(text));
        socket.flush();
        setTimeout(() => socket[ending](), 20);
      }),
    );
    const { tokens, error } = await collect(vault.decryptAll({ user: 'shop' }));
    expect(tokens).toEqual(['a']);
    expect(error).toBeInstanceOf(VaultConnectionError);
  });

  test('throws when a complete HTTP reply holds an incomplete tree', async () => {
    const { vault } = clientOf(openPeer(() => new Response(`{"shop":[${itemText('a')}`)));
    const { tokens, error } = await collect(vault.decryptAll({ user: 'shop' }));
    expect(tokens).toEqual(['a']);
    expect(error).toBeInstanceOf(VaultConnectionError);
  });

  test('throws, without quoting it, when the reply is not UTF-8', async () => {
    const { vault } = clientOf(openPeer(() => new Response(Buffer.from([0x7b, 0xff, 0x7d]))));
    expect((await collect(vault.decryptAll({ user: 'shop' }))).error).toBeInstanceOf(VaultConnectionError);
  });

  test('times out when the next piece does not come', async () => {
    const { vault } = clientOf(
      openRawPeer((socket) => {
        socket.write(HEAD_CHUNKED + chunk(`{"shop":[${itemText('a')}`));
        socket.flush();
      }),
    );
    const { tokens, error } = await collect(vault.decryptAll({ user: 'shop' }, { timeoutMs: 100 }));
    expect(tokens).toEqual(['a']);
    expect(error).toBeInstanceOf(VaultTimeoutError);
  });

  test('stops the reply when the loop is left', async () => {
    const cancelled = Promise.withResolvers<void>();
    const { vault } = clientOf(
      openPeer(
        () =>
          new Response(
            new ReadableStream({
              start: (stream) => stream.enqueue(Buffer.from(`{"shop":[${itemText('a')},`)),
              pull: () => new Promise(() => {}),
              cancel: () => cancelled.resolve(),
            }),
          ),
      ),
    );
    for await (const { token } of vault.decryptAll({ user: 'shop' })) {
      expect(token).toBe('a');
      break;
    }
    await cancelled.promise;
  });

  test('stops with the reason of an aborted signal', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const { vault } = clientOf(
      openRawPeer((socket) => {
        socket.write(HEAD_CHUNKED + chunk(`{"shop":[${itemText('a')},`));
        socket.flush();
      }),
    );
    const items = vault.decryptAll({ user: 'shop' }, { signal: controller.signal });
    await items.next();
    controller.abort(reason);
    expect(await collect(items)).toEqual({ tokens: [], error: reason });
  });
});
