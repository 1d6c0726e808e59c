/** A reply that is a file and comes as a stream: the export. */
import { describe, expect, test } from 'bun:test';
import { Vault, VaultApiError, VaultConnectionError, VaultTimeoutError } from '../../sdk/index.ts';
import { chunk, HEAD_CHUNKED, openRawPeer, refusal } from './peer.ts';

const REQUEST = { user: 'shop', recipients: ['age1'], reference_prefix: 'r' };
const PIECE = new Uint8Array(1_000).fill(0xff);

/** A source that gives pieces for as long as it is asked, and what it was asked and told. */
function createSource(last?: (stream: ReadableStreamDefaultController<Uint8Array>) => unknown) {
  let pulls = 0;
  const cancelled = Promise.withResolvers<unknown>();
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (stream) => {
        pulls += 1;
        if (last !== undefined && pulls > 2) {
          await last(stream);
        } else {
          stream.enqueue(PIECE);
        }
      },
      cancel: cancelled.resolve,
    },
    { highWaterMark: 0 },
  );
  return { body, pulls: () => pulls, cancelled: cancelled.promise };
}

function exporting(answer: () => Response | Promise<Response>) {
  const sent: { url: string; init: RequestInit }[] = [];
  const { vault } = new Vault({
    ...{
      baseUrl: 'http://vault.test',
      username: 'shop',
      password: 'p',
      passphrase: 'open sesame',
      retries: 1,
    },
    fetch: async (url, init) => {
      sent.push({ url, init });
      return answer();
    },
  });
  return { sent, stream: vault.export(REQUEST) };
}
async function endOf(stream: ReadableStream<Uint8Array>) {
  let bytes = 0;
  try {
    for await (const piece of stream) {
      bytes += piece.length;
    }
    return { bytes, error: undefined };
  } catch (error) {
    return { bytes, error };
  }
}

describe('vault.export', () => {
  test('sends everything but the passphrase in the body, and gives the bytes as they are', async () => {
    const source = createSource((stream) => stream.close());
    const { sent, stream } = exporting(() => new Response(source.body));
    expect(await endOf(await stream)).toEqual({ bytes: 2 * PIECE.length, error: undefined });
    const [{ url, init } = { url: '', init: {} }] = sent;
    expect([init.method, url]).toEqual(['POST', 'http://vault.test/v1/vault/export']);
    expect(JSON.parse(String(init.body))).toEqual(REQUEST);
    expect(new Headers(init.headers).get('x-vault-passphrase')).toBe('open%20sesame');
  });

  test('receives no more than is read', async () => {
    const source = createSource();
    const { stream } = exporting(() => new Response(source.body));
    const reader = (await stream).getReader();
    expect((await reader.read()).value).toEqual(PIECE);
    expect((await reader.read()).value).toEqual(PIECE);
    expect(source.pulls()).toBeLessThan(6);
    await reader.cancel();
    await source.cancelled;
  });

  test('rejects with a refusal, and is repeated only if it was refused without an effect', async () => {
    const seen = { method: '', url: new URL('http://vault.test'), headers: new Headers(), body: '' };
    const wrong = exporting(() => refusal(403, 'passphrase_wrong')(seen));
    const refused = await wrong.stream.catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(VaultApiError);
    expect(refused).toMatchObject({ code: 'passphrase_wrong' });
    expect(wrong.sent).toHaveLength(1);
    const busy = exporting(() => refusal(503, 'overloaded', { 'Retry-After': '0' })(seen));
    await busy.stream.catch(() => undefined);
    expect(busy.sent).toHaveLength(2);
    const lost = exporting(() => Promise.reject(new TypeError('reset')));
    expect(await lost.stream.catch((error: unknown) => error)).toBeInstanceOf(VaultConnectionError);
    expect(lost.sent).toHaveLength(1);
  });

  test('fails where the connection is aborted, after what had come', async () => {
    const source = createSource((stream) => stream.error(new TypeError('reset')));
    const { stream } = exporting(() => new Response(source.body));
    const { bytes, error } = await endOf(await stream);
    expect(bytes).toBe(2 * PIECE.length);
    expect(error).toBeInstanceOf(VaultConnectionError);
  });

  test('times out where the next piece does not come', async () => {
    const peer = openRawPeer((socket) => {
      socket.write(HEAD_CHUNKED + chunk('age-encryption.org/v1'));
      socket.flush();
    });
    const options = { username: 'shop', password: 'p', passphrase: 'open sesame', timeoutMs: 100 };
    const { vault } = new Vault({ ...options, baseUrl: peer.baseUrl });
    const { bytes, error } = await endOf(await vault.export(REQUEST));
    peer.close();
    expect(bytes).toBe(21);
    expect(error).toBeInstanceOf(VaultTimeoutError);
  });

  test('needs a passphrase', async () => {
    const { vault } = new Vault({ baseUrl: 'http://vault.test', username: 'shop', password: 'p' });
    await expect(vault.export(REQUEST)).rejects.toThrow('needs a passphrase');
  });
});
