import { describe, expect, test } from 'bun:test';
import { baseOfScript, type FormOptions, planForm } from '../../forms/base/options.ts';
import { type AttributeState, adviceFor, FORM_ATTRIBUTES, optionsOf } from '../../forms/frame/attributes.ts';
import { frameHeight, messageFrom } from '../../forms/frame/heard.ts';
import { HOSTILE_DATA, TOLD } from './messages.ts';

const BASE = 'https://vault.example';
const CAPTURE: FormOptions = { url: '/v1/capture/shop', secret: 'vcs1_open-sesame' };
const RETRIEVE: FormOptions = { url: '/v1/retrieve/desk', secret: 'vrs1_open-sesame', token: 'ab12' };

/** What the form's page reads out of its address. */
function partsOf(given: FormOptions, base: string | null = BASE) {
  const { origin, pathname, searchParams, hash } = new URL(planForm(given, base ?? undefined).src);
  return {
    at: origin + pathname,
    query: Object.fromEntries(searchParams),
    fragment: Object.fromEntries(new URLSearchParams(hash.slice(1))),
  };
}

function refusalOf(given: unknown, base: string | null = BASE): string {
  try {
    return planForm(given as FormOptions, base ?? undefined).src;
  } catch (error) {
    return error instanceof TypeError ? error.message : String(error);
  }
}

describe('a frame', () => {
  test('of a capture endpoint has id and secret in the fragment, and nothing in the query', () => {
    expect(partsOf(CAPTURE)).toEqual({
      at: `${BASE}/v1/capture/iframe/pcd`,
      query: {},
      fragment: { unique_id: 'shop', secret: 'vcs1_open-sesame' },
    });
  });

  test('of a retrieval endpoint has the token too', () => {
    expect(partsOf({ ...RETRIEVE, reference: 'order-1001' })).toEqual({
      at: `${BASE}/v1/retrieve/iframe/pcd`,
      query: {},
      fragment: { unique_id: 'desk', secret: 'vrs1_open-sesame', token: 'ab12', reference: 'order-1001' },
    });
  });

  test('tells the server title and testing alone', () => {
    const { query, fragment } = partsOf({
      ...CAPTURE,
      form: 'my-form_1',
      title: 'Pay & go',
      testing: true,
      reference: 'a b&c=d#e',
      locale: 'de-AT',
      extraData: { order: '7 % + 1', 'ship.to': 'Zoë' },
    });
    expect(query).toEqual({ title: 'Pay & go', testing: 'true' });
    expect(fragment).toEqual({
      unique_id: 'shop',
      secret: 'vcs1_open-sesame',
      reference: 'a b&c=d#e',
      locale: 'de',
      order: '7 % + 1',
      'ship.to': 'Zoë',
    });
  });

  test('takes empty texts as left out', () => {
    const empty = { token: '', reference: '', title: '', locale: '', form: '', baseUrl: '', label: '' };
    expect(planForm({ ...CAPTURE, ...empty, extraData: { a: '' } }, BASE)).toEqual(planForm(CAPTURE, BASE));
    const left = { token: undefined, extraData: undefined, testing: undefined, formsHost: undefined };
    expect(planForm({ ...CAPTURE, ...left }, BASE)).toEqual(planForm(CAPTURE, BASE));
  });

  test('is sandboxed; on a forms host it keeps its origin', () => {
    expect(planForm(CAPTURE, BASE)).toMatchObject({ sandbox: 'allow-scripts allow-forms', origin: 'null' });
    expect(planForm({ ...CAPTURE, formsHost: true }, 'https://forms.example')).toMatchObject({
      sandbox: 'allow-scripts allow-forms allow-same-origin',
      origin: 'https://forms.example',
    });
  });

  test('has a name for screen readers', () => {
    expect(planForm(CAPTURE, BASE).label).toBe('Payment details');
    expect(planForm(RETRIEVE, BASE).label).toBe('Stored payment details');
    expect(planForm({ ...CAPTURE, title: 'Pay' }, BASE).label).toBe('Pay');
    expect(planForm({ ...CAPTURE, title: 'Pay', label: 'Card' }, BASE).label).toBe('Card');
  });
});

