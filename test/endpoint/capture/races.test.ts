import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../../server/redis/records/keys.ts';
import { type AccountClient, type Answer, PASSPHRASE } from '../../helpers/clients.ts';
import { capture, createCapture, type MadeEndpoint } from '../../helpers/endpoints.ts';
import { holdNext } from '../../helpers/hold.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const CARD = { card_number: '4111111111111111' };

let vault: TestVault;
let second: TestVault;
let account: AccountClient;
let stranger: AccountClient;

beforeAll(async () => {
  vault = await openTestVault();
  second = await vault.secondServer();
});
// What an account has made in one test is in its directories in the next.
beforeEach(async () => {
  [account, stranger] = [await vault.account(), await vault.account()];
  await Promise.all([account.key('u'), stranger.key('u')]);
});
afterAll(async () => {
  await second.close();
  await vault.close();
});

function tokenIn(answer: Answer): string {
  return answer.as<{ token: string }>().token;
}
function create(client: AccountClient, unique_id: string, path = '/capture'): Promise<Answer> {
  return client.send('POST', path, { query: { user: 'u', unique_id }, passphrase: PASSPHRASE });
}

describe('one id and many creators', () => {
  test('has exactly one winner, whoever and wherever they are', async () => {
    const creators = [account, stranger, account.via(second.handle), stranger.via(second.handle)];
    // Both kinds draw from the same ids.
    const tries = creators.flatMap((client) => [
      { client, path: '/capture' },
      { client, path: '/retrieve' },
      { client, path: '/capture' },
    ]);
    const winners = new Map<
      string,
      { readonly answer: Answer; readonly aid: string; readonly path: string }
    >();
    for (let group = 0; group < 20; group++) {
      const ids = Array.from({ length: 10 }, (_, n) => `raced-${group}-${n}`);
      const answers = await Promise.all(
        ids.flatMap((id, n) =>
          // Each id begins with another creator.
          tries.map(async (_, t) => {
            const { client, path } = tries[(t + n) % tries.length] ?? { client: account, path: '' };
            // Without a body a request is ahead of others; with every second id they are ahead of it.
            await (n % 2 === 0 && path === '/retrieve' ? Bun.sleep(0) : undefined);
            return { id, aid: client.aid, path, answer: await create(client, id, path) };
          }),
        ),
      );
      for (const { id, aid, path, answer } of answers) {
        if (answer.status === 200) {
          expect([id, winners.has(id)]).toEqual([id, false]);
          winners.set(id, { answer, aid, path });
        } else {
          expect([id, answer.outcome]).toEqual([id, '409 endpoint_exists']);
        }
      }
    }
    expect(winners.size).toBe(200);
    // What the winner was shown is what there is; nothing of the losers is left in the directories.
    for (const { aid } of [account, stranger]) {
      const won = [...winners].filter(([, winner]) => winner.aid === aid);
      const entries = await vault.raw.zrange(redisKeys.endpointDirectory(aid), '0', '-1');
      const entered = entries.map((entry) => entry.split(' ').at(-1) ?? '');
      expect(entered.sort()).toEqual(won.map(([id]) => id).sort());
    }
    const captures = [...winners.values()].filter(({ path }) => path === '/capture');
    const used = await Promise.all(
      captures.map(({ answer }, n) =>
        capture(n % 2 === 0 ? vault : second, answer.as<MadeEndpoint>(), { body: CARD }),
      ),
    );
    expect(new Set(used.map(({ outcome }) => outcome))).toEqual(new Set(['200']));
    expect(used.length).toBeGreaterThan(0);
  });

  test('is never with two while it is deleted and made anew over and over', async () => {
    const clients = [account, stranger.via(second.handle)];
    const live = new Set<string>();
    let wins = 0;
    await Promise.all(
      clients.map(async (client) => {
        for (let round = 0; round < 60; round++) {
          const answer = await create(client, 'contended');
          if (answer.status !== 200) {
            expect(answer.outcome).toBe('409 endpoint_exists');
            continue;
          }
          live.add(client.name);
          wins += 1;
          expect([...live]).toEqual([client.name]);
          const used = await capture(vault, answer.as<MadeEndpoint>(), { body: CARD });
          expect(used.outcome).toBe('200');
          live.delete(client.name);
          expect((await client.send('DELETE', '/capture/contended')).outcome).toBe('200');
        }
      }),
    );
    expect(wins).toBeGreaterThan(0);
    expect((await create(account, 'contended')).outcome).toBe('200');
  });
});

