/** Input kinds of the arguments of each operation. The engine checks the values; a test compares the names. */
export const ARGUMENTS = {
  noop: {},
  stringify: {},
  substr: { start: 'json', end: 'json' },
  parse_float: {},
  parse_json: {},
  convert_to_int: { base: 'json' },
  replace: { substr: 'text', new_str: 'text' },
  mask: { start: 'json', end: 'json', char: 'text' },
  format: { format_string: 'text', keys: 'list' },
  template: { template: 'long' },
  hash: { algorithm: 'text', key: 'text', hex_key: 'json' },
  encode: { scheme: 'text', hex_input: 'json' },
  nonce: { length: 'json', encoding: 'text' },
  encrypt: { algorithm: 'text', public_key: 'long' },
} as const satisfies Readonly<Record<string, Readonly<Record<string, 'text' | 'long' | 'json' | 'list'>>>>;

export type OperationName = keyof typeof ARGUMENTS;
