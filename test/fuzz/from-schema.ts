/** Values that a schema of the OpenAPI document takes, or nearly takes. */
import type { Chance } from './chance.ts';
import { damagedText } from './mutate.ts';
import { hostileText, hostileValue } from './values.ts';

/** As much of a schema as values are made from. */
export interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly $ref?: string;
  readonly minimum?: number;
}

/** Where values come from: the document's shapes, and texts that fit a name in this very case. */
export interface Source {
  readonly schemas: Readonly<Record<string, Schema>>;
  readonly fitting: ReadonlyMap<string, readonly [string, ...string[]]>;
}

const EXAMPLE_SHARE = 0.6;
const REQUIRED_SHARE = 0.97;
const OPTIONAL_SHARE = 0.3;

const TEXTS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  ttl: ['45m', 'P1D', '0', '1s'],
  stored_after: ['2026-01-01T00:00:00Z', '0'],
  stored_before: ['2030-01-01T00:00:00Z', '1'],
  month: ['2026-01', '2026-13'],
  mask_fields: ['card_number', '["expiry"]'],
  number: ['4111111111111111', '5555555555554444'],
  url: ['https://127.0.0.1/x', 'https://10.0.0.1/{{card_number}}', 'http://a.example/'],
  value: ['uuid', '10', 'true'],
};

function oneOf<T>(things: readonly T[], chance: Chance): T | undefined {
  return things[chance.int(things.length)];
}

function objectFrom({ properties = {}, required = [] }: Schema, source: Source, chance: Chance): object {
  const members = Object.entries(properties).filter(([member]) =>
    chance.hits(required.includes(member) ? REQUIRED_SHARE : OPTIONAL_SHARE),
  );
  return Object.fromEntries(
    members.map(([member, inner]) => [member, fromSchema(inner, source, chance, member)]),
  );
}

function textFrom({ examples = [] }: Schema, { fitting }: Source, chance: Chance, name: string): unknown {
  const texts = fitting.get(name) ?? TEXTS[name] ?? [];
  if (texts.length > 0 || (examples.length > 0 && chance.hits(EXAMPLE_SHARE))) {
    return oneOf<unknown>(texts.length > 0 ? texts : examples, chance);
  }
  return `text-${chance.int(5)}`;
}

function fromSchema(schema: Schema, source: Source, chance: Chance, name: string): unknown {
  const { $ref, const: only, enum: listed = [], anyOf = [], items, type } = schema;
  if ($ref !== undefined) {
    return fromSchema(source.schemas[$ref.split('/').at(-1) ?? ''] ?? {}, source, chance, name);
  }
  if (only !== undefined) {
    return only;
  }
  if (listed.length > 0) {
    return oneOf(listed, chance);
  }
  if (anyOf.length > 0) {
    return fromSchema(oneOf(anyOf, chance) ?? {}, source, chance, name);
  }
  if (schema.properties !== undefined) {
    return objectFrom(schema, source, chance);
  }
  if (items !== undefined) {
    return Array.from({ length: 1 + chance.int(3) }, () => fromSchema(items, source, chance, name));
  }
  if (type === 'integer' || type === 'number') {
    return chance.pick([schema.minimum ?? 0, 1, 2, 10, 1_024]);
  }
  return type === 'boolean' ? chance.hits(0.5) : textFrom(schema, source, chance, name);
}

/** The text of a parameter. */
export function textFor(name: string, schema: Schema, source: Source, chance: Chance): string {
  const value = fromSchema(schema, source, chance, name);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** What a body of stored data holds, so that most stores get as far as storing. */
const CARD = { card_number: '4111111111111111', expiry: '12/29', cvv: '123' };

/** The bytes of a body: as its schema has it, with a member that does not fit, or damaged. */
export function bodyOf(schema: Schema, source: Source, chance: Chance): string {
  const made = fromSchema(schema, source, chance, 'body');
  const isObject = typeof made === 'object' && made !== null && !Array.isArray(made);
  const object: Record<string, unknown> = isObject ? { ...made } : { ...CARD };
  const drawn = chance.int(12);
  if (drawn < 3) {
    const name = chance.hits(0.7) ? oneOf(Object.keys(object), chance) : undefined;
    object[name ?? hostileText(chance).slice(0, 50)] = hostileValue(chance);
  }
  const bytes = Buffer.from(JSON.stringify(Array.isArray(made) ? made : object)).toString('latin1');
  return drawn === 11 ? damagedText(bytes, chance) : bytes;
}
