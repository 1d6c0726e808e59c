/** What the owner of a capture endpoint settles for those who send: reference, format of the body, and whether to replace. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { AccountClient, Answer, Query } from '../../helpers/clients.ts';
import { capture, createCapture, type MadeEndpoint, type Use } from '../../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const NUMBER = '4111111111111111';
const CARD = { card_number: NUMBER, holder: 'Ada' };

let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  await account.key('u');
});
afterAll(() => vault.close());

function make(query: Query): Promise<MadeEndpoint> {
  return createCapture(account, 'u', query);
}
function send(endpoint: MadeEndpoint, use: Use = {}): Promise<Answer> {
  return capture(vault, endpoint, { body: CARD, ...use });
}
function tokenOf(answer: Answer): string {
  expect(answer.outcome).toBe('200');
  return answer.as<{ token: string }>().token;
}

describe('a reference', () => {
  test('is that of the request, else of the endpoint, else its id; the list shows the endpoint’s', async () => {
    const [own, bare] = [await make({ reference: 'order 7' }), await make({ unique_id: 'bare' })];
    const referenceOf = async (endpoint: MadeEndpoint, use: Use = {}) =>
      (await send(endpoint, use)).as<{ reference: string }>().reference;
    expect(await referenceOf(own)).toBe('order 7');
    expect(await referenceOf(own, { query: { reference: 'order 8' } })).toBe('order 8');
    expect(await referenceOf(bare)).toBe('bare');
    const list = (await account.send('GET', '/capture')).as<readonly MadeEndpoint[]>();
    const shown = new Map(list.map((each) => [each.unique_id, Object(each).reference]));
    expect([shown.get(own.unique_id), shown.get('bare')]).toEqual(['order 7', undefined]);
  });
});

describe('an item that is there', () => {
  test('is replaced, unless the endpoint does not; then nothing of it changes', async () => {
    const query = { reference: 'kept' };
    const [once, replacing] = [await make({ ...query, overwrite: false }), await make(query)];
    const token = tokenOf(await send(once));
    const refused = await send(once, { body: { ...CARD, holder: 'Eve' } });
    expect(refused.outcome).toBe('409 token_exists');
    expect(refused.text).not.toContain(token);
    expect(JSON.parse(await account.open('u', token, query))).toEqual(CARD);
    expect(tokenOf(await send(replacing, { body: { ...CARD, holder: 'Eve' } }))).toBe(token);
    expect(JSON.parse(await account.open('u', token, query))).toEqual({ ...CARD, holder: 'Eve' });
    await account.sdk.vault.delete({ user: 'u', token, reference: 'kept' });
    expect(tokenOf(await send(once))).toBe(token);
  });

  test('is its own where the request is repeated with its key', async () => {
    const once = await make({ reference: 'repeated', overwrite: false });
    const first = await send(once, { idempotencyKey: 'k1' });
    const again = await send(once, { idempotencyKey: 'k1' });
    expect([again.outcome, again.text]).toEqual(['200', first.text]);
    expect((await send(once, { idempotencyKey: 'k2' })).outcome).toBe('409 token_exists');
  });

  test('is stored by one of many that come at the same instant', async () => {
    const once = await make({ reference: 'raced', overwrite: false });
    const bodies = Array.from({ length: 20 }, (_, n) => ({ ...CARD, holder: `holder ${n}` }));
    const answers = await Promise.all(bodies.map((body) => send(once, { body })));
    const won = answers.findIndex(({ outcome }) => outcome === '200');
    expect(answers.map(({ outcome }) => outcome).sort()).toEqual([
      '200',
      ...Array<string>(19).fill('409 token_exists'),
    ]);
    const answer = answers[won];
    const stored = await account.open('u', answer === undefined ? '' : tokenOf(answer), {
      reference: 'raced',
    });
    expect(JSON.parse(stored)).toEqual(bodies[won]);
  });
});

describe('a body of any format', () => {
  const bodies: readonly (readonly [string, string, string])[] = [
    ['a form', 'application/x-www-form-urlencoded', `pan=${NUMBER}&cvc=123&name=Ada`],
    ['XML', 'text/xml', `<card><pan>${NUMBER}</pan><cvc>123</cvc></card>`],
    ['JSON with other names', 'application/json', `{"card":{"pan":"${NUMBER}"}}`],
    ['text without a type', '', `Please charge ${NUMBER}.`],
  ];
  test.each(bodies)('%s is taken where the endpoint says so, and nowhere else', async (_, type, body) => {
    const reference = type === '' ? 'none' : type;
    const [smart, plain] = [await make({ smart_parse: true, reference }), await make({})];
    const use = { body, headers: type === '' ? {} : { 'content-type': type } };
    const stored = JSON.parse(await account.open('u', tokenOf(await send(smart, use)), { reference }));
    expect(stored).toMatchObject({ card_number: NUMBER });
    expect(stored.original_data).toContain('{{');
    expect(stored.original_data).not.toContain(NUMBER);
    expect((await send(plain, use)).status).toBe(400);
  });

  test.each(['', 'nothing to see', '<a/>', '\uffff'])('without a card is refused: %p', async (body) => {
    const smart = await make({ smart_parse: true });
    expect((await send(smart, { body })).outcome).toBe('400 number_missing');
  });

  test('is measured as it came, and its rules see what was found', async () => {
    const rule = [
      { name: 'substr', input_field: 'card_number', output_field: 'last', arguments: { start: -4 } },
    ];
    await account.send('POST', '/rule', { query: { id: 'last-four' }, body: rule });
    const smart = await make({ smart_parse: true, rules: 'last-four', reference: 'ruled' });
    const token = tokenOf(await send(smart, { body: `number: ${NUMBER}` }));
    expect(JSON.parse(await account.open('u', token, { reference: 'ruled' }))).toMatchObject({
      last: '1111',
    });
    const large = `${NUMBER} ${'x'.repeat(262_144)}`;
    expect((await send(smart, { body: large })).outcome).toBe('413 body_too_large');
  });
});
