import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Form } from '../../sdk/index.ts';
import type { ShownFormSettings } from '../../server/form/schema.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { canariesIn, dumpRedis } from '../helpers/canaries.ts';
import { type AccountClient, type Answer, PASSPHRASE, refusalOf } from '../helpers/clients.ts';
import { capture, createCapture, createRetrieve, retrieve } from '../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
const IFRAME = '/retrieve/iframe';

/** Every setting that there is, each with a value of its own. */
const EVERYTHING = {
  css_links: ['https://canary-sheet.example/a.css'],
  js_links: [`https://canary-script.example/a.js#sha384-${'A'.repeat(64)}`],
  embedded_css: base64('.canary-style { color: red }'),
  embedded_js: base64('canaryScript();'),
  require_corp: true,
  success_callback: base64('(reply) => canarySuccess(reply)'),
  error_callback: base64('(error) => canaryError(error)'),
  display_mode: 'embedded',
  force_keypad: true,
  hide_card: true,
  highlight_fields: true,
  disable_luhn: true,
  strip_spaces: true,
  locale: 'es',
  frame_ancestors: ['https://canary-shop.example'],
  additional_fields: [{ name: 'canary_name', label: 'Canary label ü', required: true }],
  color_mode: 'dark',
  field_options: { cvv: { validate: false }, card_holder: { visible: false } },
  theme: {
    style: 'modern',
    primary_color: '#c0ffee',
    card_primary_color: 'rgb(201, 202, 203)',
    card_shadow_color: 'rebeccapurple',
    success_color: 'green',
    error_color: 'red',
    logo_image: base64('GIF89a canary-logo'),
  },
} as const;

const SETTINGS = {
  hide_card: true,
  locale: 'es',
  additional_fields: [{ name: 'note', label: 'Note', required: true }],
  theme: { style: 'modern', primary_color: '#c0ffee' },
} as const;

let vault: TestVault;
let owner: AccountClient;
let other: AccountClient;
let ids = 0;

beforeAll(async () => {
  vault = await openTestVault();
  [owner, other] = [await vault.account(), await vault.account()];
});
afterAll(() => vault.close());

function freshId(): string {
  ids += 1;
  return `form-${ids}`;
}
function create(form_id?: string, body: unknown = {}, client = owner, form_type?: string): Promise<Answer> {
  return client.send('POST', IFRAME, { query: { form_id, form_type }, body });
}
function read(form_id?: string, client = owner): Promise<Answer> {
  return client.send('GET', IFRAME, { query: { form_id } });
}
function remove(form_id: string, client = owner): Promise<Answer> {
  return client.send('DELETE', `${IFRAME}/${form_id}`);
}
async function page(form_id: string, at: Pick<TestVault, 'handle'> = vault): Promise<Response> {
  return at.handle(new Request(`http://localhost/v1${IFRAME}/${form_id}`));
}
function replace(id: string, body: unknown = {}, by = owner, base = IFRAME): Promise<Answer> {
  return by.send('PUT', `${base}/${id}`, { body });
}
function idsOf(answer: Answer): string[] {
  return answer.as<Form[]>().map(({ id }) => id);
}
function placeOf({ outcome, field }: Answer): string {
  return `${outcome} ${field}`;
}

