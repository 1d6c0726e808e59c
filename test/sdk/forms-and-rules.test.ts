/** What an account sets up for others to use: forms, and rules. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type CreateForm, VaultApiError } from '../../sdk/index.ts';
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

describe('forms', () => {
  test('are created, read, listed and deleted', async () => {
    const { forms } = live.owner.sdk;
    const settings = {
      hide_card: true,
      additional_fields: [{ name: 'note', label: 'Note' }],
      field_options: { cvv: { visible: false } },
      theme: { style: 'modern', primary_color: '#0055cc' },
      frame_ancestors: ['https://shop.example'],
    } as const satisfies CreateForm;
    expect(await forms.list()).toEqual([]);
    const created = await forms.create({ form_type: 'ach', form_id: 'bank', ...settings });
    expect<object>(created).toEqual({
      id: 'bank',
      url: '/v1/retrieve/iframe/bank',
      form_type: 'ach',
      ...settings,
    });
    const { id, form_type } = await forms.create();
    expect(form_type).toBe('pcd');
    expect(await forms.get({ form_id: 'bank' })).toEqual(created);
    expect((await forms.list()).map((form) => form.id)).toEqual(['bank', id].sort());
    const changed = await forms.replace({ form_id: 'bank', locale: 'fr' });
    expect<object>(changed).toEqual({ id: 'bank', url: created.url, form_type: 'ach', locale: 'fr' });
    expect(await forms.get({ form_id: 'bank' })).toEqual(changed);
    await forms.replace({ form_id: 'bank', ...settings });
    expect(await forms.delete({ form_id: id })).toEqual({ message: expect.any(String) });
    expect(await forms.list()).toEqual([created]);
  });

  test('can be created again of what was shown', async () => {
    const { forms } = live.owner.sdk;
    const { id, url: _, ...shown } = await forms.create({ form_id: 'first', locale: 'de', hide_card: null });
    const copy = await forms.create({ form_id: `${id}-copy`, ...shown });
    expect(copy).toMatchObject({ form_type: 'pcd', locale: 'de' });
    expect(copy).not.toHaveProperty('hide_card');
  });

  test('are refused by code and place', async () => {
    const { forms } = live.owner.sdk;
    expect(await outcomeOf(() => forms.create({ form_id: 'pcd' }))).toBe('409 form_exists');
    expect(await outcomeOf(() => forms.get({ form_id: 'nowhere' }))).toBe('404 form_not_found');
    expect(await outcomeOf(() => forms.delete({ form_id: 'nowhere' }))).toBe('404 form_not_found');
    const faulty = { css_links: ['https://a.example/', 'http://secret.example/'] };
    const error = await forms.create(faulty).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(VaultApiError);
    expect(error).toMatchObject({ code: 'invalid_request', field: 'body.css_links[1]' });
    expect(Bun.inspect(error)).not.toContain('secret.example');
  });
});

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
