/** The body of a capture, and what the owner of its endpoint settles of it: reference, format, and whether to replace. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { AccountClient, Answer, Query } from '../../helpers/clients.ts';
import { capture, createCapture, type MadeEndpoint, type Use, useEndpoint } from '../../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const BYTES_MAX = 262_144;
const NUMBER = '4111111111111111';
const CARD = { card_number: NUMBER, holder: 'Ada' };
const encoder = new TextEncoder();

let vault: TestVault;
let account: AccountClient;
let shop: MadeEndpoint;

beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  await account.key('u');
  shop = await createCapture(account, 'u', { unique_id: 'shop' });
});
afterAll(() => vault.close());

function post(body: unknown, use: Use = {}): Promise<Answer> {
  return capture(vault, shop, { ...use, body });
}
function makeEndpoint(query: Query): Promise<MadeEndpoint> {
  return createCapture(account, 'u', query);
}
function send(endpoint: MadeEndpoint, use: Use = {}): Promise<Answer> {
  return capture(vault, endpoint, { body: CARD, ...use });
}
function tokenOf(answer: Answer): string {
  expect(answer.outcome).toBe('200');
  return answer.as<{ token: string }>().token;
}
async function textOf(answer: Answer): Promise<string> {
  return account.open('u', tokenOf(answer), { reference: 'shop' });
}

describe('the body is JSON, whatever its Content-Type', () => {
  const text = '{"number":"1","ü":"+%20&a=b"}';
  test.each(['text/plain', 'application/x-www-form-urlencoded', 'nonsense', ''])('%p', async (type) => {
    expect(await textOf(await post(text, { headers: { 'content-type': type } }))).toBe(text);
  });

  test('none at all', async () => {
    expect(await textOf(await post(encoder.encode(text)))).toBe(text);
  });
});

describe('what was captured comes back exactly', () => {
  const exact: readonly (readonly [string, string])[] = [
    ['big integers', '{"number":"1","a":9007199254740993,"b":-123456789012345678901234567890}'],
    ['zeros at the end', '{"number":"1","a":1.10,"b":100.00,"c":0.0}'],
    [
      'names of prototypes',
      '{"number":"1","__proto__":{"a":1},"constructor":{"prototype":{"x":1}},"toString":0}',
    ],
    ['lone surrogates', '{"number":"1","a":"\\ud800","b":"x\\udfffy"}'],
  ];
  test.each(exact)('%s', async (_, text) => {
    const answer = await post(text);
    expect(await textOf(answer)).toBe(text);
    expect(answer.json).toEqual({
      token: answer.as<{ token: string }>().token,
      user: 'u',
      reference: 'shop',
    });
    expect(Reflect.get({}, 'a')).toBeUndefined();
  });
});

describe('what is refused', () => {
  const notJson: readonly (readonly [string, string | Uint8Array])[] = [
    ['nothing', ''],
    ['half an object', '{"number":"1"'],
    ['a form', 'card_number=4111111111111111'],
    ['the number twice', '{"number":"1","number":"1"}'],
    ['a member twice below', '{"number":"1","deep":[{"c":1,"c":1}]}'],
    ['a lone byte of UTF-8', Uint8Array.of(...encoder.encode('{"number":"1","a":"'), 0xff, 0x22, 0x7d)],
  ];
  test.each(notJson)('%s', async (_, body) => {
    const answer = await post(body);
    expect([answer.outcome, answer.field]).toEqual(['400 invalid_json', 'body']);
  });

  test.each([
    ['card_number=4111111111111111', true],
    ['<card><pan>4111111111111111</pan></card>', true],
    ['', true],
    ['{"number":"1"', false],
    ['\n [1', false],
  ])('%j, and whether the error names smart_parse: %p', async (body, isNamed) => {
    expect((await post(body)).text.includes('smart_parse=true')).toBe(isNamed);
  });

  test('no body at all, even with a number in the query', async () => {
    const answer = await useEndpoint(vault, 'POST', shop.url, {
      secret: shop.secret,
      query: { number: '4' },
    });
    expect(answer.outcome).toBe('400 invalid_json');
  });

  test.each(['[]', '[{"number":"1"}]', '"4111"', '4111', 'true', 'null'])(
    '%s, which is no object',
    async (body) => {
      const answer = await post(body);
      expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'body']);
    },
  );

  test('and stores nothing, and shows nothing of it', async () => {
    await account.key('empty');
    const endpoint = await createCapture(account, 'empty');
    const canary = '{"number":"canary-1","canary":tru}';
    const answer = await capture(vault, endpoint, { body: canary, query: { reference: 'canary-2' } });
    expect(answer.outcome).toBe('400 invalid_json');
    expect(answer.text).not.toContain('canary');
    expect((await account.sdk.vault.list({ user: 'empty' })).data).toEqual({ empty: [] });
  });
});

describe('limits', () => {
  const objectOf = (bytes: number, filling = 'x'): string => {
    const frame = '{"number":"4000","filling":""}';
    const width = encoder.encode(filling).length;
    const pieces = Math.floor((bytes - frame.length) / width);
    const rest = bytes - frame.length - pieces * width;
    return `{"number":"4000","filling":"${filling.repeat(pieces)}${'x'.repeat(rest)}"}`;
  };

  test.each(['x', '密', '\\n'])('262,144 bytes are taken, one more is not: %p', async (filling) => {
    const text = objectOf(BYTES_MAX, filling);
    expect(await textOf(await post(text))).toBe(text);
    expect((await post(objectOf(BYTES_MAX + 1, filling))).outcome).toBe('413 body_too_large');
  });
});

describe('the query', () => {
  test('may hold what the vault does not know, which changes nothing', async () => {
    const plain = await post({ number: '1' });
    const answer = await post(
      { number: '1' },
      {
        query: {
          ...{
            user: 'other',
            passphrase: 'x',
            token: 'tok',
            rules: 'none',
            mask_fields: 'number',
          },
          ...{ kid: 'k', gen: 9, aid: 'a', account: 'x', stored_at: '2020-01-01T00:00:00Z', source: 'vault' },
          ...{
            unique_id: 'other',
            secret: 'x',
            expires_at: 'x',
            kind: 'retrieve',
            unmasked: true,
            seed: 's',
          },
          ...{ 'number[]': '7', utm_source: 'mail', '': 'x', REFERENCE: 'r', Algorithm: 'uuid' },
        },
      },
    );
    expect([answer.outcome, answer.json]).toEqual(['200', plain.json]);
  });

  test.each([
    ['reference=a&referenc%65=b', 'query.reference'],
    ['number=1&number=2', 'query.number'],
    ['unknown=1&unknown=2', 'query'],
  ])('twice the same is refused: %s', async (query, field) => {
    const answer = await useEndpoint(vault, 'POST', `${shop.url}?${query}`, {
      secret: shop.secret,
      body: { number: '1' },
    });
    expect([answer.outcome, answer.field]).toEqual(['400 duplicate_parameter', field]);
  });

  test.each(['reference=%ff', 'reference=%', 'reference=%zz', '%ff=1'])(
    'bad encoding is refused: %s',
    async (query) => {
      const answer = await useEndpoint(vault, 'POST', `${shop.url}?${query}`, {
        secret: shop.secret,
        body: { number: '1' },
      });
      expect(answer.outcome).toBe('400 invalid_request');
      expect(answer.field).toStartWith('query');
    },
  );
});

describe('a reference', () => {
  test('is that of the request, else of the endpoint, else its id; the list shows the endpoint’s', async () => {
    const [own, bare] = [
      await makeEndpoint({ reference: 'order 7' }),
      await makeEndpoint({ unique_id: 'bare' }),
    ];
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
    const [once, replacing] = [await makeEndpoint({ ...query, overwrite: false }), await makeEndpoint(query)];
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
    const once = await makeEndpoint({ reference: 'repeated', overwrite: false });
    const first = await send(once, { idempotencyKey: 'k1' });
    const again = await send(once, { idempotencyKey: 'k1' });
    expect([again.outcome, again.text]).toEqual(['200', first.text]);
    expect((await send(once, { idempotencyKey: 'k2' })).outcome).toBe('409 token_exists');
  });

  test('is stored by one of many that come at the same instant', async () => {
    const once = await makeEndpoint({ reference: 'raced', overwrite: false });
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
    const [smart, plain] = [await makeEndpoint({ smart_parse: true, reference }), await makeEndpoint({})];
    const use = { body, headers: type === '' ? {} : { 'content-type': type } };
    const stored = JSON.parse(await account.open('u', tokenOf(await send(smart, use)), { reference }));
    expect(stored).toMatchObject({ card_number: NUMBER });
    expect(stored.original_data).toContain('{{');
    expect(stored.original_data).not.toContain(NUMBER);
    expect((await send(plain, use)).status).toBe(400);
  });

  test.each(['', 'nothing to see', '<a/>', '\uffff'])('without a card is refused: %p', async (body) => {
    const smart = await makeEndpoint({ smart_parse: true });
    expect((await send(smart, { body })).outcome).toBe('400 number_missing');
  });

  test('comes in its charset, in parts and as a table, or is refused with nothing stored', async () => {
    const smart = await makeEndpoint({ smart_parse: true, reference: 'kinds' });
    const latin = Buffer.from(
      `<?xml version="1.0"?><a><pan>${NUMBER}</pan><holder>Weiß</holder></a>`,
      'latin1',
    );
    const sent = async (body: string | Buffer, type: string): Promise<string> => {
      const { outcome, field } = await send(smart, { body, headers: { 'content-type': type } });
      return field === undefined ? outcome : `${outcome} ${field}`;
    };
    const form = new FormData();
    form.set('card_number', NUMBER);
    form.set('cvv', '931');
    form.set('holder', 'Zoë');
    const encoded = new Response(form);
    const parts = Buffer.from(await encoded.arrayBuffer());
    const opened = async (): Promise<Record<string, unknown>> => {
      const { data } = await account.sdk.vault.list({ user: 'u', reference: 'kinds' });
      const item = data['u']?.[0];
      return JSON.parse(await account.open('u', item?.token ?? '', { reference: 'kinds' }));
    };
    expect(await sent(latin, 'text/xml; charset=ISO-8859-1')).toBe('200');
    expect(await opened()).toMatchObject({ card_number: NUMBER, card_holder: 'Weiß' });
    expect(await sent(parts, encoded.headers.get('content-type') ?? '')).toBe('200');
    const stored = await opened();
    expect(stored).toMatchObject({ card_number: NUMBER, cvv: '931', card_holder: 'Zoë' });
    // The boundary is random.
    expect(stored['original_data']).not.toContain('\r\n931\r\n');
    expect(await sent(`pan,cvv\n${NUMBER},932\n`, 'text/csv')).toBe('200');
    expect(await opened()).toMatchObject({ cvv: '932' });
    expect(await sent(latin, 'text/xml')).toBe('400 invalid_request body');
    expect(await sent(latin, 'text/xml; charset=Big5')).toBe('400 charset_unsupported body');
    expect(await sent(`;${NUMBER}=29122010000012345?`, 'text/plain')).toBe('400 track_data_refused body');
    expect(await opened()).toMatchObject({ cvv: '932' });
  });

  test('is measured as it came, and its rules see what was found', async () => {
    const rule = [
      { name: 'substr', input_field: 'card_number', output_field: 'last', arguments: { start: -4 } },
    ];
    await account.send('POST', '/rule', { query: { id: 'last-four' }, body: rule });
    const smart = await makeEndpoint({ smart_parse: true, rules: 'last-four', reference: 'ruled' });
    const token = tokenOf(await send(smart, { body: `number: ${NUMBER}` }));
    expect(JSON.parse(await account.open('u', token, { reference: 'ruled' }))).toMatchObject({
      last: '1111',
    });
    const large = `${NUMBER} ${'x'.repeat(262_144)}`;
    expect((await send(smart, { body: large })).outcome).toBe('413 body_too_large');
  });
});
