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

/** Decodes the query of a URL. Throws a `VaultError` with the field of a malformed parameter. */
export type QueryDecoder = (url: string) => Record<string, unknown>;

interface QueryOptions {
  /** True if unknown parameters are errors; otherwise they are dropped. */
  readonly refuseUnknown: boolean;
  /** The members of the route's body, for the error of a parameter that belongs there. */
  readonly members: readonly string[];
}

/** Joins the texts of a parameter that can be repeated. */
type Join = (earlier: string | undefined, text: string) => string;

interface Parameter {
  readonly name: string;
  readonly required: boolean;
  readonly byDefault: unknown;
  readonly parse: Parse;
  readonly expected: string;
  /** Its aliases and its name, in order of precedence. */
  readonly names: readonly string[];
}

function parseText(schema: TSchema): Parse {
  const pattern = typeof schema['pattern'] === 'string' ? new RegExp(schema['pattern'], 'u') : undefined;
  const format = FormatRegistry.Get(schema['format'] ?? '');
  const min: number = schema['minLength'] ?? 0;
  const max: number = schema['maxLength'] ?? Number.POSITIVE_INFINITY;
  return (text) => {
    const fits =
      text.length >= min &&
      (text.length <= max || countCharacters(text) <= max) &&
      (pattern?.test(text) ?? true) &&
      (format?.(text) ?? true);
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

/** Decodes percent-encoding, and `+` for a space; undefined if it is malformed or not UTF-8. */
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

function invalid(field: string, expected: string): VaultError {
  return new VaultError('invalid_request', { field, expected });
}

const NOT_ENCODED = 'must be percent-encoded UTF-8';

const JOINS: Readonly<Record<string, Join>> = {
  list: (earlier, text) => (earlier === undefined ? text : `${earlier},${text}`),
  pairs: (earlier, text) => {
    // Encoded again, so that no text contains the separator.
    const encoded = encodeURIComponent(text.toWellFormed());
    return earlier === undefined ? encoded : `${earlier}&${encoded}`;
  },
};

function repeated(field: string): VaultError {
  return new VaultError('duplicate_parameter', { field });
}

function dropUnknown(
  name: string,
  dropped: Set<string>,
  known: Iterable<string>,
  options: QueryOptions,
): void {
  if (options.refuseUnknown) {
    throw unknownName('query', name, [...known], { place: 'the body', names: options.members });
  }
  if (dropped.has(name)) {
    throw repeated('query');
  }
  dropped.add(name);
}

/** Returns the texts of the declared parameters. Rejects any repeated name that is no list, declared or not. */
function readTexts(
  url: string,
  declared: ReadonlyMap<string, Join | undefined>,
  options: QueryOptions,
): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  let dropped: Set<string> | undefined;
  const hash = url.indexOf('#');
  const length = hash === -1 ? url.length : hash;
  for (let start = url.indexOf('?') + 1, end = start; start > 0 && start < length; start = end + 1) {
    end = url.indexOf('&', start);
    end = end === -1 || end > length ? length : end;
    if (end === start) {
      continue;
    }
    const equals = url.indexOf('=', start);
    const nameEnd = equals === -1 || equals > end ? end : equals;
    const name = decodeText(url.slice(start, nameEnd));
    if (name === undefined) {
      throw invalid('query', NOT_ENCODED);
    }
    const isDeclared = declared.has(name);
    const text = decodeText(url.slice(Math.min(nameEnd + 1, end), end));
    if (text === undefined) {
      throw invalid(isDeclared ? `query.${name}` : 'query', NOT_ENCODED);
    }
    if (!isDeclared) {
      dropped ??= new Set();
      dropUnknown(name, dropped, declared.keys(), options);
      continue;
    }
    const earlier = texts.get(name);
    const join = declared.get(name);
    if (earlier !== undefined && join === undefined) {
      throw repeated(`query.${name}`);
    }
    texts.set(name, join === undefined ? text : join(earlier, text));
  }
  return texts;
}

function readParameter(parameter: Parameter, texts: ReadonlyMap<string, string>): unknown {
  const { name, names, required, expected } = parameter;
  for (const each of names) {
    const text = texts.get(each);
    const value = text === undefined ? undefined : parameter.parse(text);
    if (value !== undefined) {
      return value;
    }
    // With aliases the first valid text counts, and the others are ignored.
    if (text !== undefined && names.length === 1) {
      throw invalid(`query.${name}`, expected);
    }
  }
  if (required) {
    throw invalid(`query.${name}`, `is missing, and ${expected}`);
  }
  return parameter.byDefault;
}

/**
 * Makes the decoder of a route's query, once per route. Texts are read strictly by the schema: booleans as
 * `true`, `false`, `t`, `f`, `1`, `0`, integers in plain decimal, lists separated by commas or
 * repeated. A bad, missing or repeated parameter is named in `field`; values never are.
 */
export function compileQuery(
  schema: TObject,
  options: QueryOptions = { refuseUnknown: false, members: [] },
): QueryDecoder {
  const declared = new Map<string, Join | undefined>();
  const parameters = Object.entries(schema.properties).map(([name, property]): Parameter => {
    const names: readonly string[] = [...(property[ALIASES] ?? []), name];
    for (const each of names) {
      declared.set(each, JOINS[property[QUERY_KIND] ?? '']);
    }
    return {
      ...{ name, names },
      byDefault: property.default,
      required: property.default === undefined && (schema.required ?? []).includes(name),
      parse: parserOf(property),
      expected: expectedOf(property),
    };
  });
  return (url) => {
    const texts = readTexts(url, declared, options);
    const values: Record<string, unknown> = {};
    for (const parameter of parameters) {
      const value = readParameter(parameter, texts);
      if (value !== undefined) {
        values[parameter.name] = value;
      }
    }
    return values;
  };
}
