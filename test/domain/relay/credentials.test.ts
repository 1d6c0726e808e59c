import { expect, test } from 'bun:test';
import {
  createCredentialFilter,
  credentialsOf,
  hideCredentials,
} from '../../../server/domain/relay/credentials.ts';

const KEY = 'sk_live_0123456789';

function filtered(pieces: readonly string[], credentials: readonly string[]): Promise<string> {
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) {
        controller.enqueue(Buffer.from(piece));
      }
      controller.close();
    },
  });
  return new Response(stream.pipeThrough(new TransformStream(createCredentialFilter(credentials)))).text();
}

test('a value is hidden with and without its scheme, in JSON and URLs, and of Basic what it stands for', () => {
  const basic = Buffer.from('shop:"a secret+word"').toString('base64');
  const credentials = credentialsOf([
    ['Authorization', `Basic ${basic}`],
    ['X-Api-Key', KEY],
  ]);
  const texts = [
    `Basic ${basic}`,
    basic,
    '"a secret+word"',
    '\\"a secret+word\\"',
    '%22a%20secret%2Bword%22',
    KEY,
  ];
  for (const text of texts) {
    expect(hideCredentials(`<${text}>`, credentials)).toBe('<********>');
  }
});

test('a name without a password is the secret of Basic', () => {
  const basic = Buffer.from(`${KEY}:`).toString('base64');
  expect(hideCredentials(KEY, credentialsOf([['Authorization', `Basic ${basic}`]]))).toBe('********');
});

test('what is no credential, or short, stays', () => {
  const credentials = credentialsOf([
    ['Api-Version', '2026-01-01'],
    ['Accept', 'application/json'],
    ['X-Token', 'short'],
  ]);
  expect(credentials).toEqual([]);
});

test('a credential is found across pieces of any length, and all else stays', async () => {
  const credentials = credentialsOf([['X-Api-Key', KEY]]);
  const text = `sk_live_sk_live_01 ${KEY}${KEY} é sk_live_`;
  const hidden = 'sk_live_sk_live_01 **************** é sk_live_';
  for (const length of [1, 2, 7, 18, 100]) {
    const pieces = text.match(new RegExp(`.{1,${length}}`, 'gs')) ?? [];
    expect(await filtered(pieces, credentials)).toBe(hidden);
  }
});
