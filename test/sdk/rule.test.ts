import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { VaultApiError } from '../../sdk/index.ts';
import { type Live, openLive, outcomeOf } from './live.ts';

const OPERATIONS = [
  { name: 'substr', input_field: 'year', output_field: 'short', order_position: 1, arguments: { start: -2 } },
  { name: 'noop' },
] as const;

let live: Live;
beforeAll(async () => {
  live = await openLive();
});
afterAll(() => live.vault.close());

describe('rules', () => {
  test('are created, read, listed and deleted', async () => {
    const { rules } = live.owner.sdk;
    const rule = { id: 'short-year', operations: [...OPERATIONS] };
    expect(await rules.list()).toEqual([]);
    const created = await rules.create(rule);
    expect(created).toMatchObject(rule);
    await rules.create({ id: 'another', operations: [{ name: 'noop' }] });
    expect(await rules.get({ id: 'short-year' })).toEqual(created);
    expect((await rules.list()).map(({ id }) => id)).toEqual(['another', 'short-year']);
    expect(await rules.delete({ id: 'another' })).toEqual({ message: expect.any(String) });
    expect(await rules.list()).toEqual([created]);
  });

  test('are made of published operations', async () => {
    const { operations } = await live.owner.sdk.rules.operations();
    expect(operations).toContainValues(OPERATIONS.map(({ name }) => name));
    expect(operations[0]).toBe('noop');
  });

  test('are refused by code', async () => {
    const { rules } = live.owner.sdk;
    const rule = { id: 'twice', operations: [{ name: 'noop' }] };
    await rules.create(rule);
    expect(await outcomeOf(() => rules.create(rule))).toBe('409 rule_exists');
    expect(await outcomeOf(() => rules.get({ id: 'nowhere' }))).toBe('404 rule_not_found');
    expect(await outcomeOf(() => rules.delete({ id: 'nowhere' }))).toBe('404 rule_not_found');
  });

  test('name the place of a fault', async () => {
    const { rules } = live.owner.sdk;
    const operations = [...OPERATIONS, { name: 'substr', arguments: { start: 'secret' } }];
    const error = await rules.create({ id: 'faulty', operations }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(VaultApiError);
    expect(error).toMatchObject({ code: 'invalid_request', field: 'body[2].arguments.start' });
    expect(Bun.inspect(error)).not.toContain('secret');
  });

  test('work where the vault decrypts', async () => {
    const { owner } = live;
    await owner.sdk.rules.create({ id: 'year', operations: OPERATIONS });
    const data = { card_number: '4111111111111111', year: '2031' };
    const { token } = await owner.sdk.vault.store({ user: 'customers', data });
    const shown = await owner.sdk.vault.decrypt({ user: 'customers', token, rules: ['year'] });
    expect(shown['short']).toBe('31');
  });
});
