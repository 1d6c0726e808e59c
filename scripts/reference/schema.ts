/** JSON schemas as rows of a table and as examples. */

export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** A member of a body; its name has those of the members around it. */
export interface Member {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/** A pattern of at most this many characters says more than it hides. */
const PATTERN_MAX = 30;

function rangeOf(min: number | undefined, max: number | undefined, unit: string): string {
  if (min !== undefined && max !== undefined) {
    return min === max ? `${min}${unit}.` : `${min} to ${max}${unit}.`;
  }
  if (max !== undefined) {
    return `At most ${max}${unit}.`;
  }
  return min === undefined || (min === 1 && unit !== '') ? '' : `At least ${min}${unit}.`;
}

/** What a schema asks of a value, as Markdown sentences. */
function limitsOf(schema: Schema): readonly string[] {
  const {
    minLength,
    maxLength,
    minItems,
    maxItems,
    minimum,
    maximum,
    pattern = '',
    description = '',
  } = schema;
  const code = (value: unknown): string => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
  const isPatternShown = pattern !== '' && pattern.length <= PATTERN_MAX;
  const isDefaultShown = schema.default !== undefined && !description.includes('Default');
  return [
    schema.enum === undefined ? '' : `One of ${schema.enum.map(code).join(', ')}.`,
    rangeOf(minLength, maxLength, ' characters'),
    rangeOf(minItems, maxItems, ' entries'),
    rangeOf(minimum, maximum, ''),
    isPatternShown ? `Matches ${code(pattern)}.` : '',
    isDefaultShown ? `Default: ${code(schema.default)}.` : '',
  ].filter((sentence) => sentence !== '');
}

/** What a member is, as Markdown: its description, and what its schema asks besides. */
export function aboutOf(schema: Schema): string {
  return [schema.description ?? '', ...limitsOf(schema)].filter((text) => text !== '').join(' ');
}

/** The type of a value, such as `string[]`. */
export function typeOf({ type, format, anyOf, items }: Schema): string {
  if (anyOf !== undefined) {
    return [...new Set(anyOf.map(typeOf))].join(' or ');
  }
  if (type === 'array' && items !== undefined) {
    const of = typeOf(items);
    return of.includes(' ') ? `(${of})[]` : `${of}[]`;
  }
  return format ?? type ?? 'any';
}

/** All members of a body, those of the objects in it directly behind them. */
export function membersOf(schema: Schema, around = ''): readonly Member[] {
  const { anyOf, items, properties = {}, required = [], additionalProperties } = schema;
  const members = [
    ...(anyOf ?? []).flatMap((option) => membersOf(option, around)),
    ...(items === undefined ? [] : membersOf(items, `${around}[]`)),
    ...Object.entries(properties).flatMap(([key, member]) => {
      const name = around === '' ? key : `${around}.${key}`;
      return [{ name, schema: member, isRequired: required.includes(key) }, ...membersOf(member, name)];
    }),
    ...(typeof additionalProperties === 'object'
      ? membersOf(additionalProperties, around === '' ? '*' : `${around}.*`)
      : []),
  ];
  // Of two kinds of an object, the first describes what both have.
  return members.filter(({ name }, at) => members.findIndex((other) => other.name === name) === at);
}

/** The kinds that a body can be; a list of one of them is none of its own. */
export function kindsOf(schema: Schema): readonly Schema[] {
  const kinds = schema.anyOf ?? [schema];
  const written = kinds.map((kind) => JSON.stringify(kind));
  return kinds.filter(({ items }) => items === undefined || !written.includes(JSON.stringify(items)));
}

/** A value that fits: the example of the schema, or one of the required members, or of all where none is required. */
export function exampleOf(schema: Schema): unknown {
  const { type, anyOf, items, properties = {}, required, minimum = 1 } = schema;
  const given = schema.examples?.[0] ?? schema.const ?? schema.enum?.[0] ?? schema.default;
  if (given !== undefined) {
    return given;
  }
  if (anyOf?.[0] !== undefined) {
    return exampleOf(anyOf[0]);
  }
  switch (type) {
    case 'object': {
      const names = required ?? Object.keys(properties);
      const members = Object.entries(properties).filter(([name]) => names.includes(name));
      return Object.fromEntries(members.map(([name, member]) => [name, exampleOf(member)]));
    }
    case 'array':
      return items === undefined ? [] : [exampleOf(items)];
    case 'integer':
    case 'number':
      return minimum;
    case 'boolean':
      return false;
    default:
      return '…';
  }
}
