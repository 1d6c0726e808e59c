import { FormatRegistry, Kind, type TObject, type TSchema } from '@sinclair/typebox';
import { VaultError } from '../core/errors.ts';
import { countCharacters } from '../domain/text/identifiers.ts';
import { parseBooleanText, parseIntegerText, parseListText } from '../domain/text/query-text.ts';
import { parseFilterTime } from '../domain/text/time.ts';
import { unknownName } from '../domain/text/unknown-name.ts';
import { expectedOf } from '../schema/expected.ts';
import { ALIASES, QUERY_KIND } from '../schema/kinds.ts';

/** Text to value; undefined for a text that the parameter does not take. */
type Parse = (text: string) => unknown;

/** Decodes the query of a URL. A malformed parameter throws a `VaultError` with its field. */
export type QueryDecoder = (url: string) => Record<string, unknown>;

/** How the names of a query are taken. */
export interface QueryOptions {
  /** Whether parameters that the route does not know are errors; otherwise they are dropped. */
  readonly refuseUnknown: boolean;
  /** The members of the route's body, for parameters that belong there. */
  readonly members: readonly string[];
}

const IGNORED: QueryOptions = { refuseUnknown: false, members: [] };

interface Parameter {
  readonly name: string;
  readonly required: boolean;
  readonly byDefault: unknown;
  readonly parse: Parse;
  readonly expected: string;
  /** Where the texts of the aliases and of the parameter itself stand, in order of precedence. */
  readonly slots: readonly number[];
}

function parseText(schema: TSchema): Parse {
  const pattern = typeof schema['pattern'] === 'string' ? new RegExp(schema['pattern'], 'u') : undefined;
  const format = FormatRegistry.Get(schema['format'] ?? '');
  const min: number = schema['minLength'] ?? 0;
  const max: number = schema['maxLength'] ?? Number.POSITIVE_INFINITY;
  return (text) => {
    if (text.length < min) {
      return undefined;
    }
    if (text.length > max && countCharacters(text) > max) {
      return undefined;
    }
    const fits = (pattern?.test(text) ?? true) && (format?.(text) ?? true);
    return fits ? text : undefined;
  };
}

function parseInteger(schema: TSchema): Parse {
  const min: number = schema['minimum'] ?? Number.NEGATIVE_INFINITY;
  const max: number = schema['maximum'] ?? Number.POSITIVE_INFINITY;
  return (text) => {
    const value = parseIntegerText(text);
    return value !== undefined && value >= min && value <= max ? value : undefined;
  };
}

const parseLimit: Parse = (text) => {
  const value = parseIntegerText(text);
  if (value === undefined || value === 0) {
    return undefined;
  }
  return value < 0 ? -1 : value;
};

function parseList(schema: TSchema): Parse {
  const parseItem = parserOf(schema['items']);
  const max: number = schema['maxItems'] ?? Number.POSITIVE_INFINITY;
  return (text) => {
    const items = parseListText(text);
    if (items === undefined || items.length > max) {
      return undefined;
    }
    return items.every((item) => parseItem(item) !== undefined) ? items : undefined;
  };
}

/** Pairs as `readTexts` has joined them. */
function parsePairs(schema: TSchema): Parse {
  const max: number = schema['maxItems'] ?? Number.POSITIVE_INFINITY;
  return (joined) => {
    const texts = joined.split('&');
    if (texts.length > max) {
      return undefined;
    }
    const pairs = texts.map((encoded): [name: string, text: string] => {
      const text = decodeURIComponent(encoded);
      const colon = text.indexOf(':');
      return [text.slice(0, Math.max(0, colon)), text.slice(colon + 1)];
    });
    return pairs.every(([name]) => name !== '') ? pairs : undefined;
  };
}

/** One of several literals, compared exactly. */
function parseLiteral(schema: TSchema): Parse {
  const options: readonly TSchema[] = schema['anyOf'];
  const literals = new Set(options.map((option) => option['const']));
  if (!options.every((option) => typeof option['const'] === 'string')) {
    throw new TypeError('a query parameter can only be a union of literals');
  }
  return (text) => (literals.has(text) ? text : undefined);
}

function parserOf(schema: TSchema): Parse {
  switch (schema[QUERY_KIND]) {
    case 'list':
      return parseList(schema);
    case 'pairs':
      return parsePairs(schema);
    case 'limit':
      return parseLimit;
    case 'filter-time':
      return parseFilterTime;
  }
  switch (schema[Kind]) {
    case 'Boolean':
      return parseBooleanText;
    case 'Integer':
      return parseInteger(schema);
    case 'String':
      return parseText(schema);
    case 'Union':
      return parseLiteral(schema);
    default:
      throw new TypeError(`a query parameter cannot be of kind ${schema[Kind]}`);
  }
}

/** Undoes percent-encoding, `+` for a space included; undefined when it is malformed or not UTF-8. */
function decodeText(text: string): string | undefined {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) {
    return spaced;
  }
  try {
    return decodeURIComponent(spaced);
  } catch {
    return undefined;
  }
}