describe('a form', () => {
  test('is made, read, listed, shown to anybody, and deleted', async () => {
    const id = freshId();
    const form = { id, url: `/v1${IFRAME}/${id}`, form_type: 'pcd', ...EVERYTHING };
    expect((await create(id, EVERYTHING)).json).toEqual(form);
    expect((await read(id)).json).toEqual(form);
    expect((await read()).json).toEqual([form]);
    const shown = await page(id);
    expect(shown.status).toBe(200);
    expect(await shown.text()).toContain('canaryScript();');
    expect(shown.headers.get('Cross-Origin-Embedder-Policy')).toBe('require-corp');
    expect((await remove(id)).json).toEqual({ message: 'The form was deleted.' });
    expect(placeOf(await read(id))).toBe('404 form_not_found query.form_id');
    expect((await read()).json).toEqual([]);
    expect((await page(id)).status).toBe(404);
    expect((await remove(id)).outcome).toBe('404 form_not_found');
    expect((await create(id)).json).toEqual({ id, url: `/v1${IFRAME}/${id}`, form_type: 'pcd' });
    await remove(id);
  });

  test('has a random id when none is given, and serves both ways', async () => {
    const made = (await create(undefined, {}, owner, 'custom')).as<Form>();
    expect(made.id).toMatch(/^[A-Za-z0-9_-]{22}$/);
    expect(made.form_type).toBe('custom');
    const captured = await owner.send('GET', '/capture/iframe/', { query: { form_id: made.id } });
    expect(captured.json).toEqual({ ...made, url: `/v1/capture/iframe/${made.id}` });
    const response = await vault.handle(new Request(`http://localhost/v1/capture/iframe/${made.id}/`));
    expect(await response.text()).toContain('"form_type":"custom"');
    const deleted = await owner.send('DELETE', `/capture/iframe/${made.id}`);
    expect(deleted.outcome).toBe('200');
  });

  test('is checked, with the place of the first fault', async () => {
    const id = freshId();
    const faults: readonly (readonly [string, object])[] = [
      ['body.css_links[0]', { css_links: ['http://a.example/a.css'] }],
      ['body.theme.logo_image', { theme: { logo_image: base64('no image') } }],
      ['body.additional_fields[0].name', { additional_fields: [{ name: 'cvv' }] }],
    ];
    for (const [field, settings] of faults) {
      expect(placeOf(await create(id, settings))).toBe(`400 invalid_request ${field}`);
    }
    expect((await read(id)).outcome).toBe('404 form_not_found');
    expect((await create(id, { frame_ancestors: ['http://localhost:3000'] })).outcome).toBe('200');
    await remove(id);
  });

  test('can have everything at its largest', async () => {
    const id = freshId();
    const code = base64('x'.repeat(65_536));
    const link = `https://a.example/${'x'.repeat(2_000)}`;
    const settings: ShownFormSettings = {
      css_links: Array(20).fill(link),
      js_links: Array(20).fill(link),
      embedded_css: code,
      embedded_js: code,
      success_callback: code,
      error_callback: code,
      theme: { logo_image: base64(`GIF89a${'x'.repeat(262_138)}`) },
    };
    expect((await create(id, settings)).outcome).toBe('200');
    expect((await read(id)).json).toMatchObject(settings);
    const shown = await page(id);
    expect((await shown.text()).length).toBeGreaterThan(600_000);
    await remove(id);
  });
});

