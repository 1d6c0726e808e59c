/** Large messages, many cards, several servers, and clashes of tokens. */
import { afterAll, describe, expect, test } from 'bun:test';
import { connectInbound, newInbound, sendThrough } from '../helpers/inbound.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';

const setting = await openProxySetting();
const { vault, party, item, freshPath } = setting;
const { account } = item;
const second = await vault.secondServer();
afterAll(() => second.close());
const shop = await connectInbound(account, party);
const EXTRACT = [{ number: 'n[*]' }];
const many = await newInbound(account, { connection: shop, extract: EXTRACT });
const NUMBER = '4111111111111111';
const BYTES_MAX = 1_048_576;
const CARDS_MAX = 1_000;

function numbers(count: number, from = 0): readonly string[] {
  return Array.from({ length: count }, (_, n) => `4000${String(from + n).padStart(5, '0')}123`);
}
function bodyOf(list: readonly string[]): string {
  return JSON.stringify({ n: list });
}

describe('a message', () => {
  test('of 1,000 cards is forwarded with as many tokens', async () => {
    const path = freshPath();
    const answer = await sendThrough(vault.handle, many, path, { body: bodyOf(numbers(CARDS_MAX)) });
    expect([answer.status, answer.headers.get('x-vault-stored')]).toEqual([200, String(CARDS_MAX)]);
    const { n: tokens } = JSON.parse((await party.call(path)).text) as { n: string[] };
    expect(new Set(tokens).size).toBe(CARDS_MAX);
    const last = await account.open('u', tokens.at(-1) ?? '', { reference: many.id });
    expect(JSON.parse(last)).toEqual({ card_number: numbers(CARDS_MAX).at(-1) });
  });

  test('of more cards, or over 1 MB, is refused whole', async () => {
    const path = freshPath();
    const fresh = await newInbound(account, { connection: shop, extract: EXTRACT });
    const over = JSON.stringify({ n: [NUMBER], x: 'x'.repeat(BYTES_MAX) });
    for (const body of [bodyOf(numbers(CARDS_MAX + 1)), over]) {
      expect((await sendThrough(vault.handle, fresh, path, { body })).outcome).toBe('413 body_too_large');
    }
    expect(party.calls(path)).toEqual([]);
    const listed = await account.send('GET', '/vault', { query: { user: 'u', reference: fresh.id } });
    expect(listed.json).toEqual({ u: [] });
    const whole = JSON.stringify({ n: [NUMBER], x: '' });
    const body = whole.replace('""', `"${'x'.repeat(BYTES_MAX - whole.length)}"`);
    expect((await sendThrough(vault.handle, fresh, path, { body })).status).toBe(200);
  });

  test('with one card a thousand times stores it once', async () => {
    const path = freshPath();
    const other = await vault.account();
    await other.key('u');
    const inbound = await newInbound(other, {
      connection: await connectInbound(other, party),
      extract: EXTRACT,
    });
    const body = bodyOf(Array.from({ length: CARDS_MAX }, () => NUMBER));
    expect((await sendThrough(vault.handle, inbound, path, { body })).headers.get('x-vault-stored')).toBe(
      '1000',
    );
    expect(await vault.usage(other)).toMatchObject({ capture: 1, proxy_attempt: 1 });
  });

  test('whose tokens belong to other numbers gets the next ones, the same at each repeat', async () => {
    // Five characters of each token differ: of 3,000 numbers a few clash.
    const inbound = await newInbound(account, {
      connection: shop,
      extract: EXTRACT,
      algorithm: 'partial_middle_4_3',
    });
    const seen = new Map<string, string>();
    for (let round = 0; round < 4; round++) {
      const sent = numbers(CARDS_MAX, (round % 3) * CARDS_MAX);
      const path = freshPath();
      const answer = await sendThrough(vault.handle, inbound, path, { body: bodyOf(sent) });
      expect(answer.headers.get('x-vault-stored')).toBe(String(CARDS_MAX));
      const { n: tokens } = JSON.parse((await party.call(path)).text) as { n: string[] };
      for (const [at, token] of tokens.entries()) {
        expect([token, seen.get(token) ?? sent[at]]).toEqual([token, sent[at]]);
        seen.set(token, sent[at] ?? '');
      }
    }
    expect(seen.size).toBe(3 * CARDS_MAX);
    const wanted = [...seen].filter((_, at) => at % 300 === 0);
    for (const [token, number] of wanted) {
      const stored = JSON.parse(await account.open('u', token, { reference: inbound.id }));
      expect(stored).toEqual({ card_number: number });
    }
  });
});

describe('two servers', () => {
  test('give the same tokens, and see an inbound made, changed and deleted at once', async () => {
    const inbound = await newInbound(account, { connection: shop, extract: EXTRACT });
    const { id, secret } = inbound;
    const path = freshPath();
    const body = bodyOf([NUMBER]);
    for (const { handle } of [vault, second, vault]) {
      expect((await sendThrough(handle, inbound, path, { body })).status).toBe(200);
    }
    expect(new Set(party.calls(path).map(({ text }) => text)).size).toBe(1);
    await newInbound(account.via(second.handle), {
      id,
      secret,
      connection: shop,
      extract: [{ number: 'x' }],
    });
    for (const { handle } of [vault, second]) {
      expect((await sendThrough(handle, inbound, path, { body })).outcome).toBe('400 card_not_extracted');
    }
    await account.send('DELETE', `/inbound/${id}`);
    for (const { handle } of [vault, second]) {
      expect((await sendThrough(handle, inbound, path, { body })).outcome).toBe('403 endpoint_refused');
    }
  });
});
