import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  type ErrorCode,
  type NetworkTokenWebhook,
  type ProxyAccepted,
  type TokenInfo,
  type WebhookPayload,
  webhooks,
} from '../../sdk/index.ts';
import type { AccountClient } from '../helpers/clients.ts';
import { localProxy } from '../helpers/proxy.ts';
import { startThirdParty, type ThirdParty } from '../helpers/third-party.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { createReceiver, type WebhookEvent } from '../helpers/webhook.ts';
import { losingFirstReply } from './live.ts';

const CARD = '4111111111111111';
const CHARGE = { method: 'POST', url: 'https://pay.example.com', body: '{"n":"{{card_number}}"}' } as const;

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

  test('networkToken tells of the token that it stored', async () => {
    const receiver = createReceiver(party);
    const { webhook } = receiver;
    await owner.sdk.proxy.networkToken({ user: 'customers', token, requester_id: 'sim', webhook });
    const told = await verified(await receiver.next(), webhook.secret);
    expect(tellOf(told)).toMatch(/^\d{4} customers$/);
  });
});
