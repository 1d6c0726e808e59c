import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Answer, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { capture, createCapture, type MadeEndpoint, type Use } from '../helpers/endpoints.ts';
import { openTestVault } from '../helpers/vault.ts';

let rulesMade = 0;

const vault = await openTestVault();
const account = await vault.account();
await account.key('u');
afterAll(() => vault.close());

/** Makes a rule and gives its id. */
async function rule(...operations: object[]): Promise<string> {
  rulesMade += 1;
  const id = `rule-${rulesMade}`;
  expect((await account.send('POST', '/rule', { query: { id }, body: operations })).outcome).toBe('200');
  return id;
}
function removeRule(id: string): Promise<Answer> {
  return account.send('DELETE', '/rule', { query: { id } });
}

/** The exact text of what a capture with these rules stores. */
async function stored(body: unknown, rules: string, query: Query = {}): Promise<string> {
  const endpoint = await createCapture(account, 'u', { rules });
  const answer = await capture(vault, endpoint, { body, query: { ...query } });
  expect(answer.outcome).toBe('200');
  const { token, reference } = answer.as<{ token: string; reference: string }>();
  return account.open('u', token, { reference });
}

/** How many items the key has, and what the account has used. */
async function stateOf(): Promise<unknown> {
  return [
    (await account.sdk.vault.list({ user: 'u', limit: -1 })).data['u'],
    (await vault.usage(account))['capture'] ?? 0,
  ];
}