describe('the id of a form', () => {
  test('is claimed once, by whoever comes first of 50 of two accounts', async () => {
    const id = freshId();
    const clients = Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? owner : other));
    const answers = await Promise.all(
      clients.map((client, n) => create(id, { hide_card: n % 3 === 0 }, client)),
    );
    const outcomes = answers.map(placeOf).sort();
    expect(outcomes[0]).toBe('200 undefined');
    expect(outcomes.slice(1)).toEqual(Array(49).fill('409 form_exists query.form_id'));
    const winner = answers.findIndex(({ outcome }) => outcome === '200');
    const [its, others] = winner % 2 === 0 ? [owner, other] : [other, owner];
    expect(idsOf(await read(undefined, its))).toEqual([id]);
    expect((await read(undefined, others)).json).toEqual([]);
    expect((await read(id, its)).json).toEqual(answers[winner]?.json);
    await remove(id, its);
  });

  test('can be in use by nobody but one account, which alone reads and deletes it', async () => {
    const id = freshId();
    await create(id, { hide_card: true });
    expect(placeOf(await create(id, {}, other))).toBe('409 form_exists query.form_id');
    const [foreign, unknown] = [await read(id, other), await read('nowhere', other)];
    expect(foreign.outcome).toBe('404 form_not_found');
    expect(refusalOf(foreign)).toEqual(refusalOf(unknown));
    expect(refusalOf(await remove(id, other))).toEqual(refusalOf(await remove('nowhere', other)));
    expect((await read(id)).outcome).toBe('200');
    await remove(id);
  });

  test.each(['pcd', 'ach'])('%s is built in: it is there, nobody’s, and stays', async (id) => {
    const shown = await page(id);
    expect(await shown.text()).toContain(`"form_type":"${id}"`);
    expect(placeOf(await create(id))).toBe('409 form_exists query.form_id');
    expect((await remove(id)).outcome).toBe('404 form_not_found');
    expect((await read(id)).outcome).toBe('404 form_not_found');
    expect((await page(id)).status).toBe(200);
    expect(await vault.raw.exists(`{h:${id}}`)).toBe(0);
  });

  test('may look like any other', async () => {
    for (const id of ['custom', 'constructor', '__proto__', 'A.b_c@d:e-f', 'x'.repeat(128)]) {
      expect((await create(id, {}, owner, 'ach')).outcome).toBe('200');
      expect(await (await page(encodeURIComponent(id))).text()).toContain('"form_type":"ach"');
      expect((await remove(encodeURIComponent(id))).outcome).toBe('200');
    }
  });
});

test('a list is in ascending order, whatever its length', async () => {
  const wanted = Array.from({ length: 30 }, (_, n) => `list-${(n * 7) % 30}`);
  await Promise.all(wanted.map((id) => create(id, { embedded_js: base64(id) })));
  expect(idsOf(await read())).toEqual([...wanted].sort());
  await Promise.all(wanted.map((id) => remove(id)));
  expect((await read()).text).toBe('[]');
});

test('forms cost nothing but are counted as requests', async () => {
  const before = await vault.usage(owner);
  const id = freshId();
  await create(id);
  await read();
  await page(id);
  await remove(id);
  const after = await vault.usage(owner);
  const others = Object.keys(after).filter((name) => after[name] !== before[name]);
  expect(others).toEqual(['api_requests']);
});

test('what is typed into a form is logged with that source, and so is what one shows', async () => {
  await owner.key('u');
  const sink = await createCapture(owner, 'u');
  const query = { form_type: 'pcd', reference: 'r' };
  const { token } = (await capture(vault, sink, { query, body: { card_number: '4111111111111111' } })).as<{
    token: string;
  }>();
  const source = await createRetrieve(owner, 'u');
  for (const form_type of ['ach', undefined]) {
    const answer = await retrieve(vault, source, { query: { token, reference: 'r', form_type } });
    expect(answer.outcome).toBe('200');
  }
  const { data } = await owner.sdk.vault.log({ user: 'u', token, reference: 'r' });
  expect(data.map(({ action, source: from }) => `${action} ${from}`)).toEqual([
    'decrypt retrieve',
    'decrypt form',
    'encrypt form',
  ]);
});

