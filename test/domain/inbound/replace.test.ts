import { describe, expect, test } from 'bun:test';
import type { InboundRules } from '../../../server/domain/inbound/rules.ts';
import { AMEX, FORM_TYPE, JSON_TYPE, MASTERCARD, refusal, run, VISA, XML_TYPE } from './run.ts';

const CARDS: InboundRules = {
  extract: [
    {
      ...{ number: 'cards[*].number', code: 'cards[*].cvc', reference: 'cards[*].id' },
      include: ['cards[*].exp', 'hotel.id'],
    },
  ],
};

describe('JSON', () => {
  test('everything else stays byte for byte, and values belong to their cards', () => {
    const sent = `\ufeff{ "hotel":{"id": 1.10},\r\n"ü":"\\u00fc\\/","cards" :[ {"id":7,"number":"4111 1111 1111 1111","cvc":123,"exp":{"m":12}},
      {"number":${MASTERCARD} ,"cvc" : "0123", "exp": null, "id":"b" } ]}\n`;
    const { body, cards, stored } = run(sent, CARDS);
    expect(body).toBe(
      sent
        .replace('4111 1111 1111 1111', 'tok1')
        .replace(':123', ':"***"')
        .replace(MASTERCARD, '"tok2"')
        .replace('0123', '****'),
    );
    expect(cards).toEqual([
      '7 {"card_number":"4111 1111 1111 1111","cvv":"123","exp":{"m":12},"id":1.10}',
      `b {"card_number":"${MASTERCARD}","cvv":"0123","exp":null,"id":1.10}`,
    ]);
    expect(stored).toBe(2);
  });

  test.each<[string, string, string]>([
    ['spaces around', `"  ${VISA}\\n"`, '"  tok1\\n"'],
    ['dashes', '"4111-1111-1111-1111"', '"tok1"'],
    ['escapes', '"\\u0034111\\u00201111 1111\\u002d1111"', '"tok1"'],
    ['no check digit', '"4111111111111112"', '"tok1"'],
    ['twelve digits', '"501800000009"', '"tok1"'],
    ['nineteen digits', '6304000000000000000', '"tok1"'],
  ])('a number with %s', (_, value, shown) => {
    const { body, stored } = run(`{"n":${value}}`, { extract: [{ number: 'n' }] });
    expect(body).toBe(`{"n":${shown}}`);
    expect(stored).toBe(1);
  });

  test.each<[string, string]>([
    ['an empty text', '""'],
    ['stars', '"411111******1111"'],
    ['letters', '"XXXX-XXXX-XXXX-1111"'],
    ['zeros', '"0000 0000 0000 0000"'],
    ['a number of zeros', '0'],
    ['null', 'null'],
    ['a word', 'true'],
    ['few digits', '"41111111111"'],
    ['two spaces', '"411111  111112"'],
    ['an object', '{"x":1}'],
    ['a list', '["a"]'],
  ])('%s is no card, and the code beside it is masked', (_, value) => {
    const rules = { extract: [{ number: 'n', code: 'c' }] };
    const { body, stored } = run(`{"n":${value},"c":"123"}`, rules);
    expect(body).toBe(`{"n":${value},"c":"***"}`);
    expect(stored).toBe(0);
  });

  test('a code without a digit stays', () => {
    const rules = { extract: [{ number: 'n', code: 'c' }] };
    const { body, cards } = run(`{"n":"${VISA}","c":"***"}`, rules);
    expect(body).toBe('{"n":"tok1","c":"***"}');
    expect(cards).toEqual([`{"card_number":"${VISA}"}`]);
  });

  test('values pair by the steps `[*]` and `*` that their paths share', () => {
    const rules: InboundRules = {
      extract: [
        {
          ...{ number: 'r[*].g.*.p[*].n', code: 'r[*].g.*.p[*].c', reference: 'r[*].id' },
          include: { guest: 'r[*].g.*.name', first: 'r[*].rooms[*]', all: 'all' },
        },
      ],
    };
    const { cards } = run(
      `{"all":[1,{"a":2}],"r":[
        {"id":"A","rooms":[1,2],"g":{"x":{"name":"X","p":[{"n":"${VISA}","c":"111"},{"n":"${AMEX}","c":"1222"}]},"y":{"name":"Y","p":[{"n":"${MASTERCARD}"}]}}},
        {"id":"B","g":{"z":{"p":[{"n":"${VISA}","c":"333"}]}}}]}`,
      rules,
    );
    expect(cards).toEqual([
      `A {"card_number":"${VISA}","cvv":"111","guest":"X","first":1,"all":[1,{"a":2}]}`,
      `A {"card_number":"${AMEX}","cvv":"1222","guest":"X","first":1,"all":[1,{"a":2}]}`,
      `A {"card_number":"${MASTERCARD}","guest":"Y","first":1,"all":[1,{"a":2}]}`,
      `B {"card_number":"${VISA}","cvv":"333","all":[1,{"a":2}]}`,
    ]);
  });

  test('a code or a reference that may be of several cards is stored with none, and masked', () => {
    const rules: InboundRules = { extract: [{ number: 'n[*]', code: 'c[*]', reference: 'id[*]' }] };
    const { body, cards } = run(`{"n":["${VISA}","${AMEX}"],"c":["123","1234"],"id":["a","b"]}`, rules);
    expect(body).toBe('{"n":["tok1","tok2"],"c":["***","****"],"id":["a","b"]}');
    expect(cards).toEqual([`{"card_number":"${VISA}"}`, `{"card_number":"${AMEX}"}`]);
  });

  test('several sources, indexes, names with brackets and a list as the root', () => {
    const rules: InboundRules = {
      extract: [{ number: '[*]["a.b"]' }, { number: '[0].x[1]', include: ['[0].y'] }, { number: '[*].*[1]' }],
    };
    const { body, cards } = run(`[{"a.b":"${VISA}","x":["1","${AMEX}"],"y":2},{"x":[1,2]}]`, rules);
    expect(body).toBe('[{"a.b":"tok1","x":["1","tok2"],"y":2},{"x":[1,2]}]');
    expect(cards).toEqual([`{"card_number":"${VISA}"}`, `{"card_number":"${AMEX}","y":2}`]);
  });

  test('one number and reference in several places is one card, that of the last place', () => {
    const { body, cards, stored } = run(
      `{"cards":[{"number":"${VISA}","id":1,"exp":1},{"number":"${VISA}","id":2},{"number":"${VISA}","id":1,"exp":3}]}`,
      CARDS,
    );
    expect(body).toBe(
      '{"cards":[{"number":"tok1","id":1,"exp":1},{"number":"tok2","id":2},{"number":"tok1","id":1,"exp":3}]}',
    );
    expect(cards).toEqual([`1 {"card_number":"${VISA}","exp":3}`, `2 {"card_number":"${VISA}"}`]);
    expect(stored).toBe(3);
  });

  test('lines are a list, and one line is its value', () => {
    const rules: InboundRules = { extract: [{ number: '[*].n' }, { number: 'n' }] };
    const type = 'application/x-ndjson';
    expect(run(`{"n":"${VISA}"}\n{"n":"${AMEX}"}\n`, rules, { type }).body).toBe(
      '{"n":"tok1"}\n{"n":"tok2"}\n',
    );
    expect(run(`{"n":"${VISA}"}\n`, rules, { type }).body).toBe('{"n":"tok1"}\n');
  });

  test.each<[string, string, string]>([
    ['a card number', `"${VISA}"`, 'reference_sensitive body'],
    ['an object', '{}', 'invalid_request body'],
    ['a long text', `"${'x'.repeat(256)}"`, 'invalid_request body'],
    ['an empty text', '""', 'passed'],
    ['null', 'null', 'passed'],
  ])('a reference that is %s', (_, id, outcome) => {
    expect(refusal(`{"cards":[{"number":"${AMEX}","id":${id}}]}`, { ...CARDS, strict: false })).toBe(outcome);
  });
});