describe('the endpoint of', () => {
  const places: [string, string | null, string, string][] = [
    ['/v1/capture/shop', BASE, BASE, 'shop'],
    ['/v1/capture/a.b@c:d-e_f', BASE, BASE, 'a.b@c:d-e_f'],
    ['/v1/capture/a%40b%3Ac', BASE, BASE, 'a@b:c'],
    ['https://other.example/v1/capture/shop', BASE, BASE, 'shop'],
    ['https://other.example/v1/capture/shop', null, 'https://other.example', 'shop'],
  ];
  test.each(places)('%s, from a script at %s', (url, base, service, id) => {
    const { at, fragment } = partsOf({ ...CAPTURE, url }, base);
    expect(at).toBe(`${service}/v1/capture/iframe/pcd`);
    expect(fragment['unique_id']).toBe(id);
  });

  test.each([
    ['https://a.example', 'https://a.example'],
    ['https://a.example:8443/', 'https://a.example:8443'],
  ])('the service at %s', (baseUrl, service) => {
    expect(partsOf({ ...CAPTURE, baseUrl }, null).at).toBe(`${service}/v1/capture/iframe/pcd`);
    expect(partsOf({ ...CAPTURE, baseUrl }).at).toBe(`${service}/v1/capture/iframe/pcd`);
  });
});

describe('the service of a script at', () => {
  const places: [string | undefined, string | undefined][] = [
    ['https://vault.example/forms/vault-forms.js', 'https://vault.example'],
    ['https://vault.example/forms/0.1.0-12345678/vault-forms.js', 'https://vault.example'],
    ['https://vault.example/forms/0.1.0-12345678/vault-forms.global.js?x=1#y', 'https://vault.example'],
    ['https://vault.example/a/b/forms/vault-forms.js', 'https://vault.example/a/b'],
    ['https://shop.example/assets/index-4f2a.js', undefined],
    ['https://shop.example/forms/vault-forms.css', undefined],
    ['file:///srv/forms/vault-forms.js', undefined],
    ['blob:https://shop.example/forms/vault-forms.js', undefined],
    [undefined, undefined],
  ];
  test.each(places)('%s', (script, base) => {
    expect(baseOfScript(script)).toBe(base);
  });
});

