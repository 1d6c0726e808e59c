import { FormatRegistry, Kind, type TObject, type TSchema } from '@sinclair/typebox';
import { TypeCompiler, type ValueError } from '@sinclair/typebox/compiler';
import { VaultError } from '../../core/errors.ts';
import { parseJson } from '../../domain/json/json.ts';
import { toPlain } from '../../domain/json/plain.ts';
import { parseBooleanText, parseIntegerText, parseListText } from '../../domain/text/query-text.ts';
import { parseFilterTime } from '../../domain/text/time-text.ts';
import { countCharacters } from '../schema/common.ts';
import { ALIASES, QUERY_KIND } from '../schema/kinds.ts';

/** Text to value; undefined for a text that the parameter does not take. */
type Parse = (text: string) => unknown;

/** Decodes the query of a URL. Undeclared parameters are dropped; a malformed one throws a `VaultError` with its field. */
export type QueryDecoder = (url: string) => Record<string, unknown>;

interface Parameter {
  readonly name: string;
  readonly required: boolean;
  readonly byDefault: unknown;
  readonly parse: Parse;
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

/** The texts of the declared parameters, each in its slot. Rejects any repeated name, declared or not. */
function readTexts(query: string, slots: ReadonlyMap<string, number>): (string | undefined)[] {
  const texts: (string | undefined)[] = [];
  let others: Set<string> | undefined;
  for (const pair of query.split('&')) {
    if (pair === '') {
      continue;
    }
    const equals = pair.indexOf('=');
    const name = decodeText(equals === -1 ? pair : pair.slice(0, equals));
    if (name === undefined) {
      throw new VaultError('invalid_request', { field: 'query' });
    }
    const slot = slots.get(name);
    const text = decodeText(equals === -1 ? '' : pair.slice(equals + 1));
    if (text === undefined) {
      throw new VaultError('invalid_request', { field: slot === undefined ? 'query' : `query.${name}` });
    }
    if (slot === undefined) {
      others ??= new Set();
      if (others.has(name)) {
        throw new VaultError('duplicate_parameter', { field: 'query' });
      }
      others.add(name);
      continue;
    }
    if (texts[slot] !== undefined) {
      throw new VaultError('duplicate_parameter', { field: `query.${name}` });
    }
    texts[slot] = text;
  }
  return texts;
}

function rejectParameter(name: string): never {
  throw new VaultError('invalid_request', { field: `query.${name}` });
}

function readParameter(parameter: Parameter, texts: readonly (string | undefined)[]): unknown {
  const { name, slots } = parameter;
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
      return rejectParameter(name);
    }
  }
  return parameter.required ? rejectParameter(name) : undefined;
}

/**
 * Makes the decoder of a route's query, once per route. Texts are read strictly by the schema: booleans as
 * `true`, `false`, `t`, `f`, `1`, `0`, integers in plain decimal, lists separated by commas. A bad, missing or
 * repeated parameter is named in `field`; values never are, nor are names that the schema does not declare.
 */
export function compileQuery(schema: TObject): QueryDecoder {
  const slots = new Map<string, number>();
  const slotOf = (name: string): number => {
    slots.set(name, slots.size);
    return slots.size - 1;
  };
  const parameters = Object.entries(schema.properties).map(
    ([name, property]): Parameter => ({
      name,
      byDefault: property.default,
      required: property.default === undefined && (schema.required ?? []).includes(name),
      parse: parserOf(property),
      slots: [...(property[ALIASES] ?? []), name].map(slotOf),
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

/** Where a value departs from its schema. In a union: within its only option that is of the value's kind. */
function pathOf(error: ValueError | undefined): string {
  const { path, errors } = error ?? { path: '', errors: [] };
  const deeper = errors.map((option) => pathOf(option.First())).filter((inner) => inner !== path);
  return deeper.length === 1 ? (deeper[0] ?? path) : path;
}

/** A schema itself, or the options of a union. */
function optionsOf(schema: TSchema): readonly TSchema[] {
  return schema['anyOf'] === undefined ? [schema] : schema['anyOf'].flatMap(optionsOf);
}

/** The schemas one step further down. */
function below(schemas: readonly TSchema[], step: string, isIndex: boolean): readonly TSchema[] {
  return schemas.flatMap(optionsOf).flatMap((schema) => {
    if (isIndex) {
      return schema['items'] ?? [];
    }
    const properties: object = schema['properties'] ?? {};
    return Object.hasOwn(properties, step) ? Reflect.get(properties, step) : [];
  });
}

/** The place of an error as `body.a[2].b`, as far as the schema declares the names: names that a caller chose never show. */
function fieldOf(schema: TSchema, path: string): string {
  let place = 'body';
  let at: readonly TSchema[] = [schema];
  for (const step of path.split('/').slice(1)) {
    const items = /^\d+$/.test(step) ? below(at, step, true) : [];
    at = items.length > 0 ? items : below(at, step, false);
    if (at.length === 0) {
      return place;
    }
    place += items.length > 0 ? `[${step}]` : `.${step}`;
  }
  return place;
}

/** Parses and checks a JSON body, once compiled per route. An empty body counts as an object without members. */
export function compileJsonBody(schema: TSchema): (bytes: Uint8Array) => unknown {
  const compiled = TypeCompiler.Compile(schema);
  return (bytes) => {
    const value = bytes.byteLength === 0 ? {} : toPlain(parseJson(bytes));
    if (compiled.Check(value)) {
      return value;
    }
    const path = pathOf(compiled.Errors(value).First());
    throw new VaultError('invalid_request', { field: fieldOf(schema, path) });
  };
}