function queryOf(url: string): string {
  const start = url.indexOf('?');
  if (start === -1) {
    return '';
  }
  const end = url.indexOf('#', start);
  return end === -1 ? url.slice(start + 1) : url.slice(start + 1, end);
}

/** What a query is read with. */
interface Slots {
  readonly byName: ReadonlyMap<string, number>;
  /** The slots of parameters that may be repeated, with how their texts are joined. */
  readonly joins: ReadonlyMap<number, (earlier: string | undefined, text: string) => string>;
  readonly options: QueryOptions;
}

function invalid(field: string, expected: string): VaultError {
  return new VaultError('invalid_request', { field, expected });
}

const NOT_ENCODED = 'must be percent-encoded UTF-8';

function joinList(earlier: string | undefined, text: string): string {
  return earlier === undefined ? text : `${earlier},${text}`;
}

/** Encoded again, so that no character of a text can be taken for a border. */
function joinPairs(earlier: string | undefined, text: string): string {
  const encoded = encodeURIComponent(text.toWellFormed());
  return earlier === undefined ? encoded : `${earlier}&${encoded}`;
}

/** The error for a parameter that comes twice. */
function repeated(field: string): VaultError {
  return new VaultError('duplicate_parameter', { field });
}

/** Passes over an undeclared parameter, or rejects it. */
function passOver(name: string, others: Set<string>, { byName, options }: Slots): void {
  if (options.refuseUnknown) {
    throw unknownName('query', name, [...byName.keys()], { place: 'the body', names: options.members });
  }
  if (others.has(name)) {
    throw repeated('query');
  }
  others.add(name);
}

/** The texts of the declared parameters, each in its slot. Rejects any repeated name that is no list, declared or not. */
function readTexts(query: string, read: Slots): (string | undefined)[] {
  const { byName, joins } = read;
  const texts: (string | undefined)[] = [];
  let others: Set<string> | undefined;
  for (const pair of query.split('&')) {
    if (pair === '') {
      continue;
    }
    const equals = pair.indexOf('=');
    const name = decodeText(equals === -1 ? pair : pair.slice(0, equals));
    if (name === undefined) {
      throw invalid('query', NOT_ENCODED);
    }
    const slot = byName.get(name);
    const text = decodeText(equals === -1 ? '' : pair.slice(equals + 1));
    if (text === undefined) {
      throw invalid(slot === undefined ? 'query' : `query.${name}`, NOT_ENCODED);
    }
    if (slot === undefined) {
      others ??= new Set();
      passOver(name, others, read);
      continue;
    }
    const earlier = texts[slot];
    const join = joins.get(slot);
    if (earlier !== undefined && join === undefined) {
      throw repeated(`query.${name}`);
    }
    texts[slot] = join === undefined ? text : join(earlier, text);
  }
  return texts;
}

function readParameter(parameter: Parameter, texts: readonly (string | undefined)[]): unknown {
  const { name, slots, required, expected } = parameter;
  for (const slot of slots) {
    const text = texts[slot];
    if (text === undefined) {
      continue;
    }
    const value = parameter.parse(text);
    if (value !== undefined) {
      return value;
    }
    // With aliases the first usable one counts and the others are passed over.
    if (slots.length === 1) {
      throw invalid(`query.${name}`, expected);
    }
  }
  if (required) {
    throw invalid(`query.${name}`, `is missing, and ${expected}`);
  }
  return undefined;
}

/**
 * Makes the decoder of a route's query, once per route. Texts are read strictly by the schema: booleans as
 * `true`, `false`, `t`, `f`, `1`, `0`, integers in plain decimal, lists separated by commas or
 * repeated. A bad, missing or repeated parameter is named in `field`; values never are.
 */
export function compileQuery(schema: TObject, options = IGNORED): QueryDecoder {
  const byName = new Map<string, number>();
  const joins = new Map<number, (earlier: string | undefined, text: string) => string>();
  const slotOf = (name: string, property: TSchema): number => {
    const slot = byName.size;
    byName.set(name, slot);
    if (property[QUERY_KIND] === 'list') {
      joins.set(slot, joinList);
    } else if (property[QUERY_KIND] === 'pairs') {
      joins.set(slot, joinPairs);
    }
    return slot;
  };
  const slots = { byName, joins, options };
  const parameters = Object.entries(schema.properties).map(
    ([name, property]): Parameter => ({
      name,
      byDefault: property.default,
      required: property.default === undefined && (schema.required ?? []).includes(name),
      parse: parserOf(property),
      expected: expectedOf(property),
      slots: [...(property[ALIASES] ?? []), name].map((each: string) => slotOf(each, property)),
    }),
  );
  return (url) => {
    const texts = readTexts(queryOf(url), slots);
    const values: Record<string, unknown> = {};
    for (const parameter of parameters) {
      const value = readParameter(parameter, texts) ?? parameter.byDefault;
      if (value !== undefined) {
        values[parameter.name] = value;
      }
    }
    return values;
  };
}
