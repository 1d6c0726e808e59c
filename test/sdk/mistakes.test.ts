/** The mistakes of who has just begun, without types to warn of them: each is told before anything is sent. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { captureClient, retrieveClient, Vault, VaultConnectionError } from '../../sdk/index.ts';
import { apiErrorOf, connectionErrorOf } from '../../sdk/transport/errors.ts';
import { json, openPeer, type Peer } from './peer.ts';

let peer: Peer;
beforeAll(() => {
  peer = openPeer(json({}));
});
afterAll(() => peer.close());

function account() {
  return {
    baseUrl: peer.baseUrl,
    username: 'shop',
    password: 'p',
    passphrase: 'q',
    retries: 0,
  };
}
const secret = 'vcs1_secret';

async function messageOf(call: () => unknown): Promise<string> {
  try {
    await call();
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
  return 'It was done.';
}

/** A program without types: everything may be given to everything. */
function made(options: object) {
  return new Vault({ ...account(), ...options });
}
function loose() {
  return made({}) as unknown as Record<string, Record<string, (...given: unknown[]) => unknown>>;
}
const item = { user: 'shop', token: 't' };
const data = { card_number: '4111111111111111' };

describe('a program without types hears at once of', () => {
  test.each([
    [
      'a misspelt option',
      () => made({ timeout: 5 }),
      'There is no option timeout: options are baseUrl, username,',
    ],
    [
      'a misspelt reference of a capture',
      () =>
        captureClient({ url: `${peer.baseUrl}/v1/capture/shop`, secret }).submit({
          data,
          refrence: 'r',
        } as never),
      'There is no option refrence: options are data, reference,',
    ],
    ['an empty password', () => made({ password: '' }), 'username and password are needed'],
    ['no password', () => made({ password: undefined }), 'username and password are needed'],
    [
      'an address without scheme',
      () => made({ baseUrl: 'vault.example' }),
      'baseUrl is not a URL, such as https://',
    ],
    ['no token', () => loose()['vault']?.['decrypt']?.({ user: 'shop' }), 'token is missing'],
    [
      'an empty passphrase',
      () => made({ passphrase: '' }).vault.decrypt(item),
      'This call needs a passphrase that is not empty',
    ],
    ['no data', () => loose()['vault']?.['store']?.({ user: 'shop', ...data }), 'data is missing'],
    [
      'a name in camelCase',
      () => loose()['vault']?.['decrypt']?.({ ...item, maskFields: ['expiry'] }),
      'No parameter has the name maskFields',
    ],
    [
      'an option of a call',
      () => loose()['vault']?.['store']?.({ ...item, data }, { idempotency_key: 'k' }),
      'There is no option idempotency_key: options are signal, timeoutMs, retries, idempotencyKey.',
    ],
    [
      'a passphrase of another name',
      () => loose()['keys']?.['create']?.({ user: 'shop', passPhrase: 'x' }),
      'There is no option passPhrase: options are key, user, passphrase, summary.',
    ],
    [
      'a new passphrase of another name',
      () => loose()['keys']?.['changePassphrase']?.({ user: 'shop', passphrase: 'x', newPassphrase: 'y' }),
      'There is no option newPassphrase',
    ],
    [
      'summaries without a choice',
      () => loose()['keys']?.['setSummary']?.({ user: 'shop', passphrase: 'x' }),
      'summary is missing',
    ],
    [
      'an update of no version',
      () => loose()['vault']?.['update']?.({ user: 'shop', token: 't', data: {}, version: '' }),
      'version must be',
    ],
    ['an endpoint without id', () => loose()['capture']?.['delete']?.({}), 'An identifier is missing'],
    [
      'a capture without data',
      () => captureClient({ url: `${peer.baseUrl}/v1/capture/x`, secret }).submit(data as never),
      'data is missing',
    ],
    [
      'a retrieval without token',
      () => retrieveClient({ url: `${peer.baseUrl}/v1/retrieve/x`, secret }).decrypt({} as never),
      'token is missing',
    ],
    [
      'an account at an endpoint',
      () => captureClient({ url: `${peer.baseUrl}/v1/capture/x`, secret, ...{ username: 'a' } }),
      'There is no option username',
    ],
  ])('%s', async (_, call, told) => {
    expect(await messageOf(call)).toStartWith(`VaultError: ${told}`);
    expect(peer.seen).toHaveLength(0);
  });
});

describe('a wrong address is told from a vault that refuses', () => {
  test('nothing listens there', async () => {
    const error = made({ baseUrl: 'http://127.0.0.1:1' }).vault.list();
    await expect(error).rejects.toBeInstanceOf(VaultConnectionError);
    await expect(error).rejects.toThrow(
      'nothing listens there. Does it run, on this host and port? (ECONNREFUSED)',
    );
  });

  test('it speaks http', async () => {
    const error = made({ baseUrl: peer.baseUrl.replace('http:', 'https:') }).vault.list();
    await expect(error).rejects.toThrow('no TLS there. Is it http?');
  });

  test.each([
    ['ECONNREFUSED', 'nothing listens there'],
    ['ENOTFOUND', 'there is no such host'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'its certificate is not trusted'],
    ['CERT_HAS_EXPIRED', 'its certificate is not trusted'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'no TLS there'],
    ['ECONNRESET', 'it was closed with no answer'],
  ])('%s', (code, told) => {
    const { message } = connectionErrorOf(Object.assign(new TypeError('fetch failed'), { cause: { code } }));
    expect(message).toStartWith(`The connection to the vault failed: ${told}`);
    expect(message).toEndWith(` (${code})`);
  });

  test('of a code that nobody knows nothing is said', () => {
    expect(connectionErrorOf({ code: 'EWHATEVER' }).message).toBe(
      'The connection to the vault failed. (EWHATEVER)',
    );
    expect(connectionErrorOf(new Error('no code')).message).toBe('The connection to the vault failed.');
  });

  test('something else answers', () => {
    const { message, code } = apiErrorOf(
      404,
      new Headers(),
      '<h1>Not Found</h1>',
      'https://vault.example/v1',
    );
    expect(code).toBe('unknown');
    expect(message).toBe(
      'The answer was 404, and not from the vault: check its address, and what stands before it.',
    );
  });
});
