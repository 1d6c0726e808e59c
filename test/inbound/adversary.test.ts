/** Attacks on inbounds by senders, merchants, third parties and holders of few rights, each with its outcome. */
import { afterAll, afterEach, describe, expect, spyOn, test } from 'bun:test';
import type { Scope } from '../../server/core/scopes.ts';
import { listen } from '../../server/http/listen/listen.ts';
import { FORM_TYPE, JSON_TYPE, refusal, VISA, XML_TYPE } from '../domain/inbound/run.ts';
import { canariesIn, dumpRedis } from '../helpers/canaries.ts';
import type { AccountClient, Answer } from '../helpers/clients.ts';
import { credentialClient, operatorClient } from '../helpers/credentials.ts';
import {
  connectInbound,
  createInbound,
  type InboundSettings,
  newInbound,
  sendThrough,
} from '../helpers/inbound.ts';
import { openProxyVault } from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import { startRefusingRedis } from '../helpers/refusing-redis.ts';
import { relay } from '../helpers/relay.ts';
import { SILENT } from '../helpers/third-party.ts';
import { talkTo } from '../http/talk.ts';

const setting = await openProxySetting({ trustedProxies: ['127.0.0.0/8'] });
const { vault, party, item, freshPath } = setting;
const { account } = item;
const KEY = 'sk_canary_of_the_merchant';
const shop = await connectInbound(account, party, { headers: [{ 'X-Key': KEY }] });
const SOURCE = { number: 'card.number', code: 'card.kk', include: ['card'], reference: 'id' };
const strict = await newInbound(account, { id: 'strict-one', connection: shop, extract: [SOURCE] });
const masking = await newInbound(account, { connection: shop, extract: [SOURCE], strict: 'mask' });
const CARD = `{"card":{"number":"${VISA}","kk":"739"}}`;

/** A number in another writing of each digit. */
function each(write: (digit: string) => string): string {
  return [...VISA].map(write).join('');
}
const WIDE = each((digit) => String.fromCharCode(0xff10 + Number(digit)));
const MATH = each((digit) => String.fromCodePoint(0x1d7ce + Number(digit)));

function tokenIn(text: string): string {
  return /[0-9a-f]{64}/.exec(text)?.[0] ?? '';
}
/** Lists what was logged of a number or a secret. */
function leaks(): readonly string[] {
  const text = JSON.stringify([vault.lines, vault.events]);
  return [VISA, '4111-1111', KEY, strict.secret, masking.secret].filter((secret) => text.includes(secret));
}
function placeOf({ outcome, field = '' }: Answer): string {
  return `${outcome} ${field}`.trim();
}
afterEach(() => expect(leaks()).toEqual([]));

