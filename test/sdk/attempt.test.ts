import { describe, expect, test } from 'bun:test';
import { type Attempt, Vault, type VaultOptions } from '../../sdk/index.ts';
import { type Answer, closedBaseUrl, closingAfterEach, json, openPeer, refusal } from './peer.ts';

const OVERLOADED = refusal(503, 'overloaded', { 'Retry-After': '0' });
const ITEM = { user: 'canary-user', token: 'canary-token', reference: 'canary-reference' };
const DATA = { card_number: '4111111111111111' };

const keep = closingAfterEach();

function setUp(answers: Answer[], more: Partial<VaultOptions> = {}) {
  const peer = keep(openPeer(...answers));
  const attempts: Attempt[] = [];
  const client = new Vault({
    baseUrl: peer.baseUrl,
    username: 'shop',
    password: 'canary-password',
    passphrase: 'canary-passphrase',
    onAttempt: (attempt) => attempts.push(attempt),
    ...more,
  } as VaultOptions);
  return { peer, client, attempts };
}

describe('whoever wants to know of attempts', () => {
  test('is told of each, with how it ended', async () => {
    const { client, attempts } = setUp([OVERLOADED, json({ token: 't' }, { 'X-Request-Id': 'req-22222' })]);
    await client.vault.store({ user: 'shop', data: DATA });
    const alike = { method: 'POST', path: '/vault', elapsedMs: expect.any(Number) };
    expect(attempts).toEqual([
      { ...alike, number: 1, status: 503, requestId: undefined, error: expect.any(Error) },
      { ...alike, number: 2, status: 200, requestId: 'req-22222', error: undefined },
    ]);
    expect(attempts[0]?.error).toMatchObject({ code: 'overloaded', requestId: 'req-1' });
    expect(attempts.every(({ elapsedMs }) => elapsedMs >= 0 && elapsedMs < 10_000)).toBe(true);
  });

  test('may be async and fail: the call goes on, and so does the program', async () => {
    const failed: unknown[] = [];
    const note = (reason: unknown) => void failed.push(reason);
    process.on('unhandledRejection', note);
    keep({ close: () => process.off('unhandledRejection', note) });
    const onAttempt = async (): Promise<void> => {
      throw new Error('the log is full');
    };
    const { client } = setUp([json({ user: 'shop' })], { onAttempt });
    expect(await client.admin.whoami()).toMatchObject({ user: 'shop' });
    await Bun.sleep(0);
    expect(failed).toEqual([]);
  });

  test('hears of no reply, and of a call that was cancelled', async () => {
    const { client, attempts } = setUp([], { baseUrl: closedBaseUrl(), retries: 0 });
    await expect(client.vault.list()).rejects.toThrow('connection');
    expect(attempts).toMatchObject([{ status: undefined, error: { name: 'VaultConnectionError' } }]);
    const reason = new Error('enough');
    const controller = new AbortController();
    const hanging = setUp([
      () => {
        controller.abort(reason);
        return new Promise(() => {});
      },
    ]);
    await expect(hanging.client.vault.list({}, { signal: controller.signal })).rejects.toBe(reason);
    expect(hanging.attempts).toMatchObject([{ status: undefined, error: reason }]);
    const aborted = AbortSignal.abort(reason);
    await expect(hanging.client.vault.list({}, { signal: aborted })).rejects.toBe(reason);
    expect(hanging.attempts).toHaveLength(1);
  });

  test('hears nothing of what was sent or received', async () => {
    const { client, attempts } = setUp([
      json(DATA),
      refusal(403, 'passphrase_wrong', {}, { field: 'query.user', ...DATA }),
    ]);
    await client.vault.decrypt(ITEM);
    await expect(client.vault.update({ ...ITEM, data: DATA })).rejects.toThrow('passphrase_wrong');
    expect(attempts).toHaveLength(2);
    const shown = `${JSON.stringify(attempts)} ${Bun.inspect(attempts, { depth: 9 })}`;
    expect(shown).not.toMatch(/canary|4111/);
  });

  test('does no harm by an error of its own', async () => {
    const { client } = setUp([OVERLOADED, json([])], {
      onAttempt: () => {
        throw new Error('the log is full');
      },
    });
    expect(await client.rules.list()).toEqual([]);
  });
});

describe('retries of a single call', () => {
  test('come before those of the client, either way', async () => {
    const { client, peer } = setUp([OVERLOADED, OVERLOADED, json([])], { retries: 0 });
    await expect(client.rules.list()).rejects.toThrow('overloaded');
    expect(await client.rules.list({ retries: 1 })).toEqual([]);
    expect(peer.seen).toHaveLength(3);
  });

  test('decide whether a write needs an idempotency key', async () => {
    const { client, peer } = setUp([json({}), json({})], { retries: 0 });
    await client.vault.store({ user: 'shop', data: DATA });
    await client.vault.store({ user: 'shop', data: DATA }, { retries: 2 });
    const keys = peer.seen.map(({ headers }) => headers.get('idempotency-key'));
    expect(keys).toEqual([null, expect.stringMatching(/^[0-9a-f]{32}$/)]);
  });

  test.each([-1, 0.5, Number.NaN])('of %d are refused before anything is sent', async (retries) => {
    const { client, peer } = setUp([]);
    await expect(client.rules.list({ retries })).rejects.toMatchObject({ name: 'VaultError' });
    expect(peer.seen).toEqual([]);
  });
});