describe('XML', () => {
  const BOOKING: InboundRules = {
    extract: [
      {
        ...{ number: 'Res.Guest[*].Card.@Number', code: 'Res.Guest[*].Card.@Code', reference: 'Res.@Id' },
        include: { until: 'Res.Guest[*].Card.Exp', name: 'Res.Guest[*].Name' },
      },
    ],
  };

  test('attributes, elements without their prefix, and white space around a text', () => {
    const sent = `<?xml version="1.0"?>\n<x:Res Id="R1"><Guest><Name> Ann &amp; Co </Name><c:Card  Number='${VISA}'  Code = "123" ><Exp>\n1227 </Exp></c:Card></Guest>
<!-- second --><Guest><Card Number="5555 5555 5555 4444"/></Guest></x:Res>`;
    const { body, cards } = run(sent, BOOKING, { type: XML_TYPE });
    expect(body).toBe(
      sent.replace(VISA, 'tok1').replace('"123"', '"***"').replace('5555 5555 5555 4444', 'tok2'),
    );
    expect(cards).toEqual([
      `R1 {"card_number":"${VISA}","cvv":"123","until":"1227","name":"Ann & Co"}`,
      'R1 {"card_number":"5555 5555 5555 4444"}',
    ]);
  });

  test.each<[string, string, string]>([
    ['white space', `<r><n>\n\t${VISA} \n</n></r>`, '<r><n>\n\ttok1 \n</n></r>'],
    ['CDATA', `<r><n><![CDATA[ ${VISA} ]]></n></r>`, '<r><n><![CDATA[ tok1 ]]></n></r>'],
    ['references', '<r><n>&#52;111 1111&#x20;1111 1111</n></r>', '<r><n>tok1</n></r>'],
    [
      'comments within',
      '<r><n> 4111<!-- a -->1111<?b?>1111<![CDATA[1111]]> </n></r>',
      '<r><n> tok1<!-- a --><?b?><![CDATA[]]> </n></r>',
    ],
    ['an attribute', `<r><n id="1">${VISA}</n></r>`, '<r><n id="1">tok1</n></r>'],
    [
      'a document type',
      `<!DOCTYPE r SYSTEM "r.dtd"><r><n>${VISA}</n></r>`,
      '<!DOCTYPE r SYSTEM "r.dtd"><r><n>tok1</n></r>',
    ],
  ])('a number with %s', (_, sent, shown) => {
    expect(run(sent, { extract: [{ number: 'r.n' }] }, { type: XML_TYPE }).body).toBe(shown);
  });

  test('a single element is a list of one, several are not one', () => {
    const type = XML_TYPE;
    const one = `<r><n>${VISA}</n></r>`;
    const two = `<r><n>${VISA}</n><n>${AMEX}</n></r>`;
    expect(run(one, { extract: [{ number: 'r.n[*]' }] }, { type }).stored).toBe(1);
    expect(run(one, { extract: [{ number: 'r[0].n[0]' }] }, { type }).stored).toBe(1);
    expect(run(two, { extract: [{ number: 'r.n[*]' }] }, { type }).body).toBe(
      '<r><n>tok1</n><n>tok2</n></r>',
    );
    expect(refusal(two, { extract: [{ number: 'r.n' }] }, { type })).toBe('card_not_extracted body.r.n');
    expect(run(two, { extract: [{ number: 'r.n[1]' }], strict: false }, { type }).body).toBe(
      `<r><n>${VISA}</n><n>tok1</n></r>`,
    );
  });

  test('a text in ISO-8859-1 keeps its bytes', () => {
    const sent = `<?xml version="1.0" encoding="ISO-8859-1"?><r><h>Jürgen Weiß \u0080</h><n>${VISA}</n><h>é</h></r>`;
    const { bytes, cards } = run(
      Buffer.from(sent, 'latin1'),
      { extract: [{ number: 'r.n', include: { holder: 'r.h[0]' } }] },
      { type: XML_TYPE },
    );
    expect(Buffer.from(bytes).toString('latin1')).toBe(sent.replace(VISA, 'tok1'));
    expect(cards).toEqual([`{"card_number":"${VISA}","holder":"Jürgen Weiß €"}`]);
  });
});