interface Attack {
  readonly body?: string | Uint8Array;
  readonly type?: string;
  /** What follows the path. */
  readonly rest?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An attack, its outcome for a strict inbound, and the body that one with `mask` forwards. */
type Row = readonly [attack: string, sent: Attack, outcome: string, masked?: string];

const STARS = '*'.repeat(16);
const json = (body: string): Attack => ({ body });
const xml = (body: string): Attack => ({ body, type: XML_TYPE });
const form = (body: string): Attack => ({ body, type: FORM_TYPE });
const NUMBER = '400 card_not_extracted body.*';
const CODE = '400 code_not_extracted body.*';

const NUMBERS: readonly Row[] = [
  ['escapes', json(`{"a":"${each((d) => `\\u003${d}`)}"}`), NUMBER, `{"a":"${STARS}"}`],
  ['escapes in escapes', json(`{"a":"${each((d) => `\\\\u003${d}`)}"}`), NUMBER, `{"a":"${STARS}"}`],
  ['an exponent', json('{"a":4.111111111111111e15}'), NUMBER, '{"a":"*.***************e**"}'],
  ['zeros and an exponent', json('{"a":0.000000004111111111111111E+24}'), NUMBER],
  ['a negative exponent', json(`{"a":${VISA}000e-3}`), NUMBER, `{"a":"${STARS}***e-*"}`],
  ['an exponent in a text', json('{"pan":"4.111111111111111E+15"}'), NUMBER],
  ['an exponent in JSON in a text', json('{"a":"{\\"n\\":4.111111111111111e15}"}'), NUMBER],
  ['an exponent in a form', form('a=4.111111111111111e%2B15'), NUMBER],
  ['a fraction', json(`{"a":${VISA}.000}`), NUMBER],
  ['digits of another script', json(`{"a":"${WIDE}"}`), NUMBER, `{"a":"${STARS}"}`],
  ['mathematical digits', json(`{"a":"${MATH}"}`), NUMBER, `{"a":"${STARS}"}`],
  [
    'spaces that do not break',
    json('{"a":"4111\u00a01111\u00a01111\u00a01111"}'),
    NUMBER,
    '{"a":"****\u00a0****\u00a0****\u00a0****"}',
  ],
  ['signs that are not seen', json(`{"a":"${each((d) => `${d}\u200b`)}"}`), NUMBER],
  ['long dashes', json('{"a":"4111–1111–1111–1111"}'), NUMBER, '{"a":"****–****–****–****"}'],
  ['UTF-8 declared as ISO-8859-1', { body: `{"a":"${WIDE}"}`, type: `${JSON_TYPE}; charset=latin1` }, NUMBER],
  ['the name of a member', json(`{"${VISA}":1}`), '400 card_not_extracted body', `{"${STARS}":1}`],
  ['a byte order mark', json(`\ufeff{"a":"${VISA}"}`), NUMBER, `\ufeff{"a":"${STARS}"}`],
  ['lines', { body: `{"a":1}\n{"a":"${VISA}"}`, type: 'application/x-ndjson' }, NUMBER],
  ['JSON of another case', json(`{"card":{"Number":"${VISA}"}}`), '400 card_not_extracted body.card.*'],
  [
    'a list at the path',
    json(`{"card":{"number":["${VISA}"]}}`),
    '400 card_not_extracted body.card.number[*]',
  ],
  [
    'a text around it at the path',
    json(`{"card":{"number":"n ${VISA}"}}`),
    '400 card_not_extracted body.card.number',
  ],
  ['comments', xml('<r><a>4111<!-- -->11111111<!-- -->1111</a></r>'), `${NUMBER}.*`],
  ['sections', xml('<r><a>4111<![CDATA[1111]]>11111111</a></r>'), `${NUMBER}.*`],
  ['an element within', xml('<r><a>4111<b/>111111111111</a></r>'), `${NUMBER}.*`],
  ['references', xml(`<r><a>${each((d) => `&#x3${d};`)}</a></r>`), `${NUMBER}.*`],
  ['an instruction', xml(`<?x ${VISA}?><r/>`), '400 card_not_extracted body'],
  ['a comment of numbers', xml(`<r/><!-- ${VISA} -->`), '400 card_not_extracted body'],
  ['percent and plus', form('a=%34111+1111%201111%2b1111'), NUMBER],
  ['percent twice', form(`a=${each((d) => `%253${d}`)}`), NUMBER, `a=${STARS}`],
  ['percent of UTF-16', form(`a=${each((d) => `%u003${d}`)}`), NUMBER, `a=${STARS}`],
  [
    'a space of ISO-8859-1',
    { body: 'a=4111%A01111%A01111%A01111', type: `${FORM_TYPE};charset=latin1` },
    NUMBER,
  ],
  ['the name of a field', form(`${VISA}=1`), '400 card_not_extracted body', `${STARS}=1`],
  ['a field without a sign', form(VISA), '400 card_not_extracted body', STARS],
];

const CODES: readonly Row[] = [
  ['an exponent', json('{"cvv":7.39e2}'), CODE, '{"cvv":"******"}'],
  ['a fraction', json('{"cvv":739.0}'), CODE],
  ['a sign', json('{"cvv":-739}'), CODE, '{"cvv":"****"}'],
  ['spaces between', json('{"cvv":"7 3 9"}'), CODE, '{"cvv":"*****"}'],
  ['signs that are not seen', json('{"cvv":"73\u200b9"}'), CODE],
  ['a zero byte behind', json('{"cvv":"739\\u0000"}'), CODE],
  ['quotes', json(`{"cvv":"'739'"}`), CODE],
  ['references', json('{"cvv":"&#55;39"}'), CODE],
  ['JSON within', json('{"cvv":"{\\"code\\":\\"739\\"}"}'), CODE],
  ['digits of another script', json('{"cvv":"７３９"}'), CODE, '{"cvv":"***"}'],
  ['a name of another script', json('{"ｃｖｖ":"739"}'), CODE],
  ['an escaped name', json('{"cv\\u0076":"739"}'), CODE, '{"cv\\u0076":"***"}'],
  ['a list at the path of a code', json('{"card":{"kk":["739"]}}'), '400 code_not_extracted body.card.kk[*]'],
  ['an object there', json('{"card":{"kk":{"x":"739"}}}'), '400 code_not_extracted body.card.kk.*'],
  ['JSON as a form', form('{"a":"b=c","cvv":"739"}'), CODE, '{"a":"b=c","cvv":"***"}'],
  ['XML as a form', form('<r><cvv>739</cvv></r>'), '400 code_not_extracted body', '<r><cvv>***</cvv></r>'],
  ['another separator', form('a=1;cvv=739'), CODE, 'a=1;cvv=***'],
  ['brackets', form('cvv[]=739'), CODE, 'cvv[]=***'],
  ['comments', xml('<r><CVV>7<!-- -->39</CVV></r>'), `${CODE}.*`, '<r><CVV>*<!-- -->**</CVV></r>'],
  ['JSON split by a comment', xml('<r><a>{"cvv"<!-- -->:"739"}</a></r>'), `${CODE}.*`],
  ['XML in a section', xml('<r><a><![CDATA[<b><CVV>739</CVV></b>]]></a></r>'), `${CODE}.*`],
  ['an element in a comment', xml('<r><!-- <CVV>739</CVV> --></r>'), CODE],
];

const ELSEWHERE: readonly Row[] = [
  ['the path', { rest: `/${VISA}` }, '400 card_not_extracted path'],
  ['steps of the path', { rest: '/4111/1111/1111/1111' }, '400 card_not_extracted path'],
  ['an encoded path', { rest: `/${encodeURIComponent(WIDE)}` }, '400 card_not_extracted path'],
  ['a path encoded twice', { rest: `/${each((d) => `%253${d}`)}` }, '400 path_invalid path'],
  ['a query encoded twice', { rest: `?a=${each((d) => `%253${d}`)}` }, '400 card_not_extracted query.*'],
  ['long UTF-8', { rest: `?a=${each((d) => `%C0%B${d}`)}` }, '400 card_not_extracted query.*'],
  ['percent of UTF-16', { rest: `?a=${each((d) => `%u003${d}`)}` }, '400 card_not_extracted query.*'],
  ['a name of a query', { rest: `?${VISA}=1` }, '400 card_not_extracted query'],
  ['a parameter twice', { rest: '?cvv=x&cvv=739' }, '400 code_not_extracted query.*'],
  ['another separator', { rest: '?a=1;cvv=739' }, '400 code_not_extracted query.*'],
  ['a zero byte', { rest: '?cvv=739%00' }, '400 code_not_extracted query.*'],
  ['JSON alone', { rest: '?%7B%22cvv%22:%22739%22%7D' }, '400 code_not_extracted query'],
  ['an encoded name', { rest: '?%63v%76=739' }, '400 code_not_extracted query.*'],
  ['a header', { headers: { 'x-a': '4111 1111 1111 1111' } }, '400 card_not_extracted header.*'],
  ['the name of a header', { headers: { [`x-${VISA}`]: 'a' } }, '400 card_not_extracted header.*'],
  [
    'UTF-8 in a header',
    { headers: { 'x-a': Buffer.from(WIDE).toString('latin1') } },
    '400 card_not_extracted header.*',
  ],
  ['a code in a header', { headers: { 'card-cvv': '"739"' } }, '400 code_not_extracted header.*'],
  ['JSON in a header', { headers: { 'x-a': '{"cvv":"739"}' } }, '400 code_not_extracted header.*'],
  ['a quoted cookie', { headers: { cookie: 'a=b; cvv="739"' } }, '400 code_not_extracted header.*'],
  ['a cookie after a comma', { headers: { cookie: 'a=b, cvv=739' } }, '400 code_not_extracted header.*'],
  ['Basic', { headers: { authorization: `Basic ${btoa(`a:${VISA}`)}` } }, '400 card_not_extracted header.*'],
  ['the agent', { headers: { 'user-agent': `a/${VISA}` } }, '400 card_not_extracted header.*'],
];

const READ_TWICE: readonly Row[] = [
  ['a member twice', json(`{"a":1,"\\u0061":"${VISA}"}`), '400 invalid_json body'],
  ['an attribute twice', xml('<r kk="739" kk="x"/>'), '400 invalid_request body'],
  ['trailing data', json(`{"a":1}x${VISA}`), '400 invalid_json body'],
  ['a zero byte behind', json('{"a":1}\0'), '400 invalid_json body'],
  ['deep lists', json(`${'['.repeat(40_000)}${']'.repeat(40_000)}`), '400 json_too_deep body'],
  ['long UTF-8', { body: Buffer.from([0x22, 0xc0, 0xb4, 0x22]) }, '400 invalid_request body'],
  ['UTF-16', { body: Buffer.from(`"${VISA}"`, 'utf16le') }, '400 charset_unsupported body'],
  ['UTF-7', { body: '"+ADQ-"', type: `${JSON_TYPE}; charset=utf-7` }, '400 charset_unsupported body'],
  [
    'two charsets',
    { body: '"a"', type: `${JSON_TYPE}; charset=utf-8; charset=ibm037` },
    '400 charset_unsupported body',
  ],
  [
    'a declared charset',
    xml(`<?xml version="1.0" ${' '.repeat(300)}encoding="utf-7"?><r/>`),
    '400 charset_unsupported body',
  ],
  [
    'two types',
    { body: '<r>cvv=739</r>', type: `${XML_TYPE}, ${FORM_TYPE}` },
    '400 content_type_unsupported body',
  ],
  ['a form as text', { body: 'a=1&cvv=739', type: 'text/plain' }, CODE],
  [
    'parts',
    { body: `--b\r\n\r\n${VISA}\r\n--b--`, type: 'multipart/mixed; boundary=b' },
    '400 content_type_unsupported body',
  ],
  ['an entity', xml(`<!DOCTYPE r [<!ENTITY n "${VISA}">]><r>&n;</r>`), '400 invalid_request body'],
  [
    'a compressed body',
    { body: Bun.gzipSync(Buffer.from(CARD)), headers: { 'content-encoding': 'gzip' } },
    '400 content_encoding_unsupported header.Content-Encoding',
  ],
  ['a track', json(`{"a":";${VISA}=29122010000012345?"}`), '400 track_data_refused body'],
  [
    'a number as the reference',
    json(`{"id":"${VISA}","card":{"number":"5555555555554444"}}`),
    '400 reference_sensitive body',
  ],
];

describe.each([
  ['a number', NUMBERS],
  ['a code', CODES],
  ['what is no body', ELSEWHERE],
  ['what two readers read in two ways', READ_TWICE],
])('%s does not reach the merchant', (_, rows) => {
  const whole = rows.map(([attack, sent, outcome, masked = '']) => [attack, sent, outcome, masked] as const);
  test.each(whole)(
    '%s',
    async (__, { body = '{}', type = JSON_TYPE, rest = '', headers = {} }, outcome, masked) => {
      const path = freshPath();
      const sending = { body, headers: { 'content-type': type, ...headers } };
      const answer = await sendThrough(vault.handle, strict, path + rest, sending);
      expect(placeOf(answer)).toBe(outcome);
      expect(party.calls(path)).toEqual([]);
      const hidden = await sendThrough(vault.handle, masking, path + rest, sending);
      if (masked !== '') {
        expect(hidden.status).toBe(200);
        expect((await party.call(path)).text).toBe(masked);
      }
      for (const { target, head, text } of party.calls(path)) {
        expect(target + head.replaceAll(/:\d+/g, '') + text).not.toMatch(/4111|739|\\u0034/);
      }
    },
  );
});

/** What a third party replies to a relayed request whose reply has cards to store. */
const REPLIES: readonly (readonly [attack: string, type: string, body: string | Uint8Array])[] = [
  ['text', 'text/plain', `pan ${VISA}`],
  ['digits of another script', 'text/plain', WIDE],
  ['those in UTF-16', 'text/csv', Buffer.from(WIDE, 'utf16le')],
  ['UTF-16 of the other order', 'text/plain', Buffer.from(VISA, 'utf16le').swap16()],
  ['references', 'text/html', `<html>${each((d) => `&#x3${d};`)}</html>`],
  ['an exponent', JSON_TYPE, '{"a":0.04111111111111111e17}'],
  ['an exponent in text', 'text/csv', 'a,4.111111111111111E+15'],
  ['parts', 'multipart/form-data; boundary=b', `--b\r\n\r\n${VISA}\r\n--b--`],
  ['a member twice', JSON_TYPE, `{"card":{"number":"x","number":"${VISA}"}}`],
  ['a code in a list', JSON_TYPE, '{"card":{"kk":["739"]}}'],
  ['JSON as a form', FORM_TYPE, '{"cvv":"739"}'],
  ['two types', `${JSON_TYPE}, text/plain`, `{"a":"${WIDE}"}`],
  ['another script as ISO-8859-1', `${JSON_TYPE}; charset=latin1`, `{"a":"${WIDE}"}`],
];

describe('the reply of a third party shows no card', () => {
  test.each(REPLIES)('%s', async (_, type, body) => {
    const answer = await relay(account, shop, freshPath({ headers: [['Content-Type', type]], body }), {
      method: 'GET',
      headers: { 'x-vault-inbound': strict.id },
    });
    expect(answer.outcome).toBe('502 reply_not_storable');
    expect(answer.text).not.toMatch(/4111|739/);
  });
});

describe('a redirection of the merchant', () => {
  const below = party.url('/below');
  test.each<[string, string]>([
    ['another host', 'https://evil.example/'],
    ['no scheme', '//evil.example/'],
    ['backslashes', '\\\\evil.example/'],
    ['a name before the host', below.replace('//', '//a@')],
    ['a longer port', party.url('').replace(/(:\d+)$/, '$10/below/')],
    ['the base as the start of a name', party.url('/belowevil/x')],
    ['steps up', '/below/../admin'],
    ['encoded steps up', '/below/%2e%2e/admin'],
    ['another scheme', 'javascript:alert(1)'],
    ['http', below.replace('https:', 'http:')],
  ])('to %s is refused', async (_, location) => {
    const path = freshPath();
    party.script(`/below${path}`, { status: 307, headers: [['Location', location]] });
    const limited = await connectInbound(account, party, { base_url: below });
    const inbound = await newInbound(account, { connection: limited, extract: [SOURCE] });
    const answer = await sendThrough(vault.handle, inbound, path, { body: CARD });
    expect([answer.outcome, answer.headers.get('location')]).toEqual(['502 redirect_refused', null]);
  });

  test('shows no value of the connection', async () => {
    const path = freshPath({ status: 302, headers: [['Location', `/x?k=${KEY}`]] });
    const answer = await sendThrough(vault.handle, strict, path, { body: CARD });
    expect(answer.headers.get('location')).toStartWith('http://localhost/v1/inbound/strict-one/x?k=');
    expect(answer.headers.get('location')).not.toContain(KEY);
  });
});

/** What holders of few rights try, and what they get. */
const MAKING: readonly Scope[] = ['capture:write', 'proxy:send'];
describe('few rights', () => {
  const using = (scopes: readonly Scope[], wanted: Parameters<typeof credentialClient>[3] = {}) =>
    credentialClient(vault.handle, account, scopes, wanted);
  const making = async (client: AccountClient, settings: InboundSettings = {}): Promise<string> =>
    placeOf(await createInbound(client, { connection: shop, ...settings }));

  test.each<[string, () => Promise<string>, string]>([
    ['without proxy:send', async () => making(await using(['capture:write'])), '403 not_allowed scope'],
    ['without capture:write', async () => making(await using(['proxy:send'])), '403 not_allowed scope'],
    ['for another key', async () => making(await using(MAKING, { keys: ['v'] })), '403 not_allowed scope'],
    [
      'to a host of others',
      async () => making(await using(MAKING, { hosts: ['psp.example'] })),
      '403 not_allowed scope',
    ],
    [
      'tokens with digits of the number',
      async () => making(await using(MAKING), { algorithm: 'partial_middle_4_3' }),
      '403 not_allowed body.algorithm',
    ],
    [
      'a connection that takes none',
      async () => {
        const body = { id: 'closed', base_url: party.url('') };
        await account.send('POST', '/connection', { body });
        return making(account, { connection: 'closed' });
      },
      '403 not_allowed body.connection',
    ],
    [
      'a connection of its own',
      async () => {
        const client = await using([...MAKING, 'connection:write']);
        const body = { id: 'own', base_url: party.url(''), inbound: true };
        return placeOf(await client.send('POST', '/connection', { body }));
      },
      '403 not_allowed body.inbound',
    ],
    [
      'the place of an inbound of another key, with its secret',
      async () => {
        await account.key('w');
        const client = await using(MAKING, { keys: ['w'] });
        const { id, secret } = strict;
        return making(client, { user: 'w', id, secret });
      },
      '409 endpoint_exists body.id',
    ],
    [
      'the place of an inbound of another account, with its secret',
      async () => {
        const other = await vault.account();
        await other.key('u');
        const { id, secret } = strict;
        return making(other, { connection: await connectInbound(other, party), id, secret });
      },
      '409 endpoint_exists body.id',
    ],
    [
      'reading one of another account',
      async () => placeOf(await (await vault.account()).send('GET', `/inbound/${strict.id}`)),
      '404 endpoint_not_found',
    ],
    [
      'reading one of another key',
      async () => {
        const client = await using(MAKING, { keys: ['w'] });
        return placeOf(await client.send('GET', `/inbound/${strict.id}`));
      },
      '403 not_allowed scope',
    ],
    [
      'deleting one of another key',
      async () => {
        const client = await using(MAKING, { keys: ['w'] });
        return placeOf(await client.send('DELETE', `/inbound/${strict.id}`));
      },
      '403 not_allowed scope',
    ],
    [
      'listing those of another key',
      async () => (await (await using(MAKING, { keys: ['w'] })).send('GET', '/inbound')).text,
      '[]',
    ],
    [
      'an operator credential',
      async () => placeOf(await (await operatorClient(vault)).send('GET', '/inbound')),
      '403 not_allowed scope',
    ],
    [
      'the code as a value that stays',
      async () => making(account, { extract: [{ number: 'n', code: 'kk', include: { x: 'kk' } }] }),
      '400 invalid_request body.extract[0].include.x',
    ],
    [
      'the code as the reference',
      async () => making(account, { extract: [{ number: 'n', code: 'kk', reference: 'kk' }] }),
      '400 invalid_request body.extract[0].reference',
    ],
  ])('%s', async (_, attack, outcome) => {
    expect(await attack()).toBe(outcome);
  });
});

describe('over a socket', () => {
  const server = listen(vault.app, { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 5 });
  afterAll(() => server.stop(true));
  const chunked = (text: string, extension = ''): string =>
    `${text.length.toString(16)}${extension}\r\n${text}\r\n0\r\n`;
  const LENGTH = 'Content-Length: 2';

  /** Lines of a head, a body, the status, and whether it is forwarded. */
  test.each<[string, readonly string[], string, string, boolean]>([
    ['two lengths', [LENGTH, 'Content-Length: 3'], '{} ', '400', false],
    ['a length and pieces', [LENGTH, 'Transfer-Encoding: chunked'], chunked('{}'), '400', false],
    ['another coding', ['Transfer-Encoding: gzip, chunked'], chunked('{}'), '400', false],
    ['a folded line', [LENGTH, `X-A: 4111`, ' 1111 1111 1111'], '{}', '400', false],
    ['a zero byte', [LENGTH, 'X-A: a\0b'], '{}', '400', false],
    ['two types', [LENGTH, `Content-Type: ${FORM_TYPE}`], '{}', '400', false],
    ['a number in two lines of a name', [LENGTH, 'X-A: 4111-1111', 'X-A: 1111-1111'], '{}', '200', true],
    ['two secrets', [LENGTH, 'X-Vault-Capture-Secret: vcs1_a'], '{}', '403', false],
    ['a host of its own', [LENGTH, 'X-Forwarded-Host: evil', 'X_Vault_User: u'], '{}', '200', true],
    [
      'a number in the extension of a piece',
      ['Transfer-Encoding: chunked'],
      `${chunked('{}', `;n=${VISA}`)}\r\n`,
      '200',
      true,
    ],
    [
      'a number in a trailer',
      ['Transfer-Encoding: chunked'],
      `${chunked('{}')}X-T: ${VISA}\r\n\r\n`,
      '400',
      false,
    ],
    ['a body that is compressed in fact', ['Content-Length: 4'], '\x1f\x8b\x08\x00', '400', false],
    [
      'a name that a connection drops',
      [LENGTH, 'Connection: content-type, x-key', `X-Key: ${VISA}`],
      '{}',
      '200',
      true,
    ],
  ])('%s', async (_, lines, body, status, isForwarded) => {
    const path = freshPath();
    const head = [
      `POST ${strict.url}${path} HTTP/1.1`,
      ...['Host: vault.test', `X-Vault-Capture-Secret: ${strict.secret}`],
      ...(lines.includes('Connection: content-type, x-key') ? [] : ['Connection: close']),
      ...[`Content-Type: ${JSON_TYPE}`, ...lines, '', ''],
    ];
    const { text } = await talkTo(
      server.port,
      head.join('\r\n') + body,
      (all) => all.startsWith('HTTP') && all.includes('\r\n\r\n'),
    );
    expect(text.slice(9, 12)).toBe(status);
    const calls = party.calls(path);
    expect(calls.length).toBe(isForwarded ? 1 : 0);
    expect(JSON.stringify(calls.map(({ head: sent, text: received }) => [sent, received]))).not.toContain(
      VISA,
    );
  });

  test.each<[string, string]>([
    ['another host in the target', `http://evil.example${strict.url}`],
    ['a number in a fragment', strict.url],
  ])('%s goes nowhere else', async (_, base) => {
    const path = freshPath();
    const target = base === strict.url ? `${base}${path}#${VISA}` : base + path;
    const lines = [`GET ${target} HTTP/1.1`, 'Host: vault.test', 'Connection: close'];
    const head = [...lines, `X-Vault-Capture-Secret: ${strict.secret}`, '', ''].join('\r\n');
    await talkTo(server.port, head);
    for (const { head: sent } of party.calls(path)) {
      expect(sent).not.toMatch(/4111|evil/);
    }
  });

  test.each(['GET', 'HEAD'])('a body of %s, which the runtime drops, is refused', async (method) => {
    const path = freshPath();
    const lines = [`${method} ${strict.url}${path} HTTP/1.1`, 'Host: vault.test', 'Connection: close'];
    const own = [`X-Vault-Capture-Secret: ${strict.secret}`, `Content-Length: ${CARD.length}`, '', ''];
    const { text } = await talkTo(server.port, [...lines, ...own].join('\r\n') + CARD);
    expect(text.slice(9, 12)).toBe('400');
    expect(party.calls(path)).toEqual([]);
  });

  test('a Connection of many names costs little', async () => {
    const path = freshPath();
    const names = Array.from({ length: 6_000 }, (_, at) => `n${at}`).join();
    const others = Array.from({ length: 90 }, (_, at) => `H${at}: 1`);
    const lines = [`GET ${strict.url}${path} HTTP/1.1`, 'Host: vault.test', `Connection: close,${names}`];
    const head = [...lines, ...others, `X-Vault-Capture-Secret: ${strict.secret}`, '', ''].join('\r\n');
    const { user } = process.cpuUsage();
    await talkTo(server.port, head);
    expect((process.cpuUsage().user - user) / 1_000).toBeLessThan(1_000);
    expect(party.calls(path)).toHaveLength(1);
  });
});

describe('limits', () => {
  test('the rate lets exactly so many through, of requests at one instant too', async () => {
    const inbound = await newInbound(account, { connection: shop, extract: [SOURCE], rate: '3/h' });
    const path = freshPath();
    const all = await Promise.all(
      Array.from({ length: 9 }, () => sendThrough(vault.handle, inbound, path, { body: CARD })),
    );
    expect(all.filter(({ status }) => status === 200)).toHaveLength(3);
    expect(all.filter(({ outcome }) => outcome === '429 rate_limited')).toHaveLength(6);
    expect(party.calls(path)).toHaveLength(3);
  });

  test.each<[string, string | undefined, string]>([
    ['an allowed address', '203.0.113.9', '200'],
    ['the same as IPv6', '::ffff:203.0.113.9', '200'],
    ['an allowed one before its own', '203.0.113.9, 198.51.100.1', '403 not_allowed source_ip'],
    ['an allowed one behind a port', '198.51.100.1:203', '403 not_allowed source_ip'],
    ['no address', 'unknown', '403 not_allowed source_ip'],
    ['the proxy itself', undefined, '403 not_allowed source_ip'],
  ])('the address %s', async (_, forwarded, outcome) => {
    const inbound = await newInbound(account, {
      connection: shop,
      extract: [SOURCE],
      ips: ['203.0.113.0/24'],
    });
    const headers: Readonly<Record<string, string>> = {
      'x-real-ip': '203.0.113.9',
      forwarded: 'for=203.0.113.9',
      ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }),
    };
    const answer = await sendThrough(vault.handle, inbound, freshPath(), { body: CARD, headers });
    expect(placeOf(answer)).toBe(outcome);
  });

  test('a suspended owner gets nothing through, by either way', async () => {
    const owner = await vault.account();
    await owner.key('u');
    const connection = await connectInbound(owner, party);
    const inbound = await newInbound(owner, { connection, extract: [SOURCE] });
    const path = freshPath();
    const operator = await operatorClient(vault);
    const attack = async (): Promise<readonly string[]> => [
      (await sendThrough(vault.handle, inbound, path, { body: CARD })).outcome,
      (await relay(owner, connection, path, { headers: { 'x-vault-inbound': inbound.id } })).outcome,
    ];
    expect(await attack()).toEqual(['200', '200']);
    await operator.send('POST', `/account/${owner.name}/suspend`);
    expect(await attack()).toEqual(['403 account_suspended', '403 account_suspended']);
    expect(party.calls(path)).toHaveLength(2);
  });

  test('an inbound lets nothing through after its connection was closed or its hosts were taken', async () => {
    const owner = await vault.account();
    await owner.key('u');
    const connection = await connectInbound(owner, party);
    const inbound = await newInbound(owner, { connection, extract: [SOURCE] });
    const path = freshPath();
    const attack = async (): Promise<string> =>
      placeOf(await sendThrough(vault.handle, inbound, path, { body: CARD }));
    const change = (takes: boolean): Promise<Answer> =>
      owner.send('PUT', `/connection/${connection}`, {
        body: { base_url: party.url(''), inbound: takes },
      });
    await change(false);
    expect(await attack()).toBe('403 not_allowed connection');
    await change(true);
    await vault.opened.services.accounts.set(owner.name, { hosts: ['psp.example'] });
    expect(await attack()).toBe('400 destination_refused connection');
    expect(party.calls(path)).toEqual([]);
  });
});

describe('two things at one instant', () => {
  // Two characters of each token differ: several of 60 numbers clash.
  test('cards whose tokens clash get the same ones at each repeat', async () => {
    const settings = { connection: shop, extract: [{ number: 'n[*]' }], algorithm: 'partial_middle_6_4' };
    const inbound = await newInbound(account, settings);
    const path = freshPath();
    const numbers = Array.from({ length: 60 }, (_, at) => `400000${10 + at}0123`);
    const bodies = [numbers, numbers.toReversed(), numbers, numbers.slice(20), numbers];
    const sent = bodies.map((n) => JSON.stringify({ n }));
    const all = await Promise.all(sent.map((body) => sendThrough(vault.handle, inbound, path, { body })));
    expect(new Set(all.map(({ outcome }) => outcome))).toEqual(new Set(['200']));
    await sendThrough(vault.handle, inbound, path, { body: sent[0] ?? '' });
    const last = JSON.parse((await party.call(path, 6)).text) as { n: string[] };
    expect(new Set(last.n).size).toBe(numbers.length);
    for (const { text } of party.calls(path)) {
      const { n } = JSON.parse(text) as { n: string[] };
      // A token that was forwarded once opens the number for which it stood.
      expect(new Set(n).isSubsetOf(new Set(last.n))).toBe(true);
    }
  });

  test('a deletion: no request that begins after its reply gets through', async () => {
    const inbound = await newInbound(account, { connection: shop, extract: [SOURCE] });
    const path = freshPath();
    const attack = (): Promise<Answer> => sendThrough(vault.handle, inbound, path, { body: CARD });
    expect((await attack()).status).toBe(200);
    const [, ...others] = await Promise.all([
      account.send('DELETE', `/inbound/${inbound.id}`),
      ...Array.from({ length: 5 }, attack),
    ]);
    for (const { outcome } of others) {
      expect(['200', '403 endpoint_refused', '410 endpoint_gone']).toContain(outcome);
    }
    expect((await attack()).outcome).toBe('403 endpoint_refused');
  });

  test('a server that dies between storing and sending leaves a card that a repeat finds again', async () => {
    const second = await vault.secondServer();
    afterAll(() => second.close());
    const inbound = await newInbound(account, { connection: shop, extract: [{ number: 'card.number' }] });
    const path = freshPath();
    const { usageStore } = second.opened.stores;
    const died = Promise.withResolvers<void>();
    const dying = spyOn(usageStore, 'add').mockImplementation(() => {
      died.resolve();
      return new Promise<never>(() => undefined);
    });
    void sendThrough(second.handle, inbound, path, { body: CARD });
    await died.promise;
    dying.mockRestore();
    const listed = await account.send('GET', '/vault', { query: { user: 'u', reference: inbound.id } });
    expect(party.calls(path)).toEqual([]);
    expect((await sendThrough(vault.handle, inbound, path, { body: CARD })).status).toBe(200);
    const token = tokenIn((await party.call(path)).text);
    expect(token).not.toBe('');
    expect(tokenIn(listed.text)).toBe(token);
  });

  test('a server that dies while the merchant is silent, and the repeat at another one', async () => {
    const second = await vault.secondServer();
    afterAll(() => second.close());
    const path = freshPath(SILENT, 200);
    void sendThrough(second.handle, strict, path, { body: CARD });
    const first = await party.call(path);
    expect((await sendThrough(vault.handle, strict, path, { body: CARD })).status).toBe(200);
    expect((await party.call(path, 2)).text).toBe(first.text);
  });
});

describe('what is at rest', () => {
  test('a stolen database shows neither cards nor codes, secrets, paths or addresses', async () => {
    const canaries = {
      number: '6011000990139424',
      code: '73914826',
      holder: 'Canary Holder of the card',
      path: 'canary_of_a_path',
      name: 'canary_of_a_name',
      network: '203.0.113.77',
    };
    const inbound = await newInbound(account, {
      connection: shop,
      extract: [{ number: 'canary_of_a_path', code: 'kk', include: { canary_of_a_name: 'h' } }],
      ips: ['127.0.0.1', canaries.network],
    });
    const path = freshPath();
    const body = JSON.stringify({ canary_of_a_path: canaries.number, kk: canaries.code, h: canaries.holder });
    expect((await sendThrough(vault.handle, inbound, path, { body })).status).toBe(200);
    await sendThrough(vault.handle, inbound, path, { body: `{"x":"${canaries.number}"}` });
    await vault.opened.services.accounts.list();
    const all = { ...canaries, secret: inbound.secret, value: KEY };
    expect(canariesIn(all, await dumpRedis(vault.raw))).toEqual([]);
    expect(canariesIn(all, JSON.stringify([vault.lines, vault.events]))).toEqual([]);
  });

  test('a code of the owner’s path is nowhere in what stays of a card', async () => {
    const path = freshPath();
    const body = `{"id":"at-rest","card":{"number":"${VISA}","kk":"739","x":[{"y":1}]}}`;
    expect((await sendThrough(vault.handle, strict, path, { body })).status).toBe(200);
    const token = tokenIn((await party.call(path)).text);
    const stored = JSON.parse(await account.open('u', token, { reference: 'at-rest' }));
    expect(stored).toEqual({
      ...{ card_number: VISA, cvv: '739' },
      card: { number: VISA, kk: '***', x: [{ y: 1 }] },
    });
  });

  test('a Redis that is full: nothing is acknowledged, and nothing forwarded', async () => {
    const redis = await startRefusingRedis();
    const full = await openProxyVault({ redis, alone: true });
    const owner = await full.account();
    await owner.key('u');
    const inbound = await newInbound(owner, {
      connection: await connectInbound(owner, party),
      extract: [SOURCE],
    });
    const path = freshPath();
    await redis.refuse('OOM');
    const stored = await sendThrough(full.handle, inbound, path, { body: CARD });
    const refused = await sendThrough(full.handle, inbound, path, { body: `{"x":"${VISA}"}` });
    await redis.accept('OOM');
    expect(stored.outcome).toBe('503 store_unavailable');
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(refused.text).not.toContain('4111');
    expect(party.calls(path)).toEqual([]);
    expect((await sendThrough(full.handle, inbound, path, { body: CARD })).status).toBe(200);
    await full.close();
    await redis.stop();
  });
});

/** A quarter of the longest body; each took most time among those of its kind. Quadratic time would be minutes. */
const BYTES = 250_000;
const CPU_MS_MAX = 2_000;
function filled(part: string): string {
  return part.repeat(Math.floor(BYTES / part.length));
}

describe('one message does not hold a thread', () => {
  test.each<[string, string, string]>([
    ['small numbers', JSON_TYPE, `[${filled('1,')}1]`],
    ['single digits', JSON_TYPE, `"${filled('4 ')}"`],
    ['numbers', JSON_TYPE, `[${filled(`${VISA},`)}1]`],
    ['numbers in a text', JSON_TYPE, `"${filled(`${VISA} `)}"`],
    ['exponents', JSON_TYPE, `"${filled('4.1e15 ')}"`],
    ['codes with signs', JSON_TYPE, `{"cvv":"1${filled('-')}2"}`],
    ['pairs of a form', FORM_TYPE, filled('cvv=1;')],
    ['spaces of a form', FORM_TYPE, `a=${filled('4+')}`],
    ['pieces of a text', XML_TYPE, `<r>&#52;${filled(`${VISA} <!---->`)}</r>`],
    [
      'attributes',
      XML_TYPE,
      `<r>${filled(`<a ${Array.from({ length: 255 }, (_, at) => `n${at}="1"`).join(' ')}/>`)}</r>`,
    ],
    ['a declaration', XML_TYPE, `<?xml ${filled('encoding ')}`],
    ['letters beyond ASCII', JSON_TYPE, `"${filled('é4')}`],
  ])('%s', (_, type, body) => {
    const { user } = process.cpuUsage();
    refusal(body, { extract: [SOURCE], strict: 'mask' }, { type });
    expect((process.cpuUsage().user - user) / 1_000).toBeLessThan(CPU_MS_MAX);
  });
});