describe('an endpoint made as a page', () => {
  /** What the page of a new endpoint is to work with. */
  const made = async (kind: 'capture' | 'retrieve', query: Record<string, string>) => {
    const headers = { accept: 'text/html' };
    const answer = await owner.send('POST', `/${kind}`, { query, passphrase: PASSPHRASE, headers });
    const [, json] = /id="vault-form">(.*)<\/script>/.exec(answer.text) ?? [];
    const visit = json === undefined ? undefined : JSON.parse(json).visit;
    return { answer, visit, endpoint: { url: `/v1/${kind}/${visit?.unique_id}`, secret: visit?.secret } };
  };
  beforeAll(() => owner.key('pages'));

  test('stores what its form sends', async () => {
    const { endpoint } = await made('capture', { user: 'pages' });
    expect((await capture(vault, endpoint, { body: { number: '1' } })).outcome).toBe('200');
  });

  test.each([undefined, 'order 1'])(
    'shows the item that it is locked to, of reference %p',
    async (reference) => {
      const item = '{"iban":"DE89 3704 0044 0532 0130 00","n":12345678901234567,"fee":1.10}';
      const lock = reference === undefined ? {} : { reference };
      const token = await owner.store('pages', item, lock);
      const { visit, endpoint } = await made('retrieve', { user: 'pages', ...lock, token });
      const { unique_id, secret, ...locked } = visit;
      expect(locked).toEqual({ ...lock, token });
      expect((await retrieve(vault, endpoint, { query: { ...locked, form_type: 'pcd' } })).text).toBe(item);
    },
  );

  test('must be locked to a token, and is not made else', async () => {
    const { answer } = await made('retrieve', { user: 'pages', reference: 'r', unique_id: 'unlocked' });
    expect(placeOf(answer)).toBe('400 invalid_request query.token');
    const listed = await owner.send('GET', '/retrieve', { query: { user: 'pages' } });
    expect(listed.text).not.toContain('unlocked');
  });
});

test('a replacement gives what a creation with the same settings would, of the same type, by either path', async () => {
  const id = freshId();
  await create(id, { additional_fields: [{ name: 'number' }], locale: 'de' });
  const { form_type: type } = (await read(id)).as<Form>();
  for (const [base, settings] of [
    [IFRAME, SETTINGS],
    ['/capture/iframe', {}],
  ] as const) {
    const answer = await replace(id, settings, owner, base);
    expect(answer.outcome).toBe('200');
    expect(answer.json).toEqual({ id, url: `/v1${base}/${id}`, form_type: type, ...settings });
    expect((await read(id)).json).toMatchObject(settings);
    expect((await page(id)).status).toBe(200);
  }
  expect((await read(id)).json).not.toHaveProperty('locale');
  const log = (await owner.send('GET', '/audit', { query: { action: 'form.change' } })).as<object[]>();
  expect(log).toMatchObject([{ object: `form/${id}` }, { object: `form/${id}` }]);
  await remove(id);
});

test('a replacement is refused for forms of others, built-in and unknown ones, and for invalid settings', async () => {
  const id = freshId();
  await create(id, { locale: 'de' });
  expect((await replace(id, {}, other)).outcome).toBe('404 form_not_found');
  expect((await replace('pcd')).outcome).toBe('404 form_not_found');
  expect((await replace('nowhere')).outcome).toBe('404 form_not_found');
  expect((await replace(id, { locale: 'xx' })).outcome).toBe('400 invalid_request');
  expect((await replace(id, { css_links: ['http://a.example/'] })).outcome).toBe('400 invalid_request');
  expect((await read(id)).json).toMatchObject({ locale: 'de' });
  await remove(id);
});

test('a replacement never brings a deleted form back, nor changes one that took its id since', async () => {
  for (let round = 0; round < 20; round++) {
    const id = freshId();
    await create(id, { locale: 'de' });
    const [changed] = await Promise.all([
      replace(id, { locale: 'fr' }),
      remove(id).then(() => create(id, { locale: 'es' }, other)),
    ]);
    expect(['200', '404 form_not_found']).toContain(changed.outcome);
    expect((await read(id, other)).json).toMatchObject({ locale: 'es' });
    expect((await read(id)).outcome).toBe('404 form_not_found');
    await remove(id, other);
  }
});

