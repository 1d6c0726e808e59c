import { describe, expect, test } from 'bun:test';
import { type InboundMessage, replaceCards } from '../../../server/domain/inbound/inbound.ts';
import type { InboundRules } from '../../../server/domain/inbound/rules.ts';
import { AMEX, FORM_TYPE, JSON_TYPE, MASTERCARD, outcomeOf, refusal, run, VISA, XML_TYPE } from './run.ts';

const RULES: InboundRules = { extract: [{ number: 'card.number', code: 'card.cvc' }] };
const MASK: InboundRules = { ...RULES, strict: 'mask' };
const LOOSE: InboundRules = { ...RULES, strict: false };

/** `4111111111111111` with a change for each digit. */
function each(write: (digit: string, at: number) => string): string {
  return [...VISA].map(write).join('');
}

function hex(text: string): string {
  return text.charCodeAt(0).toString(16).padStart(2, '0');
}

/** Body, type and the body with stars; `N` is the number. */
const NUMBERS: readonly (readonly [what: string, type: string, sent: string, masked: string])[] = [
  ['a text', JSON_TYPE, `{"a":"pay ${VISA} now"}`, '{"a":"pay **************** now"}'],
  ['spaces', JSON_TYPE, '{"a":"4111 1111 1111 1111"}', '{"a":"**** **** **** ****"}'],
  ['dashes', JSON_TYPE, '{"a":"4111-1111-1111-1111"}', '{"a":"****-****-****-****"}'],
  ['dots between groups', JSON_TYPE, '{"a":"4111.1111.1111.1111"}', '{"a":"****.****.****.****"}'],
  ['a group before it', JSON_TYPE, `{"a":"12 ${VISA} 35"}`, '{"a":"12 **************** 35"}'],
  ['letters around', JSON_TYPE, `{"a":"x${VISA}y"}`, '{"a":"x****************y"}'],
  ['a bare number', JSON_TYPE, `{"a":[1, ${VISA} ]}`, '{"a":[1, "****************" ]}'],
  ['an exponent', JSON_TYPE, '{"a":4.111111111111111e15}', '{"a":"*.***************e**"}'],
  ['a fraction of zeros', JSON_TYPE, `{"a":${VISA}.0}`, '{"a":"****************.*"}'],
  ['a name', JSON_TYPE, `{"${VISA}":1}`, '{"****************":1}'],
  [
    'escapes of JSON',
    JSON_TYPE,
    `{"a":"${each((digit) => `\\u00${hex(digit)}`)}"}`,
    `{"a":"${'*'.repeat(16)}"}`,
  ],
  [
    'escapes of some digits',
    JSON_TYPE,
    '{"a":"4\\u003111 1111\\u0020111\\u0031 1111"}',
    '{"a":"**** ****\\u0020**** ****"}',
  ],
  [
    'percent within JSON',
    JSON_TYPE,
    `{"a":"${each((digit) => `%${hex(digit)}`)}"}`,
    `{"a":"${'*'.repeat(16)}"}`,
  ],
  ['percent twice', JSON_TYPE, `{"a":"${each((digit) => `%25${hex(digit)}`)}"}`, `{"a":"${'*'.repeat(16)}"}`],
  [
    'entities within JSON',
    JSON_TYPE,
    `{"a":"${each((digit) => `&#${digit.charCodeAt(0)};`)}"}`,
    `{"a":"${'*'.repeat(16)}"}`,
  ],
  [
    'digits of another script',
    JSON_TYPE,
    `{"a":"${each((digit) => String.fromCharCode(0xff10 + Number(digit)))}"}`,
    `{"a":"${'*'.repeat(16)}"}`,
  ],
  [
    'mathematical digits',
    JSON_TYPE,
    `{"a":"${each((digit) => String.fromCodePoint(0x1d7ce + Number(digit)))}"}`,
    `{"a":"${'*'.repeat(16)}"}`,
  ],
  [
    'JSON within a text',
    JSON_TYPE,
    `{"a":"{\\"b\\": ${VISA}}"}`,
    `{"a":"{\\"b\\": \\"${'*'.repeat(16)}\\"}"}`,
  ],
  [
    'a number name without a check digit',
    JSON_TYPE,
    '{"pan":"4111111111111112"}',
    '{"pan":"****************"}',
  ],
  [
    'a bare one of those',
    JSON_TYPE,
    '{"b":{"cardNumber":501800000008}}',
    '{"b":{"cardNumber":"************"}}',
  ],
  [
    'a number at the path that is none',
    JSON_TYPE,
    `{"card":{"number":"no ${VISA}"}}`,
    `{"card":{"number":"no ${'*'.repeat(16)}"}}`,
  ],
  ['an attribute', XML_TYPE, `<r a="${VISA}"/>`, `<r a="${'*'.repeat(16)}"/>`],
  ['a comment', XML_TYPE, `<r><!-- ${VISA} --></r>`, `<r><!-- ${'*'.repeat(16)} --></r>`],
  ['an instruction', XML_TYPE, `<?x ${VISA}?><r/>`, `<?x ${'*'.repeat(16)}?><r/>`],
  ['a name of an element', XML_TYPE, `<r><a${VISA}/></r>`, `<r><a${'*'.repeat(16)}/></r>`],
  ['references', XML_TYPE, `<r>${each((digit) => `&#x${hex(digit)};`)}</r>`, `<r>${'*'.repeat(16)}</r>`],
  [
    'comments within',
    XML_TYPE,
    '<r> 4111<!-- -->1111<b/>1111<?c?>1111 </r>',
    '<r> ****<!-- -->****<b/>****<?c?>**** </r>',
  ],
  ['a form', FORM_TYPE, 'a=4111+1111%201111-1111', 'a=****+****%20****-****'],
  ['a name of a form', FORM_TYPE, `${VISA}`, '*'.repeat(16)],
  ['percent in a form', FORM_TYPE, `a=${each((digit) => `%${hex(digit)}`)}`, `a=${'*'.repeat(16)}`],
];

describe('a card number outside of the paths', () => {
  test.each(NUMBERS)('%s', (_, type, sent, masked) => {
    expect(refusal(sent, RULES, { type })).toStartWith('card_not_extracted body');
    expect(run(sent, MASK, { type }).body).toBe(masked);
    expect(run(sent, LOOSE, { type }).body).toBe(sent);
  });

  test.each<[string, string]>([
    ['no check digit', '"4111111111111112"'],
    ['no network', '"9000000000000001"'],
    ['twelve digits', '"501800000009"'],
    ['a longer row', `"${VISA}${VISA}1"`],
    ['two spaces', '"41111111  11111111"'],
    ['a trace id', `"00-4111111111111111${'a'.repeat(16)}-00f067aa0ba902b7-01"`],
    ['a hash', `"${'ab'.repeat(10)}${VISA}${'c'.repeat(28)}"`],
    ['a UUID', '"41111111-1111-4111-8111-111111111111"'],
    ['zeros', '"0000000000000000"'],
    ['a list', '[4111,1111,1111,1111]'],
  ])('%s is none', (_, value) => {
    const sent = `{"a":${value}}`;
    expect(refusal(sent, RULES)).toBe('passed');
    expect(run(sent, MASK).body).toBe(sent);
  });

  test('beside a card that is extracted', () => {
    const sent = `{"card":{"number":"${VISA}","cvc":"123"},"copy":"${VISA}","x":"***"}`;
    expect(refusal(sent, RULES)).toBe('card_not_extracted body.*');
    expect(run(sent, MASK).body).toBe(
      `{"card":{"number":"tok1","cvc":"***"},"copy":"${'*'.repeat(16)}","x":"***"}`,
    );
  });

  test('digits of an extracted number count without a check digit', () => {
    for (const number of ['4111111111111112', '501800000008', '9999 0000 1111 2222 333']) {
      const digits = number.replaceAll(' ', '');
      const sent = `{"card":{"number":"${number}"},"copy":"(${digits})"}`;
      expect(refusal(sent, RULES)).toBe('card_not_extracted body.*');
      expect(run(sent, MASK).body).toBe(`{"card":{"number":"tok1"},"copy":"(${'*'.repeat(digits.length)})"}`);
      const message = { query: `?id=${digits}`, path: `/${digits}`, headers: [['X-Id', digits]] } as const;
      expect(run(`{"card":{"number":"${number}"}}`, MASK, message)).toMatchObject({
        query: `?id=${'*'.repeat(digits.length)}`,
        path: `/${'*'.repeat(digits.length)}`,
        headers: [['X-Id', '*'.repeat(digits.length)]],
      });
    }
    expect(refusal('{"copy":"501800000008"}', RULES)).toBe('passed');
    const longer = '{"card":{"number":"501800000008"},"copy":"15018000000081"}';
    expect(refusal(longer, RULES)).toBe('passed');
  });

  test.each<[string, Partial<InboundMessage>]>([
    ['a body', { body: Buffer.from(`{"card":{"number":"${VISA}"},"copy":"${VISA}"}`) }],
    ['a path', { path: `/${VISA}` }],
    ['a query', { query: `?a=${VISA}` }],
    ['a header', { headers: [['X-Card', VISA]] }],
  ])('nothing of the request is stored: %s', (_, refused) => {
    const message = {
      ...{ path: '/', query: '', headers: [['Content-Type', JSON_TYPE]] as const },
      ...{ body: Buffer.from(`{"card":{"number":"${VISA}"}}`), ...refused },
    };
    let stored = 0;
    const seal = (): string => `tok${++stored}`;
    expect(outcomeOf(() => replaceCards(message, RULES, seal))).toStartWith('card_not_extracted');
    expect(stored).toBe(0);
    replaceCards(message, LOOSE, seal);
    expect(stored).toBe(1);
  });
});

describe('a code outside of the paths', () => {
  test.each<[string, string, string, string]>([
    ['a text', JSON_TYPE, '{"x":{"cvv":" 123 "}}', '{"x":{"cvv":" *** "}}'],
    ['a number', JSON_TYPE, '{"securityCode":1234}', '{"securityCode":"****"}'],
    ['a PIN', JSON_TYPE, '{"pin":"0000"}', '{"pin":"****"}'],
    ['a value of its member', JSON_TYPE, '{"cvc":{"value":"123"}}', '{"cvc":{"value":"***"}}'],
    ['a list', JSON_TYPE, '{"cvv":["123","12"]}', '{"cvv":["***","12"]}'],
    ['a label beside it', JSON_TYPE, '[{"name":"cvv","value":"123"}]', '[{"name":"cvv","value":"***"}]'],
    ['escapes', JSON_TYPE, '{"cv\\u0076":"\\u003123"}', '{"cv\\u0076":"***"}'],
    ['JSON within a text', JSON_TYPE, '{"a":"{\\"cvv\\":123}"}', '{"a":"{\\"cvv\\":\\"***\\"}"}'],
    [
      'a weak name beside a number',
      JSON_TYPE,
      `{"number":"${AMEX}","code":"1234"}`,
      `{"number":"${'*'.repeat(15)}","code":"****"}`,
    ],
    ['an attribute', XML_TYPE, '<r><p:Card SeriesCode="123"/></r>', '<r><p:Card SeriesCode="***"/></r>'],
    ['an element', XML_TYPE, '<r><CVV>\n123</CVV></r>', '<r><CVV>\n***</CVV></r>'],
    ['comments within', XML_TYPE, '<r><CVV>1<!-- -->23</CVV></r>', '<r><CVV>*<!-- -->**</CVV></r>'],
    ['a form', FORM_TYPE, 'payment[cc_cid]=%3123&a=b', 'payment[cc_cid]=***&a=b'],
  ])('%s', (_, type, sent, masked) => {
    expect(refusal(sent, RULES, { type })).toMatch(/^c(?:ode|ard)_not_extracted body/);
    expect(run(sent, MASK, { type }).body).toBe(masked);
    expect(run(sent, LOOSE, { type }).body).toBe(sent);
  });

  test.each([
    '{"cvv":"***"}',
    '{"cvv":"12"}',
    '{"cvv":"12345"}',
    '{"cvv":null}',
    '{"code":"123"}',
    '{"note":"cvv 123"}',
  ])('%s passes', (sent) => {
    expect(refusal(sent, RULES)).toBe('passed');
  });
});

describe('path, query and headers', () => {
  test.each<[string, Parameters<typeof run>[2], string, string]>([
    ['a path', { path: `/a/${VISA}/b` }, 'card_not_extracted path', `/a/${'*'.repeat(16)}/b`],
    [
      'an encoded path',
      { path: '/%34111%2d1111-1111-1111' },
      'card_not_extracted path',
      '/****%2d****-****-****',
    ],
    ['a query', { query: `?a=1&n=${VISA}` }, 'card_not_extracted query.*', `?a=1&n=${'*'.repeat(16)}`],
    ['a query without a name', { query: `?${VISA}` }, 'card_not_extracted query', `?${'*'.repeat(16)}`],
    [
      'an encoded query',
      { query: '?n=%34111+1111%201111+1111&%ff' },
      'card_not_extracted query.*',
      '?n=****+****%20****+****&%ff',
    ],
    [
      'a name of a query',
      { query: '?pan=4111111111111112' },
      'card_not_extracted query.*',
      `?pan=${'*'.repeat(16)}`,
    ],
    ['a code in a query', { query: '?%63vv=123' }, 'code_not_extracted query.*', '?%63vv=***'],
    [
      'a header',
      { headers: [['X-Note', `n ${VISA}`]] },
      'card_not_extracted header.*',
      `n ${'*'.repeat(16)}`,
    ],
    [
      'an encoded header',
      { headers: [['Referer', 'https://a.example/?n=%34111111111111111']] },
      'card_not_extracted header.*',
      'https://a.example/?n=****************',
    ],
    ['a code in a header', { headers: [['X-CVV', '123']] }, 'code_not_extracted header.*', '***'],
    [
      'a cookie',
      { headers: [['Cookie', `a=b; n="${VISA}"`]] },
      'card_not_extracted header.*',
      `a=b; n="${'*'.repeat(16)}"`,
    ],
    [
      'a code in a cookie',
      { headers: [['cookie', 'cvv=123; a=b']] },
      'code_not_extracted header.*',
      'cvv=***; a=b',
    ],
  ])('%s', (_, sent, outcome, masked) => {
    for (const rules of [RULES, { ...RULES, extract: 'cards' } as const]) {
      expect(refusal('{}', rules, sent)).toBe(outcome);
      expect(refusal('', rules, { ...sent, type: '' })).toBe(outcome);
    }
    const { path, query, headers } = run('{}', MASK, sent);
    expect([path, query, headers[0]?.[1]]).toContain(masked);
    expect(run('{}', LOOSE, sent)).toMatchObject({ path: '/', ...sent });
  });

  test('what usual requests have passes', () => {
    const headers = [
      ['Traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
      ['X-Request-Id', '41111111-1111-4111-8111-111111111111'],
      ['User-Agent', 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36'],
      ['X-Timestamp', '1732874168123'],
      ['X-Token', `9${'0'.repeat(15)}`],
    ] as const;
    const sent = { path: '/v1/orders', query: '?since=1732874168123&_=%ff', headers };
    expect(run('{}', RULES, sent)).toMatchObject(sent);
  });
});

describe('allow', () => {
  test.each<[string, string, string]>([
    ['a member', 'a.b', `{"a":{"b":"${VISA}"}}`],
    ['as errors name it', 'body.a.b', `{"a":{"b":"${VISA}"}}`],
    ['any member', 'a[*].*', `{"a":[{"x":${VISA}},{"cvv":"123"}]}`],
    ['a code', 'cvv', '{"cvv":"123"}'],
  ])('%s', (_, path, sent) => {
    expect(run(sent, { ...RULES, allow: [path] }).body).toBe(sent);
    expect(run(sent, { ...MASK, allow: [path] }).body).toBe(sent);
    expect(refusal(sent, { ...RULES, allow: [`${path}.c`] })).toContain('_not_extracted body');
  });

  test('query, headers and path', () => {
    const sent = { path: `/${VISA}`, query: `?id=${VISA}`, headers: [['X-Id', VISA]] } as const;
    const allow = ['path', 'query.id', 'header.x-id'];
    expect(run('{}', { ...RULES, allow }, sent)).toMatchObject(sent);
    expect(refusal('{}', { ...RULES, allow: ['id'] }, sent)).toBe('card_not_extracted path');
    expect(refusal('{}', { ...RULES, allow: ['path', 'query.x'] }, sent)).toBe('card_not_extracted query.*');
  });

  test('an allowed number does not hide another one', () => {
    const sent = `<r><a>${VISA}</a><b>${MASTERCARD}</b></r>`;
    expect(refusal(sent, { ...RULES, allow: ['r.a'] }, { type: XML_TYPE })).toBe(
      'card_not_extracted body.r.*',
    );
  });
});

describe('the field of an error', () => {
  const rules: InboundRules = {
    extract: [
      { number: 'card.number', code: 'card.cvc', include: ['r.["a.b"]', 'r.@id'], reference: 'list[*].id' },
    ],
  };

  test.each<[string, string, string]>([
    ['names of the owner alone', `{"card":{"secret name":{"number":"${VISA}"}}}`, 'body.card.*.number'],
    ['items of lists', `{"list":[{"x":[["${VISA}"]]}]}`, 'body.list[*].*[*][*]'],
    ['names with dots', `{"r":{"a.b":[${VISA}]}}`, 'body.r["a.b"][*]'],
    ['the root', `"${VISA}"`, 'body'],
    ['a list as the root', `["${VISA}"]`, 'body[*]'],
    ['a name', `{"card":{"${VISA}":1}}`, 'body'],
  ])('%s', (_, sent, field) => {
    expect(refusal(sent, rules)).toBe(`card_not_extracted ${field}`);
  });

  test.each<[string, string]>([
    [`<r id="${VISA}"/>`, 'body.r.@id'],
    [`<r><card>${VISA}</card></r>`, 'body.r.card'],
    [`<r><x><!-- ${VISA} --></x></r>`, 'body.r.*'],
  ])('%s', (sent, field) => {
    expect(refusal(sent, rules, { type: XML_TYPE })).toBe(`card_not_extracted ${field}`);
  });

  test('forms', () => {
    expect(refusal(`card%2Enumber=${VISA}`, rules, { type: FORM_TYPE })).toBe('card_not_extracted body.*');
    expect(refusal(`a.b=${VISA}`, rules, { type: FORM_TYPE })).toBe('card_not_extracted body["a.b"]');
  });
});
