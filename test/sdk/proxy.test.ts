import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import {
  type ErrorCode,
  type FailureWebhook,
  type GetWebhook,
  type NetworkTokenWebhook,
  type PostWebhook,
  type ProxyAccepted,
  type ProxyReply,
  type TokenInfo,
  Vault,
  type WebhookPayload,
  webhooks,
} from '../../sdk/index.ts';
import type { AccountClient } from '../helpers/clients.ts';
import { localProxy } from '../helpers/proxy.ts';
import { startThirdParty, type ThirdParty } from '../helpers/third-party.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { createReceiver, type WebhookEvent } from '../helpers/webhook.ts';
import { losingFirstReply, outcomeOf } from './live.ts';
import { type Answer, json, openPeer, openRawPeer, refusal } from './peer.ts';

const CARD = '4111111111111111';
const CHARGE = { method: 'POST', url: 'https://pay.example.com', body: '{"n":"{{card_number}}"}' } as const;

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) {
    await close();
  }
});

function clientTo(baseUrl: string, retries: number): Vault {
  return new Vault({ baseUrl, username: 'shop', password: 'p', passphrase: 'pass', retries });
}

function setUp(retries: number, ...answers: Answer[]) {
  const peer = openPeer(...answers);
  closers.push(peer.close);
  return { peer, client: clientTo(peer.baseUrl, retries) };
}

const charge = { user: 'shop', token: 't1', request: CHARGE, synchronous: true } as const;