describe('a TypeError says what is wrong with', () => {
  const wrong: [string, unknown, RegExp][] = [
    ['nothing', undefined, /object of options/],
    ['a text', 'vcs1_x', /There is no option "0"|object of options/],
    ['no url', { secret: CAPTURE.secret }, /"url" is missing/],
    ['no secret', { url: CAPTURE.url }, /"secret" is missing/],
    ['a misspelt option', { ...CAPTURE, baseURL: BASE }, /no option "baseURL"/],
    ['a number for a text', { ...CAPTURE, reference: 7 }, /"reference" must be a string/],
    ['a text for a switch', { ...CAPTURE, testing: 'yes' }, /"testing" must be a boolean/],
    ['a secret without its prefix', { ...CAPTURE, secret: 'open-sesame' }, /must be that of a capture/],
    ['the secret of the other kind', { ...CAPTURE, secret: RETRIEVE.secret }, /do not fit/],
    ['the url of the other kind', { ...RETRIEVE, url: CAPTURE.url }, /do not fit/],
    ['an id alone', { ...CAPTURE, url: 'shop' }, /"url" must be the url of an endpoint/],
    ['a url with a query', { ...CAPTURE, url: '/v1/capture/shop?x=1' }, /"url" must be/],
    ['the url of a form', { ...CAPTURE, url: '/v1/capture/iframe/pcd' }, /"url" must be/],
    ['a url without its scheme', { ...CAPTURE, url: '//v.example/v1/capture/shop' }, /"url" must be/],
    ['a script as url', { ...CAPTURE, url: 'javascript:0//v1/capture/shop' }, /"url" must be/],
    ['an id that climbs unseen', { ...CAPTURE, url: '/v1/capture/%2e%2e' }, /id of an endpoint/],
    ['an id with a slash', { ...CAPTURE, url: '/v1/capture/a%2fb' }, /id of an endpoint/],
    ['a form that climbs', { ...CAPTURE, form: '..' }, /"form" must be/],
    ['a service without scheme', { ...CAPTURE, baseUrl: 'vault.example' }, /"baseUrl" must be/],
    ['a script as service', { ...CAPTURE, baseUrl: 'javascript:alert(1)' }, /"baseUrl" must be/],
    ['a service with a user', { ...CAPTURE, baseUrl: 'https://a:b@vault.example' }, /"baseUrl" must be/],
    ['a capture with a token', { ...CAPTURE, token: 'ab12' }, /"token" is for retrieval/],
    ['a retrieval without one', { ...RETRIEVE, token: undefined }, /"token" is missing/],
    ['a retrieval with extra data', { ...RETRIEVE, extraData: { a: 'b' } }, /"extraData" is for capture/],
    ['extra data that is no text', { ...CAPTURE, extraData: { order: 7 } }, /"order" .* must be a string/],
    ['extra data without a name', { ...CAPTURE, extraData: { '': 'x' } }, /may not have a member ""/],
    ...[
      'unique_id',
      'secret',
      'token',
      'reference',
      'title',
      'testing',
      'locale',
      'preview',
      'constructor',
    ].map((name): [string, unknown, RegExp] => [
      `extra data named ${name}`,
      { ...CAPTURE, extraData: { [name]: 'x' } },
      new RegExp(`may not have a member "${name}"`),
    ]),
    [
      'extra data that is a prototype',
      { ...CAPTURE, extraData: Object.fromEntries([['__proto__', 'x']]) },
      /may not have a member "__proto__"/,
    ],
  ];
  test.each(wrong)('%s', (_, given, says) => {
    expect(refusalOf(given)).toMatch(says);
    expect(refusalOf(given)).not.toContain('sesame');
  });

  test.each([
    ['of its script', CAPTURE, `${BASE}/vault`],
    ['in "baseUrl"', { ...CAPTURE, baseUrl: `${BASE}/vault/` }, BASE],
    ['in "url"', { ...CAPTURE, url: `${BASE}/vault/v1/capture/shop` }, null],
  ] as const)('a path before the service, %s', (_, given, base) => {
    const path = /host of its own.*VAULT_PUBLIC_URL: https:\/\/vault\.example\/vault\/? has a path/;
    expect(refusalOf(given, base)).toMatch(path);
  });

  test('a script from elsewhere that is told no service', () => {
    expect(refusalOf(CAPTURE, null)).toMatch(/"baseUrl" is missing/);
  });
});

describe('attributes', () => {
  const read = (attributes: Record<string, string>) => optionsOf((name) => attributes[name] ?? null);

  test('are the options in kebab case', () => {
    const options = read({
      url: '/v1/capture/shop',
      form: 'ach',
      'base-url': BASE,
      reference: 'r',
      title: 't',
      locale: 'fr',
      label: 'l',
      testing: '',
      'forms-host': 'forms-host',
      'extra-data': 'order=7&note=a+b%26c',
      secret: 'vcs1_open-sesame',
    });
    expect(options).toEqual({
      url: '/v1/capture/shop',
      form: 'ach',
      baseUrl: BASE,
      token: '',
      reference: 'r',
      title: 't',
      locale: 'fr',
      label: 'l',
      networks: false,
      testing: true,
      formsHost: true,
      extraData: { order: '7', note: 'a b&c' },
    });
    expect(partsOf({ ...options, secret: CAPTURE.secret }).fragment).toMatchObject({ note: 'a b&c' });
  });

  test('left out leave the options out', () => {
    const options = read({ url: CAPTURE.url, testing: 'false' });
    expect(planForm({ ...options, secret: CAPTURE.secret }, BASE)).toEqual(planForm(CAPTURE, BASE));
  });

  test('that are watched are all that are read', () => {
    const asked = new Set<string>();
    optionsOf((name) => {
      asked.add(name);
      return null;
    });
    expect([...asked].sort()).toEqual([...FORM_ATTRIBUTES].sort());
  });
});

