/** Replies that never end, lead nowhere or are far too long, and settings that are. */
import { describe, expect, test } from 'bun:test';
import { captureClient, Vault, VaultConnectionError, VaultError } from '../../sdk/index.ts';
import { createTreeReader } from '../../sdk/transport/tree.ts';
import { startCpuClock } from '../helpers/cpu-clock.ts';
import { type Answer, closingAfterEach, json, openPeer } from './peer.ts';

const keep = closingAfterEach();

function setUp(answers: Answer[]) {
  const peer = keep(openPeer(...answers));
  const { baseUrl } = peer;
  return {
    peer,
    client: new Vault({ baseUrl, username: 'shop', password: 'p', passphrase: 'p', retries: 0 }),
  };
}

/** Many pages, each of which names the next one. */
function pagesTo(...tokens: string[]): Answer[] {
  return tokens.map((token) => json({}, { 'X-Vault-Next-Token': token }));
}

describe('pages that lead back', () => {
  test.each([
    ['to themselves', ['a', 'a']],
    ['to the one before', ['a', 'b', 'a', 'b', 'a', 'b']],
    ['to one of many', [...'abcdefg', ...'cdefg', ...'cdefg', ...'cdefg']],
    ['to an empty token', ['', '']],
  ])('%s are an error, not a loop', async (_, tokens) => {
    const listed = setUp(pagesTo(...tokens));
    await expect(Array.fromAsync(listed.client.vault.pages())).rejects.toBeInstanceOf(VaultConnectionError);
    expect(listed.peer.seen.length).toBeLessThanOrEqual(tokens.length);
    const opened = setUp(pagesTo(...tokens));
    const all = Array.fromAsync(opened.client.vault.decryptAll({ user: 'shop' }));
    await expect(all).rejects.toBeInstanceOf(VaultConnectionError);
    expect(opened.peer.seen.length).toBeLessThanOrEqual(tokens.length);
  });

  test('a listing that begins with a token of the caller is known by it as well', async () => {
    const { client } = setUp(pagesTo('mine'));
    await expect(Array.fromAsync(client.vault.pages({ next_token: 'mine' }))).rejects.toThrow('lead back');
  });

  test('many pages in a row are no loop', async () => {
    const tokens = Array.from({ length: 100 }, (_, n) => `t${n}`);
    const { client } = setUp([...pagesTo(...tokens), json({})]);
    expect(await Array.fromAsync(client.vault.pages())).toHaveLength(101);
  });
});

test('a refusal that never ends is one all the same, and its text is let go', async () => {
  let sent = 0;
  const endless: Answer = () =>
    new Response(
      new ReadableStream({
        pull: (controller) => {
          sent += 100_000;
          controller.enqueue(new TextEncoder().encode('x'.repeat(100_000)));
        },
      }),
      { status: 400 },
    );
  const { client } = setUp([endless]);
  await expect(client.admin.whoami()).rejects.toMatchObject({ status: 400, code: 'unknown' });
  expect(sent).toBeLessThan(20_000_000);
});

describe('an item', () => {
  test('takes a time that grows with its length alone', () => {
    const reader = createTreeReader();
    const piece = 'a'.repeat(100);
    const cpuMs = startCpuClock();
    reader.push('{"u":[{"a":"');
    for (let pieces = 0; pieces < 80_000; pieces += 1) {
      reader.push(piece);
    }
    const [item] = reader.push('"}]}');
    reader.end();
    expect(item).toHaveLength(8_000_000 + '{"a":""}'.length);
    // With the whole item looked at for each piece it was near a minute.
    expect(cpuMs()).toBeLessThan(5_000);
  });

  test('that has no end is given up', () => {
    const reader = createTreeReader();
    reader.push('{"u":[{"a":"');
    const piece = 'a'.repeat(2 ** 20);
    expect(() => {
      for (let pieces = 0; pieces < 64; pieces += 1) {
        reader.push(piece);
      }
    }).toThrow('has no end');
  });
});

test('an address takes a time that grows with its length alone', () => {
  const slashes = `http://127.0.0.1${'/'.repeat(200_000)}x`;
  const cpuMs = startCpuClock();
  new Vault({ baseUrl: slashes, username: 'shop', password: 'p' });
  captureClient({ url: `${slashes}/v1/capture/shop`, secret: 'vcs1_x' });
  expect(() => captureClient({ url: '/v1/capture/'.repeat(50_000), secret: 'vcs1_x' })).toThrow(VaultError);
  expect(cpuMs()).toBeLessThan(2_000);
});