describe('what is repeated', () => {
  test('a lost reply, under the same key', async () => {
    const peer = openRawPeer(
      (socket) => socket.terminate(),
      (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n{"status_code":201}'),
    );
    closers.push(peer.close);
    expect(await clientTo(peer.baseUrl, 1).proxy.post(charge)).toEqual({ status_code: 201 } as ProxyReply);
    const keys = peer.requests.map((request) => /^idempotency-key: (.*)$/im.exec(request)?.[1]);
    expect(keys).toHaveLength(2);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(keys[1]).toBe(keys[0] ?? '');
  });

  test('nothing without a key', async () => {
    const peer = openRawPeer((socket) => socket.terminate());
    closers.push(peer.close);
    const client = clientTo(peer.baseUrl, 0);
    for (const call of [
      () => client.proxy.post(charge),
      () => client.proxy.fetch({ user: 'shop', request: CHARGE, synchronous: true }),
    ]) {
      const before = peer.requests.length;
      expect(await outcomeOf(call)).toStartWith('VaultConnectionError');
      expect(peer.requests).toHaveLength(before + 1);
    }
    expect(peer.requests.join('')).not.toMatch(/idempotency-key/i);
  });

  test('the refusal of a service that is busy', async () => {
    const { peer, client } = setUp(1, refusal(503, 'overloaded'), json({ message: 'm', id: 'i' }));
    const webhook = { url: 'https://shop.example.com' };
    const accepted = await client.proxy.post({ ...charge, synchronous: false, webhook });
    expect(accepted.id).toBe('i');
    expect(peer.seen).toHaveLength(2);
  });

  test.each([
    [502, 'outcome_unknown'],
    [502, 'target_unreachable'],
    [502, 'reply_not_storable'],
    [504, 'target_timeout'],
    [409, 'idempotency_conflict'],
    [400, 'destination_refused'],
  ])('never %d %s', async (status, code) => {
    const { peer, client } = setUp(3, refusal(status, code));
    expect(await outcomeOf(() => client.proxy.post(charge))).toBe(`${status} ${code}`);
    expect(peer.seen).toHaveLength(1);
  });

  test('not a full queue that asks for more time than there is', async () => {
    const { peer, client } = setUp(3, refusal(429, 'jobs_full', { 'Retry-After': '60' }));
    const webhook = { url: 'https://shop.example.com' };
    const call = () => client.proxy.networkToken({ user: 'shop', token: 't1', requester_id: 'sim', webhook });
    expect(await outcomeOf(call)).toBe('429 jobs_full');
    expect(peer.seen).toHaveLength(1);
  });
});

test("a call's own passphrase and key come before the client's", async () => {
  const { peer, client } = setUp(1, json({}));
  await client.proxy.post({ ...charge, passphrase: 'own' }, { idempotencyKey: 'order-4711' });
  expect(peer.seen[0]?.headers.get('x-vault-passphrase')).toBe('own');
  expect(peer.seen[0]?.headers.get('idempotency-key')).toBe('order-4711');
  expect(peer.seen[0]?.body).toBe(JSON.stringify({ request: CHARGE, synchronous: true }));
});

/** Compiles only as long as a receiver can tell what it was told. */
function tellOf(event: WebhookPayload & { readonly order?: string }): string {
  if ('error' in event) {
    const code: ErrorCode = event.code;
    return code;
  }
  if ('network_token' in event) {
    const { network_token, token_info }: NetworkTokenWebhook = event;
    return `${network_token.last_four} ${token_info.user}`;
  }
  const status: number = event.status_code;
  const info: TokenInfo | undefined = 'token_info' in event ? event.token_info : undefined;
  return `${status} ${info === undefined ? 'nothing stored' : 'stored'}`;
}

test('the kinds of webhooks are told apart', () => {
  const token_info = { token: 't1', user: 'shop', stored_at: '2026-01-31T12:00:00.123Z', created: true };
  const failure: FailureWebhook = { error: 'A sentence.', code: 'outcome_unknown' };
  const post: PostWebhook = { headers: [{ 'X-A': 'b' }], body: '', status_code: 402 };
  const unstored: GetWebhook = { headers: [], status_code: 503 };
  const network: NetworkTokenWebhook = {
    network_token: { token: 't', expiry_month: '1', expiry_year: '2', last_four: '1111', status: 'active' },
    token_info,
  };
  expect(
    [failure, post, unstored, { ...unstored, status_code: 200, token_info }, network].map(tellOf),
  ).toEqual(['outcome_unknown', '402 nothing stored', '503 nothing stored', '200 stored', '1111 shop']);
});

describe('against the vault', () => {
  let vault: TestVault;
  let party: ThirdParty;
  let owner: AccountClient;
  let token = '';

  beforeAll(async () => {
    party = await startThirdParty();
    vault = await openTestVault({ proxy: await localProxy() });
    owner = await vault.account();
    await owner.key('customers');
    ({ token } = await owner.sdk.vault.store({ user: 'customers', data: { card_number: CARD, cvv: '123' } }));
  });
  afterAll(async () => {
    await vault?.close();
    party?.stop();
  });

  const requestTo = (path: string) => ({ ...CHARGE, url: party.url(path) });

  /** What a webhook was told, checked as a receiver would. */
  const verified = ({ received }: WebhookEvent, secret: string) =>
    webhooks.verify<{ order: string }>(Object.fromEntries(received.headers), received.text, secret);

  test('post gives what the third party answered', async () => {
    party.script('/charge', { status: 402, headers: [['X-Reason', 'declined']], body: 'no' });
    const reply = await owner.sdk.proxy.post({
      user: 'customers',
      token,
      request: requestTo('/charge'),
      synchronous: true,
      debug: true,
    });
    expect(reply).toMatchObject({ status_code: 402, body: 'no' });
    expect(reply.headers).toContainEqual({ 'X-Reason': 'declined' });
    expect(reply.populated_template?.body).toBe(`{"n":"${CARD}"}`);
    expect((await party.call('/charge')).text).toBe(`{"n":"${CARD}"}`);
  });

  test('post tells a webhook that webhooks.verify takes', async () => {
    party.script('/later', { status: 201, body: 'created' });
    const receiver = createReceiver(party);
    const accepted: ProxyAccepted = await owner.sdk.proxy.post({
      user: 'customers',
      token,
      request: requestTo('/later'),
      webhook: { ...receiver.webhook, metadata: { order: '4711' } },
    });
    const event = await receiver.next();
    expect(event.id).toBe(accepted.id);
    const told = await verified(event, receiver.webhook.secret);
    expect(told.order).toBe('4711');
    expect(tellOf(told)).toBe('201 nothing stored');
  });

  test('a reply that was lost does not send the request again', async () => {
    party.script('/once', { status: 201, body: '1' }, { status: 201, body: '2' });
    const client = owner.sdkWith({ fetch: losingFirstReply(vault.handle) });
    const order = { user: 'customers', token, request: requestTo('/once'), synchronous: true } as const;
    expect((await client.proxy.post(order)).body).toBe('1');
    expect(party.calls('/once')).toHaveLength(1);
  });

  test('fetch stores what the third party answers', async () => {
    party.script('/card', { body: `<card><pan>5555555555554444</pan></card>` });
    const stored = await owner.sdk.proxy.fetch({
      user: 'customers',
      smart_parse: true,
      request: { method: 'GET', url: party.url('/card') },
      synchronous: true,
    });
    expect(stored.body).toBe('<card><pan>{{card_number}}</pan></card>');
    const { token: made } = stored.token_info ?? { token: '' };
    const card = await owner.sdk.vault.decrypt({ user: 'customers', token: made });
    expect(card['card_number']).toBe('5555555555554444');
  });

  test('networkToken tells of the token that it stored', async () => {
    const receiver = createReceiver(party);
    const { webhook } = receiver;
    await owner.sdk.proxy.networkToken({ user: 'customers', token, requester_id: 'sim', webhook });
    const told = await verified(await receiver.next(), webhook.secret);
    expect(tellOf(told)).toMatch(/^\d{4} customers$/);
  });
});
