import { describe, expect, test } from 'bun:test';
import type { AccountClient, Query } from '../helpers/clients.ts';
import { credentialClient } from '../helpers/credentials.ts';
import {
  anotherItem,
  attemptsBilled,
  CARD,
  type Item,
  jobsDone,
  networkToken,
  newItem,
  requester,
  settled,
  sourcesOf,
} from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import type { Act } from '../helpers/third-party.ts';
import { createReceiver, expectedSignature, type WebhookEvent } from '../helpers/webhook.ts';

const NETWORK_TOKEN = '4895370012003478';
const GRANTED = {
  token: NETWORK_TOKEN,
  expiry_month: '11',
  expiry_year: '2033',
  status: 'active',
  cryptogram: 'AgAAAAAAAIR8CQrXcIhbQAAAAAA=',
  eci: '05',
};

const { vault, party, item } = await openProxySetting((party) => {
  const headers = { Authorization: 'Bearer of the operator', 'X-Merchant': 'm 1' };
  return { proxy: { requesters: [requester('psp', party.url('/tokens'), { headers })] } };
});

/** Asks the requester, which does `acts`, for a token of an item, and gives what the webhook is told. */
async function asked(
  acts: Act[],
  of: Item = item,
  query: Query = {},
  form: (webhook: object) => object = (webhook) => webhook,
): Promise<WebhookEvent> {
  party.script('/tokens', ...acts);
  const receiver = createReceiver(party);
  const webhook = { ...receiver.webhook, metadata: { order: 9, token_info: 'mine' } };
  const answer = networkToken(of, form(webhook), { requester_id: 'psp', ...query });
  const event = await settled(answer, receiver);
  expect((await answer).json).toEqual({ message: expect.stringMatching(/\.$/), id: event.id });
  expect(event.received.header('webhook-signature')).toBe(
    expectedSignature(receiver.webhook.secret, event.received),
  );
  await jobsDone(vault, of.account);
  return event;
}
const granted: Act = { headers: [['Content-Type', 'application/json']], body: JSON.stringify(GRANTED) };

describe('a network token', () => {
  test('is asked for with the card as JSON and the operator’s headers', async () => {
    const before = party.calls('/tokens').length;
    const { id } = await asked([granted]);
    const [call, ...more] = party.calls('/tokens').slice(before);
    expect(more).toEqual([]);
    expect(JSON.parse(call?.text ?? '')).toEqual({
      number: CARD.card_number,
      expiry_month: '12',
      expiry_year: '2031',
      card_holder: CARD.card_holder,
      cvv: CARD.cvv,
    });
    expect([call?.method, call?.header('content-type'), call?.header('x-vault-request-id')]).toEqual([
      'POST',
      'application/json',
      id,
    ]);
    expect([call?.header('authorization'), call?.header('x-merchant')]).toEqual([
      'Bearer of the operator',
      'm 1',
    ]);
  });

  test('is stored under the same key, and told to the webhook but for its number’s secrets', async () => {
    const { json, received } = await asked([granted]);
    expect(json).toEqual({
      network_token: {
        token: NETWORK_TOKEN,
        expiry_month: '11',
        expiry_year: '2033',
        last_four: '3478',
        status: 'active',
      },
      token_info: {
        token: expect.any(String),
        user: 'u',
        stored_at: expect.any(String),
        created: expect.any(Boolean),
      },
      order: 9,
    });
    expect(received.text).not.toContain(GRANTED.cryptogram);
    const { token } = Object(json['token_info']) as { token: string };
    expect(token).not.toBe(item.token);
    expect(JSON.parse(await item.account.open('u', token))).toMatchObject({
      card_number: NETWORK_TOKEN,
      expiry_month: '11',
      expiry_year: '2033',
    });
    expect(await sourcesOf({ ...item, token })).toContain('encrypt proxy');
    expect(JSON.parse(await item.account.open('u', item.token))).toEqual(CARD);
  });

  test('takes the webhook as it is, or inside an object', async () => {
    const { json } = await asked([granted], item, {}, (webhook) => ({ webhook }));
    expect(json).toHaveProperty('network_token');
  });

  test('is asked for again after failures; each attempt is billed and logged', async () => {
    const other = await newItem(vault);
    const { json } = await asked([503, granted], other);
    expect(json).toHaveProperty('network_token');
    expect(await vault.usage(other.account)).toMatchObject({ network_token: 2 });
    expect((await sourcesOf(other)).filter((source) => source === 'decrypt proxy')).toHaveLength(2);
  });

  test('whose outcome is unknown is not asked for again, and its webhook says so', async () => {
    const before = party.calls('/tokens').length;
    const { json } = await asked(['reset', granted]);
    expect(json).toMatchObject({ code: 'outcome_unknown', order: 9 });
    expect(party.calls('/tokens').length - before).toBe(1);
  });

  test.each<[string, Act]>([
    ['no token', { body: '{"status":"active"}' }],
    ['a refusal', { status: 422, body: '{"error":"card not eligible"}' }],
  ])('that was answered with %s is told as a failure', async (_, act) => {
    const { json } = await asked([act]);
    expect(json).toMatchObject({ error: expect.any(String), code: 'reply_not_storable', order: 9 });
  });

  test('of an item with a reference needs it', async () => {
    const other = await anotherItem(item, { ...CARD, expiry_year: '2032' }, { reference: 'r' });
    const webhook = { url: party.url('/never') };
    expect((await networkToken(other, webhook, { requester_id: 'psp' })).outcome).toBe(
      '400 reference_required',
    );
    const { json } = await asked([granted], { ...other, reference: 'r' });
    expect(json).toHaveProperty('token_info');
  });

  test('comes from the built-in requester in staging', async () => {
    const { json } = await asked([500], item, { requester_id: 'sim' });
    const { token, user } = Object(json['token_info']) as { token: string; user: string };
    expect(user).toBe('u');
    const { network_token } = json as { network_token: { token: string; last_four: string; status: string } };
    expect(network_token.token).toMatch(/^\d{12,19}$/);
    expect(network_token.status).not.toBe('');
    expect(network_token.token.slice(-4)).toBe(network_token.last_four);
    expect(await item.account.open('u', token)).toContain(network_token.token);
  });
});

