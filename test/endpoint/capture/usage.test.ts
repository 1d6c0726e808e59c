/** Captures in production: what is counted, and the numbers that are refused. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { type AccountClient, PASSPHRASE } from '../../helpers/clients.ts';
import { capture, createCapture, type MadeEndpoint, type Use, useEndpoint } from '../../helpers/endpoints.ts';
import { holdNext } from '../../helpers/hold.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const START = Date.parse('2026-03-01T12:00:00.000Z');
const HOUR = 3_600_000;
const CARD = { card_number: '4000000000000010' };

let clock = START;
let vault: TestVault;
let account: AccountClient;
let stranger: AccountClient;
let shop: MadeEndpoint;

beforeAll(async () => {
  vault = await openTestVault({ now: () => clock, environment: 'production' });
  account = await vault.account();
  stranger = await vault.account();
  await account.key('u');
  await stranger.key('u');
  shop = await createCapture(account, 'u', { unique_id: 'shop' });
});
beforeEach(() => {
  clock = START;
});
afterAll(() => vault.close());

/** What `work` has added to the counts of an account, by operation; zeros are left out. */
async function added(work: () => Promise<unknown>, who = account): Promise<Readonly<Record<string, number>>> {
  const before = await vault.usage(who);
  await work();
  const after = await vault.usage(who);
  const changed = Object.keys(after).filter((name) => after[name] !== before[name]);
  return Object.fromEntries(changed.map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)]));
}

describe('what counts', () => {
  test('a capture, on the account of the owner', async () => {
    expect(await added(() => capture(vault, shop, { body: CARD }))).toEqual({ capture: 1, api_requests: 1 });
    expect(await added(() => capture(vault, shop, { body: CARD }), stranger)).toEqual({});
  });

  test('a repeat is a request, but no second capture', async () => {
    const once = () => capture(vault, shop, { body: CARD, idempotencyKey: 'counted' });
    expect(await added(once)).toEqual({ capture: 1, api_requests: 1 });
    expect(await added(once)).toEqual({ api_requests: 1 });
  });
});

describe('what is refused counts nothing', () => {
  test('a capture', async () => {
    const ended = await createCapture(account, 'u', { ttl: '1h' });
    const ruled = await createCapture(account, 'u', { rules: 'none' });
    const refused = async () => {
      const answers = [
        await capture(vault, shop, { body: CARD, secret: 'vcs1_wrong' }),
        await useEndpoint(vault, 'POST', '/v1/capture/unknown', { secret: shop.secret, body: CARD }),
        await capture(vault, shop, { body: '{' }),
        await capture(vault, shop, { body: {} }),
        await capture(vault, shop, { body: { number: '4242424242424242' } }),
        await capture(vault, shop, { body: CARD, query: { algorithm: 'x' } }),
        await capture(vault, shop, { body: 'x'.repeat(262_145) }),
        await capture(vault, ruled, { body: CARD }),
        await capture(vault, shop, { body: { number: '1' }, idempotencyKey: 'counted' }),
      ];
      clock = START + HOUR;
      answers.push(await capture(vault, ended, { body: CARD }));
      expect(answers.map(({ status }) => status)).toEqual([403, 403, 400, 400, 400, 400, 413, 404, 409, 410]);
    };
    expect(await added(refused)).toEqual({});
  });

  test('a capture that was stopped while it was being written', async () => {
    await account.key('stopping');
    const endpoint = await createCapture(account, 'stopping');
    const { itemStore } = vault.opened.stores;
    const counts = await added(async () => {
      const held = holdNext(itemStore, 'write');
      const late = capture(vault, endpoint, { body: CARD });
      await held.reached;
      const body = { user: 'stopping', passphrase: PASSPHRASE, new_passphrase: 'another passphrase' };
      expect((await account.send('PUT', '/key', { body })).outcome).toBe('200');
      held.release();
      expect((await late).outcome).toBe('410 endpoint_gone');
    });
    expect(counts).toEqual({ key: 1, api_requests: 1 });
  });
});

/** What only production refuses. */
describe('test card numbers', () => {
  test.each(['4111111111111111', '4242 4242 4242 4242'])(
    'production refuses %s in the body, in the query and under every name',
    async (number) => {
      const uses: readonly Use[] = [
        { body: { card_number: number } },
        { body: { account_number: number } },
        { body: { n: number } },
        { body: { number } },
        { body: {}, query: { number } },
        { body: { card_number: number }, query: { algorithm: 'uuid', reference: 'r' } },
      ];
      for (const use of uses) {
        const answer = await capture(vault, shop, use);
        expect(answer.outcome).toBe('400 test_card');
        expect(answer.text).not.toContain(number);
      }
    },
  );
});
