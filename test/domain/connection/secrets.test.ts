import { expect, test } from 'bun:test';
import {
  createSecretFilter,
  hideSecrets,
  hideSecretsInText,
  prepareSecrets,
  type Secrets,
  secretTexts,
} from '../../../server/domain/connection/secrets.ts';
import { HIDDEN } from '../../../server/domain/mask/mask-text.ts';

const SECRET = 'sk_live_AbC/+==&"é€😀\'<>%41\\z';
const NAMES: Readonly<Record<string, string>> = {
  '&': 'amp',
  '"': 'quot',
  '<': 'lt',
  '>': 'gt',
  "'": 'apos',
};

function prepared(...texts: string[]): Secrets {
  const secrets = prepareSecrets(texts);
  if (secrets === undefined) {
    throw new Error('There is nothing to hide.');
  }
  return secrets;
}

function hidden(text: string, secrets: Secrets): string {
  return Buffer.from(hideSecrets(Buffer.from(text), secrets)).toString();
}

/** What the filter makes of pieces. */
function filtered(pieces: readonly Uint8Array[], secrets: Secrets): Buffer {
  const shown: Uint8Array[] = [];
  const controller = {
    enqueue: (piece: Uint8Array) => shown.push(piece),
  } as unknown as TransformStreamDefaultController<Uint8Array>;
  const filter = createSecretFilter(secrets);
  for (const piece of pieces) {
    filter.transform?.(piece, controller);
  }
  filter.flush?.(controller);
  return Buffer.concat(shown);
}

/** The same numbers from 0 to 1 each time (mulberry32). */
function numbersOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Notation = (text: string) => string;

function units(text: string): readonly number[] {
  return Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
}

function hex(value: number, length: number): string {
  return value.toString(16).padStart(length, '0');
}