describe('a caller is told of a network token', () => {
  test('all, by the password of an account, also where that sees numbers masked', async () => {
    const masked = await newItem(vault, CARD, { unmasked: false });
    expect(Object(await asked([granted], masked)).json.network_token.token).toBe(NETWORK_TOKEN);
  });

  test('its last four digits with masked output, and its status without `vault:read`', async () => {
    const reader = await credentialClient(vault.handle, item.account, ['proxy:send', 'vault:read']);
    const sender = await credentialClient(vault.handle, item.account, ['proxy:send']);
    const told = async (account: AccountClient) =>
      Object(await asked([granted], { ...item, account })).json.network_token;
    expect(await told(reader)).toMatchObject({ token: '************3478', status: 'active' });
    expect(await told(sender)).toEqual({ status: 'active' });
    const echo: Act = (request) => ({
      headers: [['Content-Type', 'application/json']],
      body: JSON.stringify({ ...GRANTED, status: `echo ${request.text}` }),
    });
    expect(Object(await asked([echo], { ...item, account: sender })).json.network_token).toEqual({
      status: 'unknown',
    });
    expect(Object(await asked([echo], { ...item, account: reader })).json.network_token.status).toBe(
      'unknown',
    );
  });
});

describe('a network token is refused, and nobody asked', () => {
  const refusal = async (query: Query, of: Item = item, body: unknown = { url: party.url('/never') }) => {
    const [before, billed] = [party.connections(), await attemptsBilled(vault, of.account)];
    const { outcome, field } = await networkToken(of, body, query);
    expect(party.connections()).toBe(before);
    expect(await attemptsBilled(vault, of.account)).toBe(billed);
    return field === undefined ? outcome : `${outcome} ${field}`;
  };

  test('of a requester that there is none of', async () => {
    expect(await refusal({ requester_id: 'nobody' })).toBe('400 invalid_request query.requester_id');
    expect(await refusal({})).toBe('400 invalid_request query.requester_id');
  });

  test('without a webhook', async () => {
    expect(await refusal({ requester_id: 'psp' }, item, {})).toMatch(/^400 invalid_request body/);
    expect(await refusal({ requester_id: 'psp' }, item, '')).toMatch(/^400 /);
  });

  test('of an item without a number in it', async () => {
    const other = await anotherItem(item, { holder: 'Ada' }, { number: '1234567890123' });
    expect(await refusal({ requester_id: 'psp' }, other)).toBe('400 number_missing');
  });

  test('without the right passphrase or token', async () => {
    const webhook = { url: party.url('/never') };
    const query = { requester_id: 'psp' };
    const wrong = await networkToken(item, webhook, query, { passphrase: 'not the passphrase' });
    const missing = await networkToken({ ...item, token: 'nothing' }, webhook, query);
    expect([wrong.outcome, missing.outcome]).toEqual(['403 passphrase_wrong', '404 token_not_found']);
  });
});
