/** The life of a recovery, from making it to recovering a key after a loss, with the stock age. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { entriesOf, lineOf } from '../helpers/audit.ts';
import { PASSPHRASE } from '../helpers/clients.ts';
import { capture, createCapture, createRetrieve, retrieve } from '../helpers/endpoints.ts';
import { openTestVault } from '../helpers/vault.ts';
import {
  change,
  createCustodians,
  make,
  NEW,
  open,
  read,
  recoverable,
  recoverWith,
  sharesOf,
} from './recovery-steps.ts';

const CARD = { card_number: '4111111111111111', cvv: '123' };

const vault = await openTestVault();
const [account, custodians] = await Promise.all([vault.account(), createCustodians(3)]);
afterAll(async () => {
  for (const { close } of custodians) {
    close();
  }
  await vault.close();
});

function remove(user: string, passphrase = PASSPHRASE) {
  return account.send('DELETE', '/key/recovery', { body: { user, passphrase } });
}

describe('a recovery', () => {
  test('is shown as it was made, with a share for each recipient, and nothing else', async () => {
    await account.key('made');
    const answer = await make(account, 'made', custodians, 2);
    expect(answer.json).toEqual({
      user: 'made',
      threshold: 2,
      shares: custodians.map(({ recipient }) => ({
        recipient,
        share: expect.stringMatching(
          /^-----BEGIN AGE ENCRYPTED FILE-----\n[\s\S]+\n-----END AGE ENCRYPTED FILE-----\n$/,
        ),
      })),
    });
    expect((await read(account, 'made')).json).toEqual(answer.json);
  });

  test('opens the key after a loss: what is stored stays, and what the old passphrase was used for ends', async () => {
    const user = 'lost';
    const shares = await recoverable(account, user, custodians);
    const token = await account.store(user, CARD);
    const writer = await createCapture(account, user);
    const reader = await createRetrieve(account, user);
    const [, second = '', third = ''] = shares;
    expect((await recoverWith(account, user, [third, second])).json).toEqual({ user, passphrase: NEW });
    expect((await open(account, user, token, PASSPHRASE)).outcome).toBe('403 passphrase_wrong');
    expect((await open(account, user, token, NEW)).text).toBe(JSON.stringify(CARD));
    expect((await capture(vault, writer, { body: CARD })).outcome).toBe('410 endpoint_gone');
    expect((await retrieve(vault, reader, { query: { token } })).outcome).toBe('410 endpoint_gone');
    const again = { query: { user }, passphrase: NEW, body: CARD };
    expect((await account.send('POST', '/vault', again)).as<{ token: string }>().token).toBe(token);
  });

  test('stays valid after a recovery and after changes of the passphrase, which need no custodian', async () => {
    const user = 'stays';
    const [first = '', second = '', third = ''] = await recoverable(account, user, custodians);
    const before = (await read(account, user)).text;
    const tokens = [await account.store(user, { number: '1' })];
    let passphrase = PASSPHRASE;
    for (const [n, shares] of [
      [first, second],
      [second, third, first],
      [third, first],
    ].entries()) {
      const next = `passphrase number ${n} of this key`;
      expect((await change(account, user, passphrase, next)).outcome).toBe('200');
      const stored = { query: { user }, passphrase: next, body: { number: `1${n}` } };
      tokens.push((await account.send('POST', '/vault', stored)).as<{ token: string }>().token);
      passphrase = `${NEW} ${n}`;
      expect((await recoverWith(account, user, shares, passphrase)).outcome).toBe('200');
    }
    for (const token of tokens) {
      expect((await open(account, user, token, passphrase)).outcome).toBe('200');
    }
    expect((await read(account, user)).text).toBe(before);
  });

  test('gives a generated passphrase where none is chosen', async () => {
    const shares = await recoverable(account, 'generated', custodians);
    const answer = await account.send('POST', '/key/recover', { body: { user: 'generated', shares } });
    const { passphrase } = answer.as<{ passphrase: string }>();
    expect(passphrase).toMatch(/^[\w-]{64}$/);
    expect((await change(account, 'generated', passphrase, NEW)).outcome).toBe('200');
  });

  test('keeps endpoints and the passphrase when it is made, renewed and removed', async () => {
    const user = 'beside';
    await account.key(user);
    const token = await account.store(user, CARD);
    const reader = await createRetrieve(account, user);
    for (const act of [
      () => make(account, user, custodians, 2),
      () => make(account, user, custodians, 3),
      () => remove(user),
    ]) {
      expect((await act()).outcome).toBe('200');
      expect((await open(account, user, token, PASSPHRASE)).outcome).toBe('200');
      expect((await retrieve(vault, reader, { query: { token } })).outcome).toBe('200');
    }
  });

  test('that is renewed or removed leaves shares that open nothing', async () => {
    const user = 'renewed';
    const old = await recoverable(account, user, custodians);
    const [kept, left] = [custodians.slice(0, 2), custodians.slice(2)];
    expect((await make(account, user, kept, 2)).outcome).toBe('200');
    expect((await read(account, user)).text).not.toContain(left[0]?.recipient ?? '');
    expect((await recoverWith(account, user, old)).outcome).toBe('403 recovery_refused');
    const fresh = await sharesOf(account, user, kept);
    expect((await remove(user)).json).toEqual({ message: 'The recovery was removed.' });
    expect((await recoverWith(account, user, fresh)).outcome).toBe('403 recovery_refused');
    expect((await read(account, user)).outcome).toBe('404 recovery_not_found');
    expect((await remove(user)).outcome).toBe('404 recovery_not_found');
    expect((await change(account, user, PASSPHRASE, NEW)).outcome).toBe('200');
  });

  test('of a key with summaries leaves it one', async () => {
    const user = 'summary';
    await account.send('POST', '/key', { body: { user, passphrase: PASSPHRASE, summary: true } });
    await make(account, user, custodians, 2);
    expect((await recoverWith(account, user, await sharesOf(account, user, custodians))).outcome).toBe('200');
    const body = { card_number: '4111111111111111' };
    await account.send('POST', '/vault', { query: { user }, passphrase: NEW, body });
    expect((await account.send('GET', '/vault', { query: { user } })).text).toContain('"last_four":"1111"');
  });

  test('is in the security log, with what was refused', async () => {
    const user = 'logged';
    const owner = await vault.account();
    const shares = await recoverable(owner, user, custodians);
    await recoverWith(owner, user, shares.slice(1, 2));
    await recoverWith(owner, user, shares);
    await owner.send('DELETE', '/key/recovery', { body: { user, passphrase: PASSPHRASE } });
    await owner.send('DELETE', '/key/recovery', { body: { user, passphrase: NEW } });
    const entries = await entriesOf(owner);
    expect(
      entries
        .map(lineOf)
        .filter((line) => line.includes('recover'))
        .toReversed(),
    ).toEqual([
      'key.recovery.create success key/logged',
      'key.recover recovery_refused key/logged',
      'key.recover success key/logged',
      'key.recovery.remove passphrase_wrong key/logged',
      'key.recovery.remove success key/logged',
    ]);
  });
});

describe('making one', () => {
  const outsider = 'age1cy0su9fwf3gf9mw868g5yut09p6nytfmmnktexz2ya5uqg9vl9sss4euqm';
  /** Bech32 of 32 zero bytes: a point of low order. */
  const lowOrder = 'age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq5cu47z';
  beforeAll(() => account.key('wrong'));

  test.each<[readonly string[], unknown, string]>([
    [[outsider], 2, 'body.recipients'],
    [Array(17).fill(outsider), 2, 'body.recipients'],
    [[outsider, 'age1short'], 2, 'body.recipients[1]'],
    [[outsider, `${outsider.slice(0, -1)}q`], 2, 'body.recipients[1]'],
    [[outsider, lowOrder], 2, 'body.recipients[1]'],
    [[outsider, outsider], 2, 'body.recipients[1]'],
    [[outsider, 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA'], 2, 'body.recipients[1]'],
  ])('refuses wrong recipients', async (recipients, threshold, field) => {
    const body = { user: 'wrong', passphrase: PASSPHRASE, recipients, threshold };
    const answer = await account.send('POST', '/key/recovery', { body });
    expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', field]);
    expect((await read(account, 'wrong')).outcome).toBe('404 recovery_not_found');
  });

  test.each([1, 4, 17, 2.5, '2'])('refuses a threshold of %p of three', async (threshold) => {
    const recipients = custodians.map(({ recipient }) => recipient);
    const body = { user: 'wrong', passphrase: PASSPHRASE, recipients, threshold };
    const answer = await account.send('POST', '/key/recovery', { body });
    expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'body.threshold']);
  });

  test('needs the passphrase and a key of the account', async () => {
    expect((await make(account, 'wrong', custodians, 2, 'another passphrase')).outcome).toBe(
      '403 passphrase_wrong',
    );
    for (const answer of [
      await make(account, 'nobody', custodians, 2),
      await remove('nobody'),
      await recoverWith(account, 'nobody', ['x']),
    ]) {
      expect([answer.outcome, answer.field]).toEqual(['404 key_not_found', 'body.user']);
    }
    expect((await make(await vault.account(), 'wrong', custodians, 2)).outcome).toBe('404 key_not_found');
    expect((await read(account, 'nobody')).outcome).toBe('404 key_not_found');
  });

  test('has up to 16 shares', async () => {
    const many = await createCustodians(16);
    const shares = await recoverable(account, 'many', many, 16);
    expect((await recoverWith(account, 'many', shares.slice(1))).outcome).toBe('403 recovery_refused');
    expect((await recoverWith(account, 'many', shares)).outcome).toBe('200');
    for (const { close } of many) {
      close();
    }
  });
});