describe('a developer is told', () => {
  const common = ['id', 'class', 'style', 'slot', 'hidden', 'title', 'lang', 'dir', 'data-x', 'aria-label'];
  const frameworks = ['_ngcontent-ng-c1', '@click', ':key', 'onclick', 'v-on:click'];
  const known = [...FORM_ATTRIBUTES, 'secret'];
  const told = (state: Partial<AttributeState>): string | undefined =>
    adviceFor('vault-x', { names: [], known, missing: [], ...state });

  test('nothing of attributes that the element or every element has', () => {
    expect(told({ names: [...common, ...frameworks, ...known] })).toBeUndefined();
    expect(told({})).toBeUndefined();
  });

  test.each([
    ...['ur', 'baseurl', 'base_url', 'extradata', 'classes', 'data', 'formid', 'constructor', 'required'],
  ])('of %s', (name) => {
    expect(told({ names: ['url', name, 'class'] })).toBe(`<vault-x> does not know: ${name}.`);
  });

  test('what is missing or without effect, in the same sentence', () => {
    expect(told({ names: ['secrets'], missing: ['url', 'secret'] })).toBe(
      '<vault-x> does not know: secrets; shows nothing without: url, secret.',
    );
    expect(told({ unused: ['locale', 'theme'] })).toBe(
      '<vault-x> does not use, because another element of its group has the secret: locale, theme.',
    );
  });
});

describe('what a page hears', () => {
  const frame = { name: 'the window of the frame' };

  test.each(TOLD)('%j is heard from the frame', (data) => {
    expect(messageFrom({ source: frame, origin: 'null', data }, frame, 'null')).toEqual(data);
    const real = { source: frame, origin: 'https://forms.example', data };
    expect(messageFrom(real, frame, 'https://forms.example')).toEqual(data);
  });

  const strangers: [string, unknown, string, unknown, string][] = [
    ['another frame', {}, 'null', frame, 'null'],
    ['the page itself', globalThis, 'null', frame, 'null'],
    ['nobody', null, 'null', frame, 'null'],
    ['a frame that went elsewhere', frame, 'https://evil.example', frame, 'null'],
    [
      'a frame that went elsewhere from its host',
      frame,
      'https://evil.example',
      frame,
      'https://forms.example',
    ],
    ['a frame that lost its origin', frame, 'null', frame, 'https://forms.example'],
    [
      'a host that begins the same',
      frame,
      'https://forms.example.evil.example',
      frame,
      'https://forms.example',
    ],
    ['a host without TLS', frame, 'http://forms.example', frame, 'https://forms.example'],
    ['no origin', frame, '', frame, 'null'],
  ];
  test.each(strangers)('nothing from %s', (_, source, origin, expected, expectedOrigin) => {
    for (const data of TOLD) {
      expect(messageFrom({ source, origin, data }, expected, expectedOrigin)).toBeUndefined();
    }
  });

  test.each(HOSTILE_DATA)('not %s, even from the frame', (_, data) => {
    expect(messageFrom({ source: frame, origin: 'null', data }, frame, 'null')).toBeUndefined();
  });

  test.each([
    [0, 0],
    [-1, 0],
    [333.2, 334],
    [5001, 5000],
  ])('a height of %d as %d', (reported, height) => {
    expect(frameHeight(reported)).toBe(height);
  });
});