/** Ways to write each character of a text; the result is text of whole characters. */
const NOTATIONS: Readonly<Record<string, Notation>> = {
  plain: (text) => text,
  json: (text) => JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/'),
  unicode: (text) =>
    units(text)
      .map((unit) => `\\u${hex(unit, 4)}`)
      .join(''),
  'unicode in capitals': (text) =>
    units(text)
      .map((unit) => `\\u${hex(unit, 4).toUpperCase()}`)
      .join(''),
  hex: (text) => [...Buffer.from(text)].map((byte) => `\\x${hex(byte, 2)}`).join(''),
  percent: (text) => [...Buffer.from(text)].map((byte) => `%${hex(byte, 2)}`).join(''),
  url: (text) => encodeURIComponent(text.toWellFormed()),
  form: (text) => new URLSearchParams({ a: text }).toString().slice(2),
  escape: (text) =>
    units(text)
      .map((unit) => `%u${hex(unit, 4)}`)
      .join(''),
  decimal: (text) => [...text].map((char) => `&#${char.codePointAt(0)};`).join(''),
  hexadecimal: (text) => [...text].map((char) => `&#x${(char.codePointAt(0) ?? 0).toString(16)};`).join(''),
  padded: (text) => [...text].map((char) => `&#X${hex(char.codePointAt(0) ?? 0, 6)};`).join(''),
  entities: (text) => text.replaceAll(/[&"'<>]/g, (char) => `&${NAMES[char]};`),
};
const ALL = Object.entries(NOTATIONS);

test('a connection has the values of its headers and its signing key as secrets', () => {
  const basic = Buffer.from('shop_one:pass:word').toString('base64');
  const headers = [
    ['Authorization', `Basic ${basic}`],
    ['X-Api-Key', 'sk_live_0123456789'],
    ['X-Shop', 'merchant-77'],
    ['X-Short', '1234567'],
    ['Accept', 'application/json'],
    ['Accept-Language', 'en-GB,en'],
    ['Content-Type', 'application/json'],
    ['User-Agent', 'vault-client/1'],
    ['Stripe-Version', '2024-06-20'],
  ] as const;
  expect(secretTexts({ headers, sign: { key: 'whsec_signing' } })).toEqual([
    `Basic ${basic}`,
    basic,
    'shop_one:pass:word',
    'pass:word',
    'sk_live_0123456789',
    'merchant-77',
    'whsec_signing',
  ]);
  expect(secretTexts({ headers: [['authorization', 'Bearer token-12345']] })).toContain('token-12345');
  expect(secretTexts({ headers: [['Authorization', `basic ${btoa('name_only:')}`]] })).toContain('name_only');
  expect(secretTexts({ headers: [['Accept', 'application/json']], sign: { key: 'short' } })).toEqual([]);
  expect(prepareSecrets([])).toBeUndefined();
});

test('a secret is hidden in every notation, and in every notation of these', () => {
  const secrets = prepared(SECRET);
  for (const [first, write] of ALL) {
    expect([first, hidden(`<"${write(SECRET)}">`, secrets)]).toEqual([first, `<"${HIDDEN}">`]);
    for (const [second, again] of ALL) {
      const text = `("${again(write(SECRET))}")`;
      expect([first, second, hidden(text, secrets)]).toEqual([first, second, `("${HIDDEN}")`]);
    }
  }
});

test('each single character may be written in another way than the others', () => {
  const secrets = prepared(SECRET);
  const chars = [...SECRET];
  for (const at of chars.keys()) {
    for (const [first, write] of ALL) {
      for (const [second, again] of ALL) {
        const text = chars.map((char, each) => (each === at ? again(write(char)) : char)).join('');
        expect([at, first, second, hidden(` ${text} `, secrets)]).toEqual([at, first, second, ` ${HIDDEN} `]);
      }
    }
  }
});

test('notations may be mixed', () => {
  const secrets = prepared(SECRET);
  const random = numbersOf(1);
  const pick = (): Notation => ALL[Math.floor(random() * ALL.length)]?.[1] ?? String;
  for (let round = 0; round < 1500; round++) {
    const depth = Math.floor(random() * 2);
    const written = [...SECRET]
      .map((char) => Array.from({ length: depth + 1 }, pick).reduce((text, write) => write(text), char))
      .join('');
    expect([written, hidden(`a ${written} b`, secrets)]).toEqual([written, `a ${HIDDEN} b`]);
  }
});

test('random secrets in random notations are hidden in random pieces, and all else comes out as it was', () => {
  const random = numbersOf(41);
  const below = (limit: number): number => Math.floor(random() * limit);
  const characters = [...SECRET.replace('😀', ''), ...'0123456789abcdefu;#x_- '];
  const notations = ALL.filter(([name]) => name !== 'form').map(([, write]) => write);
  for (let round = 0; round < 1000; round++) {
    const secret = `k${Array.from({ length: 12 + below(40) }, () => characters[below(characters.length)]).join('')}k`;
    const secrets = prepared(secret);
    const written = [...secret].map((char) => notations[below(notations.length)]?.(char)).join('');
    const show = (text: string): string => {
      const bytes = Buffer.from(text);
      const pieces: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += pieces.at(-1)?.length ?? 1) {
        pieces.push(bytes.subarray(at, at + 1 + below(20)));
      }
      return filtered(pieces, secrets).toString();
    };
    expect([secret, written, show(`"a": "${written}", "b": 1`)]).toEqual([
      secret,
      written,
      `"a": "${HIDDEN}", "b": 1`,
    ]);
    const other = `"a": "${written.slice(0, written.length / 2)}", "b": 1`;
    expect(show(other)).toBe(other);
  }
});

test('other encodings of characters are known', () => {
  const secrets = prepared('clé_secrète');
  const latin1 = Buffer.from('a clé_secrète b', 'latin1');
  expect(Buffer.from(hideSecrets(latin1, secrets)).toString()).toBe(`a ${HIDDEN} b`);
  expect(hideSecretsInText('id=clé_secrète', secrets)).toBe(`id=${HIDDEN}`);
  expect(hideSecretsInText('id=cl%C3%A9_secr%E8te, cl%E9_secr%E8te', secrets)).toContain(HIDDEN);
  expect(hidden('cl%E9_secr%E8te', secrets)).toBe(HIDDEN);
  const wide = Buffer.from('x clé_secrète', 'utf16le');
  expect(Buffer.from(hideSecrets(wide, secrets)).toString('latin1')).toBe(`x\0 ${HIDDEN}\0`);
  const lines = prepared('-----KEY\nabc\n-----');
  expect(hidden('"-----KEY\\nabc\\n-----"', lines)).toBe(`"${HIDDEN}"`);
  expect(hidden('"-----KEY\\u000aabc%0A-----"', lines)).toBe(`"${HIDDEN}"`);
});

test('bytes without a secret are returned as they are', () => {
  const secrets = prepared(SECRET, 'abcdefgh');
  for (const text of [
    '',
    'abcdefg',
    '%',
    '%2',
    '&#',
    '&amp',
    '\\',
    '\\u00',
    '\\\\',
    'a%zz&;\\',
    'abc&#x2F',
    '%%%25',
  ]) {
    const bytes = Buffer.from(text);
    expect(hideSecrets(bytes, secrets)).toBe(bytes);
    expect(filtered([bytes], secrets).toString()).toBe(text);
    expect(hideSecretsInText(text, secrets)).toBe(text);
  }
});

test('false beginnings of an escape before a secret, in it and after it do not hide it from the search', () => {
  const secrets = prepared('41bcdefg;h', 'u00418888', SECRET, 'tail%2525%');
  for (const before of [
    '%',
    '%2',
    '%u00',
    '&',
    '&#',
    '&#x',
    '&amp',
    '&lt;&',
    '\\',
    '\\u',
    '\\u00',
    '\\x',
    '%25',
    '\\\\',
  ]) {
    for (const secret of ['41bcdefg;h', 'u00418888', SECRET, 'tail%2525%']) {
      for (const after of ['', '41', ';', '25', '\\', 'amp;']) {
        const shown = hidden(`${before}${secret}${after}`, secrets);
        expect([before, secret, after, shown.includes(HIDDEN)]).toEqual([before, secret, after, true]);
        expect(shown).not.toContain(secret);
      }
    }
  }
});

test('secrets that overlap, or begin with one another, are hidden as a whole', () => {
  const secrets = prepared('abcdefgh', 'abcdefghijkl', 'ghijklmnop', 'xxabcdefghyy', 'zzzzzzzz');
  expect(hidden('-abcdefgh-', secrets)).toBe(`-${HIDDEN}-`);
  expect(hidden('-abcdefghijk-', secrets)).toBe(`-${HIDDEN}ijk-`);
  expect(hidden('-abcdefghijklmnop-', secrets)).toBe(`-${HIDDEN}-`);
  expect(hidden('-xxabcdefghyy-xxabcdefghy-', secrets)).toBe(`-${HIDDEN}-xx${HIDDEN}y-`);
  expect(hidden(`-${'z'.repeat(1000)}-`, secrets)).toBe(`-${HIDDEN}-`);
  expect(hidden('abcdefghabcdefgh', secrets)).toBe(HIDDEN + HIDDEN);
});

test('a secret of escapes is searched for as it is written', () => {
  const secrets = prepared('\\\\\\\\\\\\\\\\', '%41%41%41');
  expect(hidden('AAA a\\b', secrets)).toBe('AAA a\\b');
  expect(hidden('-%41%41%41-', secrets)).toBe(`-${HIDDEN}-`);
  expect(hidden('-%2541%2541%2541-', secrets)).toBe(`-${HIDDEN}-`);
  expect(hidden(`"${'\\'.repeat(16)}"`, secrets)).toBe(`"${HIDDEN}"`);
});

test('pieces give the same as the whole, wherever they are cut', () => {
  const secrets = prepared(SECRET, 'abcdefgh', 'abcdefghijkl', 'ghijklmnop');
  for (const [, write] of ALL) {
    const bytes = Buffer.from(`%2${write(SECRET)}&#abcdefghijk\\${write('abcdefghijklmnop')}\\u00`);
    const whole = Buffer.from(hideSecrets(bytes, secrets)).toString();
    expect(
      filtered(
        [...bytes].map((byte) => Uint8Array.of(byte)),
        secrets,
      ).toString(),
    ).toBe(whole);
    for (let at = 0; at <= bytes.length; at++) {
      expect(filtered([bytes.subarray(0, at), bytes.subarray(at)], secrets).toString()).toBe(whole);
    }
  }
});

/** A character of {@link slowly}, and the bytes that it stands for. */
interface Place {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

function decodedBy(written: string): string | undefined {
  const [, unit, byte, entity] = /^(?:[\\%]u(.{4})|(?:\\x|%)(..)|&(.*);)$/.exec(written) ?? [];
  const names: Readonly<Record<string, string>> = { '&amp;': '&', '&quot;': '"', '&lt;': '<', '&gt;': '>' };
  if (entity === undefined) {
    return String.fromCharCode(Number.parseInt(unit ?? byte ?? '', 16));
  }
  const code = entity.startsWith('#x') ? Number.parseInt(entity.slice(2), 16) : Number(entity.slice(1));
  return names[written] ?? (code > 0 && code < 0x80 ? String.fromCharCode(code) : undefined);
}

/** Decodes ASCII as long as there is anything to decode, the escape first that ends first. */
function slowly(text: string): readonly Place[] {
  let places: readonly Place[] = [...text].map((char, at) => ({ text: char, start: at, end: at + 1 }));
  for (;;) {
    const joined = places.map((place) => place.text).join('');
    const escapes =
      /(?=((?:\\u|%u)[\da-f]{4}|(?:\\x|%)[\da-f]{2}|&(?:#x[\da-f]+|#\d+|amp|quot|lt|gt);|\\[^ux%&]))/gi;
    const found = [...joined.matchAll(escapes)]
      .map((match) => ({ at: match.index, written: match[1] ?? '' }))
      .sort((a, b) => a.at + a.written.length - b.at - b.written.length || b.at - a.at)
      .map(({ at, written }) => ({
        at,
        length: written.length,
        value: /^\\[^ux]$/.test(written) ? written.slice(1) : decodedBy(written),
      }))
      .find(({ value }) => value !== undefined);
    if (found === undefined) {
      return places.filter((place) => place.text !== '\\');
    }
    const { at, length, value = '' } = found;
    const place = { text: value, start: places[at]?.start ?? 0, end: places[at + length - 1]?.end ?? 0 };
    places = [...places.slice(0, at), place, ...places.slice(at + length)];
  }
}

test('a slow search of texts that are decoded step by step finds nothing more', () => {
  const random = numbersOf(7);
  const secret = 'ab/"&<x%5';
  const secrets = prepared(secret);
  const noise = [
    '\\',
    '%',
    '&',
    '#',
    ';',
    'u',
    'x',
    '0',
    '2',
    '5',
    'a',
    'amp;',
    '&#',
    '%25',
    '\\u00',
    ' ',
    '-',
    '"',
  ];
  const pieces = ALL.filter(([name]) => !['plain', 'form'].includes(name)).map(([, write]) => write);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  let count = 0;
  for (let round = 0; round < 2500; round++) {
    const junk = (): string => Array.from({ length: Math.floor(random() * 5) }, () => pick(noise)).join('');
    const written = [...secret].map((char) => (random() < 0.5 ? char : pick(pieces)(char))).join('');
    const text = junk() + (random() < 0.8 ? written : pick(noise)) + junk() + pick([secret, '']) + junk();
    const places = slowly(text);
    const at = places
      .map((place) => place.text)
      .join('')
      .indexOf(secret);
    const shown = hidden(text, secrets);
    if (at >= 0) {
      count++;
      expect([text, shown]).toEqual([text, expect.stringContaining(HIDDEN)]);
    }
    const again = slowly(shown)
      .map((place) => place.text)
      .join('');
    expect([text, shown, again.includes(secret) || shown.includes(secret)]).toEqual([text, shown, false]);
    const cut = Math.floor(random() * text.length);
    expect(
      filtered([Buffer.from(text.slice(0, cut)), Buffer.from(text.slice(cut))], secrets).toString(),
    ).toBe(shown);
    const from = places[at]?.start ?? 0;
    expect(shown.startsWith(text.slice(0, Math.min(from, shown.indexOf(HIDDEN))))).toBe(true);
  }
  expect(count).toBeGreaterThan(1000);
});

/** CPU time in ms. */
function timeOf(action: () => void): number {
  const before = process.cpuUsage();
  action();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const MEGABYTE = 2 ** 20;
const BODIES: Readonly<Record<string, string>> = {
  json: '{"id":"ch_1","url":"https:\\/\\/example.com\\/a%20b","text":"a \\"quoted\\" word &amp; more"},',
  beginnings: 'sk_live_AbC/+==&sk_live_AbC',
  backslashes: '\\',
  percents: '%',
  'encoded percents': '%25',
  'percents that go on': '25',
  ampersands: '&amp;',
  'ampersands that go on': 'amp;',
  zeros: '\0',
};

test('a megabyte is searched in linear time, whole and in pieces of a byte', () => {
  const secrets = prepared(SECRET, 'a'.repeat(4000));
  for (const [name, part] of Object.entries({ ...BODIES, long: 'a' })) {
    const bytes = Buffer.alloc(MEGABYTE, part === '25' ? '25' : part);
    bytes.write(part === '25' ? '%' : '&');
    const whole = timeOf(() => hideSecrets(bytes, secrets));
    const pieces = [...bytes.subarray(0, MEGABYTE / 32)].map((byte) => Uint8Array.of(byte));
    const inPieces = timeOf(() => filtered(pieces, secrets));
    expect([name, whole < 2000, inPieces < 2000]).toEqual([name, true, true]);
  }
});

test('what waits for the next piece is bounded', () => {
  const secrets = prepared(SECRET);
  for (const [name, part] of Object.entries(BODIES)) {
    const piece = Buffer.alloc(60_000, part);
    let shown = 0;
    let read = 0;
    let waits = 0;
    const controller = {
      enqueue: (bytes: Uint8Array) => {
        shown += bytes.length;
      },
    } as unknown as TransformStreamDefaultController<Uint8Array>;
    const filter = createSecretFilter(secrets);
    filter.transform?.(Buffer.from('sk_live_%'), controller);
    for (read = 9; read < 8 * MEGABYTE; read += piece.length) {
      filter.transform?.(piece, controller);
      waits = Math.max(waits, read + piece.length - shown);
    }
    expect([name, waits < 40_000 || waits]).toEqual([name, true]);
    filter.flush?.(controller);
    expect(shown).toBe(read);
  }
});