describe('a payment processor that forwards a card', () => {
  const FLATTEN = [
    {
      name: 'template',
      input_field: '*',
      output_field: '*',
      order_position: 1,
      arguments: {
        template:
          '{"card_number":"{{card.number}}","expiry_month":"{{card.exp_month}}","expiry_year":"{{card.exp_year}}",' +
          '"card_holder":"{{card.name}}","cvv":"{{card.cvc}}","order_id":"{{metadata.order_id}}",' +
          '"shop":"{{metadata.shop}}"}',
      },
    },
    {
      name: 'substr',
      input_field: 'expiry_year',
      output_field: 'expiry_year_short',
      order_position: 2,
      arguments: { start: -2, end: 0 },
    },
    {
      name: 'format',
      input_field: '*',
      output_field: 'expiry',
      order_position: 3,
      arguments: { format_string: '%v/%v', keys: ['expiry_month', 'expiry_year_short'] },
    },
  ];
  const forwarded = (name: string) => ({
    id: 'pm_1',
    object: 'payment_method',
    card: {
      number: '4242424242424242',
      exp_month: 12,
      exp_year: 2030,
      name,
      cvc: '123',
      brand: 'visa',
      checks: { cvc_check: 'pass' },
    },
    metadata: { order_id: 'A-1', shop: 'north', internal: true },
    livemode: false,
  });
  let endpoint: MadeEndpoint;

  beforeAll(async () => {
    await account.send('POST', '/rule', { query: { id: 'flatten' }, body: FLATTEN });
    endpoint = await createCapture(account, 'u', { rules: 'flatten', ttl: '0' });
  });
  const forward = (name: string, sending: Use = {}): Promise<Answer> =>
    capture(vault, endpoint, { body: forwarded(name), query: { reference: 'customer-7' }, ...sending });

  test('stores the seven flat fields and those of the metadata, and nothing else', async () => {
    const answer = await forward('Jane Doe', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(answer.outcome).toBe('200');
    const { token, ...rest } = answer.as<{ token: string }>();
    expect(rest).toEqual({ user: 'u', reference: 'customer-7' } as object);
    const shown = await account.open('u', token, { reference: 'customer-7' });
    expect(JSON.parse(shown)).toEqual({
      card_number: '4242424242424242',
      expiry_month: '12',
      expiry_year: '2030',
      expiry_year_short: '30',
      expiry: '12/30',
      card_holder: 'Jane Doe',
      cvv: '123',
      order_id: 'A-1',
      shop: 'north',
    });
  });

  test('gets the token that the flat card has, and the next forwarding replaces the data', async () => {
    const first = (await forward('Jane Doe')).as<{ token: string }>();
    const direct = await account.store('u', { card_number: '4242424242424242' }, { reference: 'customer-7' });
    expect(first.token).toBe(direct);
    const second = (await forward('Jane Roe')).as<{ token: string }>();
    expect(second).toEqual(first);
    expect(JSON.parse(await account.open('u', direct, { reference: 'customer-7' }))).toMatchObject({
      card_holder: 'Jane Roe',
    });
  });
});

describe('rules of a capture', () => {
  test('run right before storage: number, size and test cards are those of the result', async () => {
    const copy = await rule({ name: 'noop', input_field: 'card.number', output_field: 'number' });
    const drop = await rule({ name: 'template', arguments: { template: '{"holder":"{{holder}}"}' } });
    const twice = await rule({ name: 'noop', input_field: 'text', output_field: 'copy' });
    const half = await rule({ name: 'template', arguments: { template: '{"number":"{{number}}"}' } });
    expect(await stored({ card: { number: '4111' } }, copy)).toBe(
      '{"card":{"number":"4111"},"number":"4111"}',
    );
    const attempt = async (rules: string, body: unknown, query: Query = {}): Promise<string> =>
      (await capture(vault, await createCapture(account, 'u', { rules }), { body, query })).outcome;
    const before = await stateOf();
    expect(await attempt(drop, { number: '4111', holder: 'x' })).toBe('400 number_missing');
    expect(await attempt(twice, { number: '1', text: 'x'.repeat(150_000) })).toBe('413 body_too_large');
    expect(await attempt(copy, { card: { holder: 'no number' } })).toBe('400 number_missing');
    expect(await stateOf()).toEqual(before);
    expect(await attempt(drop, { holder: 'x' }, { number: '4111' })).toBe('200');
    expect(await attempt(half, { number: '2', text: 'x'.repeat(262_000) })).toBe('200');
    const tooLong = JSON.stringify({ number: '2', text: 'x'.repeat(262_144) });
    expect(await attempt(half, tooLong)).toBe('413 body_too_large');
  });

  test('the largest result that may be stored is stored, one byte more is not', async () => {
    const grow = await rule({
      name: 'replace',
      input_field: 'pad',
      arguments: { substr: 'p', new_str: 'pp' },
    });
    const bodyOf = (pad: number, text: number) => ({
      number: '3',
      pad: 'p'.repeat(pad),
      text: 't'.repeat(text),
    });
    const rest = 262_144 - JSON.stringify(bodyOf(0, 0)).length;
    const text = rest - 2_000;
    expect(await stored(bodyOf(1_000, text), grow)).toHaveLength(262_144);
    const endpoint = await createCapture(account, 'u', { rules: grow });
    expect((await capture(vault, endpoint, { body: bodyOf(1_000, text + 1) })).outcome).toBe(
      '413 body_too_large',
    );
  });

  test('decide what counts as a test card in production', async () => {
    const production = await openTestVault({ environment: 'production' });
    const client = await production.account();
    await client.key('u');
    const body = [
      { name: 'format', output_field: 'number', arguments: { format_string: '%v%v', keys: ['a', 'b'] } },
    ];
    await client.send('POST', '/rule', { query: { id: 'join' }, body });
    const endpoint = await createCapture(client, 'u', { rules: 'join' });
    const send = async (a: string, b: string): Promise<string> =>
      (await capture(production, endpoint, { body: { a, b, number: '9' } })).outcome;
    expect(await send('42424242', '42424242')).toBe('400 test_card');
    expect(await send('42424242', '42424243')).toBe('200');
    const joined = { number: '4242424242424242', a: '1', b: '2' };
    expect((await capture(production, endpoint, { body: joined })).outcome).toBe('200');
    await production.close();
  });

  test('leave what they do not touch exactly as it came', async () => {
    const tag = await rule({
      name: 'nonce',
      input_field: 'number',
      output_field: 'tag',
      arguments: { length: 2 },
    });
    const text =
      '{"number":12345678901234567890,"amount":1.10,"huge":1e400,"zero":-0,"__proto__":{"polluted":true},' +
      '"constructor":{"prototype":1},"":[[],{}],"list":[1.0,1.00,0.1e-7]}';
    const shown = await stored(text, tag);
    expect(shown.replace(/,"tag":"[0-9a-f]{4}"\}$/, '}')).toBe(text);
    expect(shown).not.toBe(text);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  test('see a body whose reference and number come in the query', async () => {
    const keep = await rule({ name: 'noop', input_field: 'note', output_field: 'copy' });
    const shown = await stored({ note: 'n' }, keep, { number: '12345678', reference: 'by query' });
    expect(shown).toBe('{"note":"n","copy":"n"}');
  });

  test('are looked up at use: one that is missing stores nothing, counts nothing, and may come later', async () => {
    const [here, gone] = [await rule({ name: 'noop' }), await rule({ name: 'noop' })];
    const endpoint = await createCapture(account, 'u', { rules: `${here},${gone}`, ttl: '0' });
    const send = async (): Promise<Answer> => capture(vault, endpoint, { body: { number: '5500' } });
    expect((await send()).outcome).toBe('200');
    await removeRule(gone);
    const before = await stateOf();
    const requests = (await vault.usage(account))['api_requests'] ?? 0;
    const refused = await send();
    expect(refused.outcome).toBe('404 rule_not_found');
    expect(refused.text).not.toContain(gone);
    expect((await capture(vault, endpoint, { body: { number: '5501' } })).outcome).toBe('404 rule_not_found');
    expect((await capture(vault, endpoint, { body: 'no json' })).status).toBeGreaterThanOrEqual(400);
    expect((await vault.usage(account))['api_requests'] ?? 0).toBe(requests);
    expect(await stateOf()).toEqual(before);
    const again = [{ name: 'noop', input_field: 'number', output_field: 'again' }];
    await account.send('POST', '/rule', { query: { id: gone }, body: again });
    expect((await send()).outcome).toBe('200');
  });

  test('cannot be chosen by whoever sends the data', async () => {
    const id = await rule({ name: 'template', arguments: { template: '{"number":"666"}' } });
    const endpoint = await createCapture(account, 'u');
    const sending = { body: { number: '5502' }, query: { rules: id } };
    const { token, reference } = (await capture(vault, endpoint, sending)).as<Record<string, string>>();
    expect(await account.open('u', token ?? '', { reference })).toBe('{"number":"5502"}');
    const direct = { passphrase: PASSPHRASE, body: { number: '5503' } };
    const refused = await account.send('POST', '/vault', { ...direct, query: { user: 'u', rules: id } });
    expect([refused.outcome, refused.field]).toEqual(['400 unknown_parameter', 'query.rules']);
  });
});