describe('forms', () => {
  test('a path is one whole name, and repeated names are a list', () => {
    const rules: InboundRules = {
      extract: [
        { number: '["card[number]"]', code: '["card[cvc]"]', include: ['name'] },
        { number: '["more[]"][*]' },
      ],
    };
    const sent = `card%5Bnumber%5D=4111+1111+1111+1111&name=Zo%C3%AB+B&&x&card%5Bcvc%5D=1%323&more[]=${MASTERCARD}&more[]=%33${AMEX.slice(1)}&z=%e4`;
    const { body, cards } = run(sent.replace('&z=%e4', ''), rules, { type: FORM_TYPE });
    expect(body).toBe('card%5Bnumber%5D=tok1&name=Zo%C3%AB+B&&x&card%5Bcvc%5D=***&more[]=tok2&more[]=tok3');
    expect(cards).toEqual([
      '{"card_number":"4111 1111 1111 1111","cvv":"123","name":"Zoë B"}',
      `{"card_number":"${MASTERCARD}"}`,
      `{"card_number":"${AMEX}"}`,
    ]);
    expect(refusal(sent, rules, { type: FORM_TYPE })).toBe('invalid_request body');
    expect(run(`more[]=${VISA}`, rules, { type: FORM_TYPE }).body).toBe('more[]=tok1');
  });

  test('a form in ISO-8859-1', () => {
    const rules: InboundRules = { extract: [{ number: 'n', include: ['name'] }] };
    const type = `${FORM_TYPE}; charset=iso-8859-1`;
    const { bytes, cards } = run(Buffer.from(`name=J%FCrgen\u00fc&n=${VISA}`, 'latin1'), rules, { type });
    expect(Buffer.from(bytes).toString('latin1')).toBe('name=J%FCrgen\u00fc&n=tok1');
    expect(cards).toEqual([`{"card_number":"${VISA}","name":"Jürgenü"}`]);
  });
});