describe('captures at once', () => {
  test('of the same card make one item, and each has its line in the log', async () => {
    const shop = await createCapture(account, 'u', { unique_id: 'crowd' });
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        capture(n % 2 === 0 ? vault : second, shop, { body: { ...CARD, n } }),
      ),
    );
    expect(answers.map(({ outcome }) => outcome)).toEqual(answers.map(() => '200'));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const token = tokenIn(answers[0] as Answer);
    const { data } = await account.sdk.vault.list({ user: 'u', reference: 'crowd' });
    expect(data['u']?.map((item) => item.token)).toEqual([token]);
    const log = await account.sdk.vault.log({ user: 'u', token, reference: 'crowd' });
    expect(log.data.map(({ action, source }) => `${action} ${source}`)).toEqual(
      Array.from({ length: 50 }, () => 'encrypt capture'),
    );
    expect(JSON.parse(await account.open('u', token, { reference: 'crowd' }))).toMatchObject(CARD);
  });
});

test('every one of many captures opens, whichever set-up has sealed it', async () => {
  /** More than one set-up seals them. */
  const COUNT = 1_300;
  const cards = Array.from({ length: COUNT }, (_, n) => ({
    card_number: `411111${String(n).padStart(10, '0')}`,
    cvv: String(n % 1_000).padStart(3, '0'),
  }));
  const shop = await createCapture(account, 'u', { unique_id: 'many' });
  for (let first = 0; first < COUNT; first += 50) {
    const group = cards.slice(first, first + 50);
    const answers = await Promise.all(group.map((body) => capture(vault, shop, { body })));
    expect(answers.map(({ outcome }) => outcome)).toEqual(group.map(() => '200'));
  }
  const opened = await Array.fromAsync(account.sdk.vault.decryptAll({ user: 'u', reference: 'many' }));
  const texts = opened.map(({ data }) => JSON.stringify(data)).sort();
  expect(texts).toEqual(cards.map((card) => JSON.stringify(card)).sort());
}, 60_000);

describe('captures and the deletion of their endpoint', () => {
  test('each is stored and acknowledged, or refused; none after the answer to the deletion', async () => {
    for (let round = 0; round < 8; round++) {
      const shop = await createCapture(account, 'u', { unique_id: `going-${round}`, algorithm: 'uuid' });
      const before = Array.from({ length: 12 }, async (_, n) => {
        for (let ticks = 0; ticks < (n * round) % 7; ticks++) {
          await new Promise(setImmediate);
        }
        return capture(n % 2 === 0 ? vault : second, shop, { body: CARD });
      });
      const removed = account.via(second.handle).send('DELETE', `/capture/going-${round}`);
      const after = removed.then(() =>
        Promise.all([vault, second].map((server) => capture(server, shop, { body: CARD }))),
      );
      expect((await removed).outcome).toBe('200');
      for (const { outcome } of await after) {
        expect(outcome).toBe('403 endpoint_refused');
      }
      const answers = await Promise.all(before);
      const acknowledged = answers.filter(({ status }) => status === 200);
      expect(
        answers.every(({ status, outcome }) => status === 200 || outcome === '403 endpoint_refused'),
      ).toBe(true);
      const { data } = await account.sdk.vault.list({ user: 'u', reference: `going-${round}` });
      expect(data['u']?.map(({ token }) => token).sort()).toEqual(acknowledged.map(tokenIn).sort());
    }
  });

  test('one that was let in before it is stored under the key of the owner all the same', async () => {
    const shop = await createCapture(account, 'u', { unique_id: 'late' });
    const held = holdNext(vault.opened.stores.itemStore, 'write');
    const capturing = capture(vault, shop, { body: CARD });
    await held.reached;
    expect((await account.send('DELETE', '/capture/late')).outcome).toBe('200');
    held.release();
    const answer = await capturing;
    expect(answer.outcome).toBe('200');
    expect(await account.open('u', tokenIn(answer), { reference: 'late' })).toBe(JSON.stringify(CARD));
  });

  test('of two deletions one answers 200', async () => {
    for (let round = 0; round < 10; round++) {
      await createCapture(account, 'u', { unique_id: 'twice' });
      const outcomes = await Promise.all([
        account.send('DELETE', '/capture/twice'),
        account.via(second.handle).send('DELETE', '/retrieve/twice'),
      ]);
      expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['200', '404 endpoint_not_found']);
    }
  });
});

test('a capture that began before the deletion of its key lands in none made anew under the same name and passphrase', async () => {
  await account.key('anew');
  const shop = await createCapture(account, 'anew', { unique_id: 'of-anew' });
  const held = holdNext(vault.opened.stores.itemStore, 'write');
  const capturing = capture(vault, shop, { body: CARD });
  await held.reached;
  expect((await account.send('DELETE', '/key', { query: { user: 'anew' } })).outcome).toBe('200');
  await account.key('anew');
  held.release();
  expect((await capturing).outcome).toBe('410 endpoint_gone');
  expect((await account.sdk.vault.list({ user: 'anew' })).data).toEqual({ anew: [] });
  expect((await capture(vault, shop, { body: CARD })).outcome).toBe('403 endpoint_refused');
});