test.each([
  [{ success_url: 'https://shop.example/thanks?a=1' }, '200'],
  [{ success_url: 'https://evil.example/' }, 'body.success_url'],
  [{ success_url: 'https://shop.example.evil.example/' }, 'body.success_url'],
  [{ success_url: 'javascript:alert(1)' }, 'body.success_url'],
  [{ success_url: 'https://shop.example/#x' }, 'body.success_url'],
  [{ success_url: 'https://shop.example/', frame_ancestors: null }, 'body.success_url'],
  [{ additional_fields: [{ name: 'a', type: 'select', options: ['x', { value: 'y', label: 'Y' }] }] }, '200'],
  [{ additional_fields: [{ name: 'a', type: 'select' }] }, 'body.additional_fields[0].options'],
  [{ additional_fields: [{ name: 'a', options: ['x'] }] }, 'body.additional_fields[0].options'],
  [{ additional_fields: [{ name: 'a', type: 'password' }] }, 'body.additional_fields[0].type'],
])('%j: %s', async (settings, expected) => {
  const id = freshId();
  const answer = await create(id, { frame_ancestors: ['https://shop.example'], ...settings });
  expect(answer.field ?? answer.outcome).toBe(expected);
  await remove(id);
});

test('a digest stays for 100 fetches, and goes with any change', async () => {
  const digestOf = async (id: string): Promise<string> =>
    (await page(id)).headers.get('X-Vault-Form-Digest') ?? '';
  const id = freshId();
  await create(id, EVERYTHING);
  const all = await Promise.all(Array.from({ length: 100 }, () => digestOf(id)));
  expect([...new Set(all)]).toEqual([expect.stringMatching(/^sha384-.{64}$/)]);
  const digests = [all[0], await digestOf('pcd'), await digestOf('ach')];
  const { theme, ...rest } = EVERYTHING;
  const settings: Record<string, unknown> = rest;
  const fewer = [
    ...Object.keys(settings).map((name) => ({ ...EVERYTHING, [name]: undefined })),
    ...Object.keys(theme).map((name) => ({ ...EVERYTHING, theme: { ...theme, [name]: undefined } })),
  ];
  for (const changed of fewer) {
    await remove(id);
    await create(id, changed);
    digests.push(await digestOf(id));
  }
  expect(new Set(digests).size).toBe(3 + 18 + 7);
  await remove(id);
});

describe('in Redis', () => {
  test('nothing of a form can be read but its id, its account and its times', async () => {
    const id = freshId();
    await create(id, EVERYTHING);
    const texts = (value: unknown): string[] =>
      typeof value === 'string' ? [value] : Object.values(Object(value)).flatMap(texts);
    const decoded = ['embedded_css', 'embedded_js', 'success_callback', 'error_callback'] as const;
    const canaries = [
      ...texts(EVERYTHING).filter((text) => text.length > 6),
      ...decoded.map((name) => Buffer.from(EVERYTHING[name], 'base64').toString()),
      ...Object.keys(EVERYTHING).filter((text) => text.length > 9),
      'canary',
    ];
    const dump = await dumpRedis(vault.raw);
    expect(dump).toContain(id);
    expect(canariesIn(Object.fromEntries(canaries.map((text) => [text, text])), dump)).toEqual([]);
    await remove(id);
  });

  test('it is kept when the server ends', async () => {
    const [id, first] = [freshId(), await vault.secondServer()];
    await create(id, EVERYTHING, owner.via(first.handle));
    await first.close();
    const second = await vault.secondServer();
    try {
      expect((await read(id, owner.via(second.handle))).json).toMatchObject(EVERYTHING);
      expect((await page(id, second)).status).toBe(200);
    } finally {
      await second.close();
      await remove(id);
    }
  });

  test('it goes with its account', async () => {
    const client = await vault.account();
    const mine = Array.from({ length: 20 }, freshId);
    await Promise.all(mine.map((id) => create(id, {}, client)));
    const kept = freshId();
    await create(kept);
    await vault.opened.removeAccount(client.name);
    for (const id of mine) {
      expect((await page(id)).status).toBe(404);
    }
    expect(await vault.raw.exists(redisKeys.formDirectory(client.aid))).toBe(0);
    expect(await vault.raw.keys('{h:*')).toEqual([`{h:${kept}}`]);
    expect((await create(mine[0])).outcome).toBe('200');
    await Promise.all([remove(kept), remove(mine[0] ?? '')]);
  });
});
