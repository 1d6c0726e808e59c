import type { RuleCase } from './case.ts';

/** A stored value that tries to leave the string which it is put into. */
const BREAKOUT = '\\",\\"admin\\":true,\\"x\\":\\"';

/** The operations that make texts. */
export const TEXT_CASES: readonly RuleCase[] = [
  {
    kind: 'valid',
    about: 'the JSON text of a value, digits as they were written',
    operation: { name: 'stringify', input_field: 'a', output_field: 'out' },
    input: '{"a":{"n":1.10,"big":123456789012345678901234567890}}',
    output:
      '{"a":{"n":1.10,"big":123456789012345678901234567890},"out":"{\\"n\\":1.10,\\"big\\":123456789012345678901234567890}"}',
  },
  {
    kind: 'valid',
    about: 'a text gets quotes',
    operation: { name: 'stringify', input_field: 'a' },
    input: '{"a":"x\\"y"}',
    output: '{"a":"\\"x\\\\\\"y\\""}',
  },
  {
    kind: 'impossible',
    about: 'a text is no object, so it cannot become the whole one',
    operation: { name: 'stringify', input_field: '*', output_field: '*' },
    input: '{"a":1}',
    output: '{"a":1}',
  },
  {
    kind: 'hostile',
    about: 'lone surrogates and control characters stay what they are',
    operation: { name: 'stringify', input_field: 'a', output_field: 'out' },
    input: '{"a":["\\ud800","\\u0000"]}',
    output: '{"a":["\\ud800","\\u0000"],"out":"[\\"\\\\ud800\\",\\"\\\\u0000\\"]"}',
  },
  {
    kind: 'valid',
    about: 'the last two characters',
    operation: {
      name: 'substr',
      input_field: 'year',
      output_field: 'short',
      arguments: { start: -2, end: 0 },
    },
    input: '{"year":"2031"}',
    output: '{"year":"2031","short":"31"}',
  },
  {
    kind: 'valid',
    about: 'a number counts as its text, an emoji as one character',
    operation: { name: 'substr', input_field: 'a.0', arguments: { start: 1, end: -1 } },
    input: '{"a":["😀1😀2😀"],"n":2031}',
    output: '{"a":["1😀2"],"n":2031}',
  },
  {
    kind: 'impossible',
    about: 'an object has no characters',
    operation: { name: 'substr', input_field: 'a', output_field: 'b', arguments: { start: 0, end: 2 } },
    input: '{"a":{"x":true}}',
    output: '{"a":{"x":true},"b":{"x":true}}',
  },
  {
    kind: 'hostile',
    about: 'positions far outside, crossed',
    operation: {
      name: 'substr',
      input_field: 'a',
      arguments: { start: 9007199254740991, end: -9007199254740991 },
    },
    input: '{"a":"abc"}',
    output: '{"a":""}',
  },
  {
    kind: 'valid',
    about: 'every occurrence of a literal text',
    operation: { name: 'replace', input_field: 'a', arguments: { substr: ' ', new_str: '' } },
    input: '{"a":"4242 4242 4242 4242"}',
    output: '{"a":"4242424242424242"}',
  },
  {
    kind: 'impossible',
    about: 'true is no text',
    operation: {
      name: 'replace',
      input_field: 'a',
      output_field: 'b',
      arguments: { substr: 't', new_str: 'x' },
    },
    input: '{"a":true}',
    output: '{"a":true,"b":true}',
  },
  {
    kind: 'hostile',
    about: 'neither a pattern nor a replacement pattern means anything',
    operation: { name: 'replace', input_field: 'a', arguments: { substr: '.*', new_str: '$&$1$`' } },
    input: '{"a":"x.*y"}',
    output: '{"a":"x$&$1$`y"}',
  },
  {
    kind: 'valid',
    about: 'all but the last four, spaces kept',
    operation: { name: 'mask', input_field: 'a', arguments: { start: 0, end: -4 } },
    input: '{"a":"4242 4242 4242 4242"}',
    output: '{"a":"**** **** **** 4242"}',
  },
  {
    kind: 'impossible',
    about: 'a list has no characters',
    operation: { name: 'mask', input_field: 'a', output_field: 'b' },
    input: '{"a":[1]}',
    output: '{"a":[1],"b":[1]}',
  },
  {
    kind: 'hostile',
    about: 'a char that means something in a replacement',
    operation: { name: 'mask', input_field: 'a', arguments: { start: 1, end: 3, char: '$' } },
    input: '{"a":"a😀bc"}',
    output: '{"a":"a$$c"}',
  },
  {
    kind: 'valid',
    about: 'fields in a text',
    operation: {
      name: 'format',
      output_field: 'out',
      arguments: { format_string: '%v/%v, 100%%', keys: ['month', 'card.year'] },
    },
    input: '{"month":"04","card":{"year":2031}}',
    output: '{"month":"04","card":{"year":2031},"out":"04/2031, 100%"}',
  },
  {
    kind: 'impossible',
    about: 'a text has no fields',
    operation: {
      name: 'format',
      input_field: 'a',
      output_field: 'b',
      arguments: { format_string: '<%v>', keys: ['x'] },
    },
    input: '{"a":"text"}',
    output: '{"a":"text","b":"text"}',
  },
  {
    kind: 'hostile',
    about: 'values that look like places are not filled',
    operation: {
      name: 'format',
      output_field: 'out',
      arguments: { format_string: '%v|%v|%d', keys: ['a', 'constructor'] },
    },
    input: '{"a":"%v%v%v"}',
    output: '{"a":"%v%v%v","out":"%v%v%v||%d"}',
  },
  {
    kind: 'valid',
    about: 'a new object: texts, and values with their type',
    operation: {
      name: 'template',
      arguments: { template: '{"holder":"{{card.name}}","amount":{{amount}},"tags":{{tags}}}' },
    },
    input: '{"card":{"name":"Ada \\"Countess\\" L."},"amount":1.10,"tags":["a"]}',
    output: '{"holder":"Ada \\"Countess\\" L.","amount":1.10,"tags":["a"]}',
  },
  {
    kind: 'valid',
    about: 'a text, with nothing escaped',
    operation: { name: 'template', output_field: 'out', arguments: { template: 'Dear {{name}}!' } },
    input: '{"name":"A & \\"B\\""}',
    output: '{"name":"A & \\"B\\"","out":"Dear A & \\"B\\"!"}',
  },
  {
    kind: 'impossible',
    about: 'what comes out is not JSON',
    operation: { name: 'template', output_field: 'out', arguments: { template: '{"a":{{{a}}}}' } },
    input: '{"a":"text"}',
    output: '{"a":"text","out":{"a":"text"}}',
  },
  {
    kind: 'hostile',
    about: 'a value cannot leave its place, in quotes or not',
    operation: { name: 'template', arguments: { template: '{"a":"{{v}}","b":{{v}},"c":"\\{{v}}"}' } },
    input: `{"v":"${BREAKOUT}"}`,
    output: `{"a":"${BREAKOUT}","b":"${BREAKOUT}","c":"\\\\${BREAKOUT}"}`,
  },
  {
    kind: 'hostile',
    about: 'what every JavaScript object has is not there',
    operation: {
      name: 'template',
      output_field: 'out',
      arguments: { template: '<{{constructor}}{{__proto__}}{{toString}}{{v.length}}{{> v}}>' },
    },
    input: '{"v":"abc"}',
    output: '{"v":"abc","out":"<>"}',
  },
];
