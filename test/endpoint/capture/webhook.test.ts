/** The webhook of a capture endpoint: it is told of each capture, once accepted however often it takes. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { webhooks } from '../../../sdk/index.ts';
import type { CaptureWebhook } from '../../../sdk/transport/types.ts';
import { type AccountClient, PASSPHRASE, type Query } from '../../helpers/clients.ts';
import { capture, createRetrieve, type MadeEndpoint } from '../../helpers/endpoints.ts';
import { jobsDone, openProxyVault } from '../../helpers/proxy.ts';
import { type Act, startThirdParty, type ThirdParty } from '../../helpers/third-party.ts';
import type { TestVault } from '../../helpers/vault.ts';
import { createReceiver, expectedSignature, type Receiver } from '../../helpers/webhook.ts';

const CARD = { card_number: '4111111111111111', holder: 'Ada' };

let vault: TestVault;
let party: ThirdParty;
let account: AccountClient;

beforeAll(async () => {
  party = await startThirdParty();
  vault = await openProxyVault();
  account = await vault.account();
  await account.key('u');
});
afterAll(async () => {
  await vault.close();
  party.stop();
});

function create(body: unknown, query: Query = {}, owner = account) {
  return owner.send('POST', '/capture', { query: { user: 'u', ...query }, passphrase: PASSPHRASE, body });
}

/** An endpoint whose webhook a third party receives. */
async function told(webhook: object = {}, query: Query = {}, ...acts: Act[]) {
  const receiver = createReceiver(party, ...acts);
  const made = await create({ webhook: { ...receiver.webhook, ...webhook } }, query);
  expect(made.outcome).toBe('200');
  return { receiver, endpoint: made.as<MadeEndpoint>() };
}

async function checked({ webhook }: Receiver, { json, received }: Awaited<ReturnType<Receiver['next']>>) {
  expect(received.header('webhook-signature')).toBe(expectedSignature(webhook.secret, received));
  expect(received.header('x-vault-webhook-secret')).toBe(webhook.secret);
  const headers = ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'x-vault-webhook-secret'];
  const given = Object.fromEntries(headers.map((name) => [name, received.header(name) ?? '']));
  const event = await webhooks.verify<object, CaptureWebhook>(given, received.text, webhook.secret);
  expect(event).toEqual(json as never);
  return event;
}

describe('a capture', () => {
  test('is told as its sender learns of it, with the metadata, and nothing of what was sent', async () => {
    const { receiver, endpoint } = await told({
      metadata: { order: '4711', n: 1, token: 'mine', code: 'x' },
    });
    const sent = await capture(vault, endpoint, { body: CARD, query: { return_card_metadata: true } });
    const event = await receiver.next();
    const reply = sent.as<object>();
    expect(reply).toHaveProperty('card_metadata');
    expect(await checked(receiver, event)).toEqual({ ...reply, order: '4711', n: 1 } as never);
    expect(event.received.text).not.toContain(CARD.card_number);
    expect(event.received.text).not.toContain('Ada');
    await jobsDone(vault, account);
  });

  test('is told in each of its calls, under an id of its own', async () => {
    const { receiver, endpoint } = await told({}, { reference: 'twice' });
    await capture(vault, endpoint, { body: CARD });
    await capture(vault, endpoint, { body: CARD });
    const [first, second] = [await receiver.next(), await receiver.next()];
    expect(first.json).toEqual(second.json);
    expect(first.id).not.toBe(second.id);
    await jobsDone(vault, account);
  });

  test('is told again until the webhook has answered 200, and as often as it may be', async () => {
    const fine = await told({ max_attempts: 3 }, {}, 500, 200);
    const never = await told({ max_attempts: 2 }, {}, 500, 500, 500);
    await capture(vault, fine.endpoint, { body: CARD });
    await capture(vault, never.endpoint, { body: CARD });
    const [a, b] = [await fine.receiver.next(), await fine.receiver.next()];
    expect(a.id).toBe(b.id);
    await never.receiver.next();
    await never.receiver.next();
    await jobsDone(vault, account);
    expect([fine.receiver.events().length, never.receiver.events().length]).toEqual([2, 2]);
  });

  test('is told once where its request is repeated with its key', async () => {
    const { receiver, endpoint } = await told({}, { overwrite: false, reference: 'keyed' });
    const use = { body: CARD, idempotencyKey: 'k1' };
    await capture(vault, endpoint, use);
    const again = await capture(vault, endpoint, use);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    await receiver.next();
    await jobsDone(vault, account);
    expect(receiver.events()).toHaveLength(1);
  });

  test('that is refused is not told; one of a single item is', async () => {
    const token = await account.store('u', { ...CARD, card_number: '4242424242424242' });
    const { receiver, endpoint } = await told({ secret: undefined }, { token });
    expect((await capture(vault, endpoint, { body: [] })).status).toBe(400);
    expect((await capture(vault, endpoint, { body: { cvv: '1' } })).outcome).toBe('200');
    const { json, received } = await receiver.next();
    expect(json).toEqual({ token, user: 'u' });
    expect(received.header('webhook-signature')).toBeUndefined();
    await jobsDone(vault, account);
    expect(receiver.events()).toHaveLength(1);
  });

  test('is not told any more when its key is gone', async () => {
    const owner = await vault.account();
    await owner.key('u');
    const receiver = createReceiver(party, 500, 500, 500, 500, 500, 500, 500, 500);
    const made = await create({ webhook: { ...receiver.webhook, max_attempts: 8 } }, {}, owner);
    await capture(vault, made.as<MadeEndpoint>(), { body: CARD });
    await receiver.next();
    const gone = await owner.send('DELETE', '/key', {
      query: { user: 'u', safe: false },
      passphrase: PASSPHRASE,
    });
    expect(gone.outcome).toBe('200');
    await jobsDone(vault, owner);
  });
});

