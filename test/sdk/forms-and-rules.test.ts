/** What an account sets up for others to use: forms, and rules. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { CreateForm } from '../../sdk/index.ts';
import { type Live, openLive } from './live.ts';

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
});
