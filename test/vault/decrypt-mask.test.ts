import { afterAll, describe, expect, test } from 'bun:test';
import { type AccountClient, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

const CODES = 'cvv,cvc,cvv2,cvc2,cvn,cid,security_code,card_cvv,pin,pin_block,track1,track2'.split(',');

const vault = await openTestVault();
const masked = await vault.account({ unmasked: false });
const unmasked = await vault.account();
await Promise.all([masked.key('u'), unmasked.key('u')]);
afterAll(() => vault.close());

/** What an account sees of an object, opened alone; opened with its whole key it must look the same. */
async function seenBy(client: AccountClient, stored: unknown, query: Query = {}): Promise<unknown> {
  const token = await client.store('u', stored, { number: '1' });
  const alone = await client.open('u', token, query);
  const all = await client.send('GET', '/vault', {
    query: { user: 'u', decrypt_all: true, ...query },
    passphrase: PASSPHRASE,
  });
  expect(all.text).toContain(`"data":${alone}}`);
  await client.sdk.vault.delete({ user: 'u', token });
  return JSON.parse(alone);
}

describe('an account without unmasked output', () => {
  test('sees the last four of every name of a number, and nothing of a code, at any depth', async () => {
    const names = ['card_number', 'account_number', 'n', 'number', 'pan'];
    const numbers = Object.fromEntries(names.map((name) => [name, '4111111111111234']));
    const hidden = Object.fromEntries(names.map((name) => [name, '************1234']));
    expect(await seenBy(masked, { ...numbers, deep: [numbers] })).toEqual({ ...hidden, deep: [hidden] });
    const codes = Object.fromEntries(CODES.map((name) => [name, ['12', { a: 'b c' }]]));
    const gone = Object.fromEntries(CODES.map((name) => [name, ['**', { a: '***' }]]));
    expect(await seenBy(masked, { ...codes, deep: [codes] })).toEqual({ ...gone, deep: [gone] });
  });

  const cases: readonly (readonly [string, object, object])[] = [
    ['spaces stay', { number: '4111 1111 1111 1234' }, { number: '**** **** **** 1234' }],
    ['an integer becomes the masked text', { number: 4111111111111234 }, { number: '************1234' }],
    [
      'all that such a name holds, whole',
      { number: { left: '12345', right: ['67890', { x: 54321 }] } },
      { number: { left: '*****', right: ['*****', { x: '*****' }] } },
    ],
    [
      'names in other letters too, null stays null',
      { Card_Number: '12345', PAN: '54321', number: null },
      { Card_Number: '*2345', PAN: '*4321', number: null },
    ],
    [
      'nothing else',
      { number: '12345', numbers: '12345', my_number: '12345', holder: 'Ada' },
      { number: '*2345', numbers: '12345', my_number: '12345', holder: 'Ada' },
    ],
  ];
  test.each(cases)('%s', async (_, stored, seen) => {
    expect(await seenBy(masked, stored)).toEqual(seen);
  });

  test('sees the same through the SDK, and numbers keep their text elsewhere', async () => {
    const token = await masked.store('u', '{"number":"12345","amount":1.10,"id":9007199254740993}');
    expect(await masked.sdk.vault.decryptText({ user: 'u', token })).toBe(
      '{"number":"*2345","amount":1.10,"id":9007199254740993}',
    );
  });

  test('mask_fields come on top', async () => {
    const seen = await seenBy(
      masked,
      { number: '12345', holder: 'Ada Lovelace', cvv: '123' },
      { mask_fields: 'holder' },
    );
    expect(seen).toEqual({ number: '*2345', holder: '*** ****lace', cvv: '***' });
  });

  test('masking is of the reply alone: when output is unmasked later, all is there', async () => {
    const other = await vault.account({ unmasked: false });
    await other.key('u');
    const token = await other.store('u', { number: '12345', cvv: '123' });
    expect(await other.open('u', token)).toBe('{"number":"*2345","cvv":"***"}');
    await vault.opened.services.accounts.set(other.name, { unmasked: true });
    expect(await other.open('u', token)).toBe('{"number":"12345","cvv":"123"}');
    await vault.opened.services.accounts.set(other.name, { unmasked: false });
    expect(await other.open('u', token)).toBe('{"number":"*2345","cvv":"***"}');
  });

  test('an update under masked output does not store the mask', async () => {
    const token = await masked.store('u', { number: '67890', holder: 'Ada', cvv: '123' });
    await masked.sdk.vault.update({ user: 'u', token, data: { number: '*7890', holder: 'Grace' } });
    await vault.opened.services.accounts.set(masked.name, { unmasked: true });
    expect(await masked.open('u', token)).toBe('{"number":"67890","holder":"Grace","cvv":"123"}');
    await vault.opened.services.accounts.set(masked.name, { unmasked: false });
  });
});

describe('an account with unmasked output', () => {
  const stored = {
    card_number: '4111111111111234',
    cvv: '123',
    holder: 'Ada Lovelace',
    card: { number: '5555555555554444', cvc: '999', holder: 'Grace' },
    cards: [{ number: '12345' }, { number: '67890' }],
    'a.b': 'dotted name',
  };

  test('sees everything', async () => {
    expect(await seenBy(unmasked, stored)).toEqual(stored);
  });

  const cases: readonly (readonly [string, string, object])[] = [
    ['a name', 'holder', { holder: '*** ****lace', card: { ...stored.card, holder: '*race' } }],
    ['what is not there', 'nothing,card.nothing,cards.7.number,holder.x', {}],
    ['nothing', '', {}],
  ];
  test.each(cases)('mask_fields mask %s', async (_, mask_fields, changes) => {
    expect(await seenBy(unmasked, stored, { mask_fields })).toEqual({ ...stored, ...changes });
  });

  test('the SDK takes a list of them', async () => {
    const token = await unmasked.store('u', stored);
    const opened = await unmasked.sdk.vault.decrypt({
      user: 'u',
      token,
      mask_fields: ['card_number', 'cvv'],
    });
    expect(opened).toMatchObject({ card_number: '************1234', cvv: '***', holder: 'Ada Lovelace' });
  });

  test('an empty entry is refused', async () => {
    for (const mask_fields of ['holder,,cvv', ',', 'holder,']) {
      const refused = await unmasked.send('GET', '/vault', {
        query: { user: 'u', token: 'x', mask_fields },
        passphrase: PASSPHRASE,
      });
      expect([refused.outcome, refused.field]).toEqual(['400 invalid_request', 'query.mask_fields']);
    }
  });
});