describe('an endpoint', () => {
  test('shows nothing of its webhook, here and in Redis', async () => {
    const { endpoint, receiver } = await told({ secret: 'a secret nobody sees' });
    const list = await account.send('GET', '/capture');
    expect(list.text).toContain(endpoint.unique_id);
    expect(list.text).not.toContain(receiver.webhook.url);
    expect(list.text).not.toContain('a secret nobody sees');
    for (const name of await vault.raw.keys('{e:*')) {
      const fields = await vault.raw.hgetallBuffer(name);
      expect(Object.values(fields).some((value) => value.includes('a secret nobody sees'))).toBe(false);
    }
  });

  const wrong: readonly (readonly [unknown, string, string | undefined])[] = [
    ['{', '400 invalid_json', 'body'],
    [[], '400 invalid_request', 'body'],
    [{ webhook: 'https://x' }, '400 invalid_request', 'body.webhook'],
    [{ webhook: {} }, '400 invalid_request', 'body.webhook.url'],
    [{ webhook: { url: 'http://example.com' } }, '400 invalid_request', 'body.webhook.url'],
    [{ webhook: { url: 'https://10.0.0.1/x' } }, '400 destination_refused', 'body.webhook.url'],
    [
      { webhook: { url: 'https://example.com', max_attempts: 9 } },
      '400 invalid_request',
      'body.webhook.max_attempts',
    ],
    [{ webhook: { url: 'https://example.com', tries: 3 } }, '400 unknown_parameter', 'body.webhook.tries'],
    [{ webhok: { url: 'https://example.com' } }, '400 unknown_parameter', 'body.webhok'],
    [{ reference: 'x' }, '400 unknown_parameter', 'body.reference'],
  ];
  test.each(wrong)('is refused with %j', async (body, outcome, field) => {
    const refused = await create(body, { unique_id: 'refused' });
    expect([refused.outcome, refused.field]).toEqual([outcome, field]);
    expect((await account.send('GET', '/capture')).text).not.toContain('refused');
  });

  test('is refused where the account may not send there, and takes no webhook in the query', async () => {
    const limited = await vault.account({ hosts: ['example.com'] });
    await limited.key('u');
    const body = { webhook: { url: party.url('/x') } };
    expect((await create(body, {}, limited)).outcome).toBe('400 destination_refused');
    const misplaced = await create(undefined, { webhook: 'https://example.com' });
    expect([misplaced.outcome, misplaced.field]).toEqual(['400 unknown_parameter', 'query.webhook']);
  });

  test('without a webhook is made with no body, an empty one, and an empty object', async () => {
    for (const body of [undefined, '', {}, { webhook: null }]) {
      expect((await create(body)).outcome).toBe('200');
    }
    const retrieval = await createRetrieve(account, 'u');
    expect(retrieval.secret).toStartWith('vrs1_');
  });

  test('is made by the SDK', async () => {
    const receiver = createReceiver(party);
    const made = await account.sdk.capture.create({
      user: 'u',
      webhook: { ...receiver.webhook, metadata: { a: 1 } },
    });
    await account.sdk.capture.submit({ ...made, data: CARD, reference: 'sdk' });
    expect((await receiver.next()).json).toMatchObject({ reference: 'sdk', a: 1 });
    await jobsDone(vault, account);
  });
});