describe('formats', () => {
  const rules: InboundRules = { extract: [{ number: 'n' }, { number: 'r.n' }] };

  test.each<[string, string, string]>([
    ['JSON', `\n {"n":"${VISA}"}`, '\n {"n":"tok1"}'],
    ['XML', ` <r><n>${VISA}</n></r>`, ' <r><n>tok1</n></r>'],
    ['a form', `a=&n=${VISA}`, 'a=&n=tok1'],
  ])('%s by its look', (_, sent, shown) => {
    for (const type of ['', 'application/octet-stream', 'text/plain; charset=utf-8']) {
      expect(run(sent, rules, { type }).body).toBe(shown);
    }
  });

  test('the same type twice is one, and commas in quotes separate none', () => {
    for (const type of [`${JSON_TYPE}, ${JSON_TYPE}`, `${JSON_TYPE}; x="a,b"`]) {
      expect(run(`{"n":"${VISA}"}`, rules, { type }).body).toBe('{"n":"tok1"}');
    }
  });

  test('an empty body goes on', () => {
    for (const type of ['', 'image/png', JSON_TYPE]) {
      expect(run('', rules, { type })).toMatchObject({ body: '', stored: 0 });
    }
  });

  test.each<[string, string, string | Uint8Array, string]>([
    ['text', 'text/plain', 'pay now', 'content_type_unsupported body'],
    ['HTML', 'text/html', '<html><body>a</body></html>', 'content_type_unsupported body'],
    ['a table', 'text/csv', 'a,b\n1,2', 'content_type_unsupported body'],
    ['multipart', 'multipart/form-data; boundary=x', 'a=b', 'content_type_unsupported body'],
    ['another charset', 'application/json; charset=utf-7', '{}', 'charset_unsupported'],
    ['UTF-16', JSON_TYPE, Buffer.from('\ufeff{}', 'utf16le'), 'charset_unsupported'],
    [
      'UTF-16 without a mark',
      'text/xml; charset=utf-16',
      Buffer.from('<r/>', 'utf16le'),
      'charset_unsupported',
    ],
    ['bytes that are no UTF-8', JSON_TYPE, Buffer.from([0x22, 0xff, 0x22]), 'invalid_request body'],
    ['no JSON', JSON_TYPE, '{"a":', 'invalid_json'],
    ['XML as JSON', JSON_TYPE, '<r/>', 'invalid_json'],
    ['a member twice', JSON_TYPE, '{"a":{"b":1,"\\u0062":2}}', 'invalid_json'],
    ['deep JSON', JSON_TYPE, `${'['.repeat(65)}${']'.repeat(65)}`, 'json_too_deep'],
    ['no XML', XML_TYPE, '<r>', 'invalid_request body'],
    ['an internal subset', XML_TYPE, '<!DOCTYPE r [<!ENTITY a "b">]><r>&a;</r>', 'invalid_request body'],
    ['too many bytes', JSON_TYPE, `"${'a'.repeat(1_048_576)}"`, 'body_too_large'],
  ])('%s', (_, type, body, outcome) => {
    expect(refusal(body, rules, { type })).toBe(outcome);
  });

  test('a content encoding', () => {
    const headers = [['content-encoding', 'gzip']] as const;
    expect(refusal('{}', rules, { headers })).toBe('content_encoding_unsupported');
    expect(refusal('', rules, { headers })).toBe('passed');
    expect(refusal('{}', rules, { headers: [['Content-Encoding', 'identity']] })).toBe('passed');
  });

  test('at most 1,000 cards, also of one number, and 4 MB of objects', () => {
    const list = (count: number): string =>
      JSON.stringify({ card_number: Array.from({ length: count }, () => VISA) });
    const paths: InboundRules = { extract: [{ number: 'card_number[*]' }] };
    for (const each of [paths, { extract: 'cards' }] as const) {
      expect(refusal(list(1_001), each)).toBe('body_too_large');
      expect(run(list(1_000), each).stored).toBe(1_000);
    }
    const large = JSON.stringify({
      all: 'x'.repeat(900_000),
      n: [VISA, AMEX, MASTERCARD, '4012888888881881', '6011111111111117'],
    });
    expect(refusal(large, { extract: [{ number: 'n[*]', include: ['all'] }] })).toBe('body_too_large');
  });
});

describe('cards that smart parse recognises', () => {
  const rules: InboundRules = { extract: 'cards' };

  test('several, each with its own values', () => {
    const sent = JSON.stringify({
      holder: 'Only One',
      guests: [
        { card: { number: VISA, cvv: '123', expiry: '12/27' }, cvcode: 'none' },
        { card: { number: AMEX, cid: '1234', exp_month: 1, exp_year: 2030, name: 'Bo Ek' } },
      ],
      remark: 'or 5555 5555 5555 4444 exp 01/29',
    });
    const { body, cards } = run(sent, rules);
    expect(body).toBe(
      sent
        .replace(VISA, 'tok1')
        .replace('"123"', '"***"')
        .replace(AMEX, 'tok2')
        .replace('"1234"', '"****"')
        .replace('5555 5555 5555 4444', 'tok3'),
    );
    expect(cards).toEqual([
      `{"card_number":"${VISA}","cvv":"123","expiry_month":"12","expiry_year":"27","card_holder":"Only One"}`,
      `{"card_number":"${AMEX}","cvv":"1234","expiry_month":"1","expiry_year":"2030","card_holder":"Bo Ek"}`,
      '{"card_number":"5555 5555 5555 4444","expiry_month":"01","expiry_year":"29","card_holder":"Only One"}',
    ]);
  });

  test('beside each other in one form, before and behind their values', () => {
    const type = FORM_TYPE;
    const behind = `card_number=${VISA}&cvv=123&exp=1227&card_number=${AMEX}&cvv=1234&exp=0130&name=Ann+Lee`;
    expect(run(behind, rules, { type }).cards).toEqual([
      `{"card_number":"${VISA}","cvv":"123","expiry_month":"12","expiry_year":"27","card_holder":"Ann Lee"}`,
      `{"card_number":"${AMEX}","cvv":"1234","expiry_month":"01","expiry_year":"30","card_holder":"Ann Lee"}`,
    ]);
    const before = `cvv=123&card_number=${VISA}&cvv=1234&card_number=${AMEX}`;
    expect(run(before, rules, { type }).cards).toEqual([
      `{"card_number":"${VISA}","cvv":"123"}`,
      `{"card_number":"${AMEX}","cvv":"1234"}`,
    ]);
  });

  test('numbers and codes of JSON within a text', () => {
    const sent = JSON.stringify({ payload: JSON.stringify({ pan: 4111111111111111, cvv: 123 }) });
    expect(run(sent, rules).body).toBe('{"payload":"{\\"pan\\":\\"tok1\\",\\"cvv\\":\\"***\\"}"}');
    expect(run(`x=${encodeURIComponent('{"pan":4111111111111111}')}`, rules, { type: FORM_TYPE }).body).toBe(
      'x=%7B%22pan%22%3A%22tok1%22%7D',
    );
  });

  test('track data', () => {
    expect(refusal(`{"track2":";${VISA}=29122010000012345?"}`, rules)).toBe('track_data_refused');
  });
});
