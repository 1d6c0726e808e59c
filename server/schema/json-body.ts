import { Kind, type TSchema } from '@sinclair/typebox';
import { TypeCompiler, type ValueError, ValueErrorType } from '@sinclair/typebox/compiler';
import { VaultError } from '../core/errors.ts';
import { type JsonLimits, type ListLimit, parseJson, toPlain } from '../domain/json/json.ts';
import { isShownName, type NamesElsewhere, unknownName } from '../domain/text/unknown-name.ts';
import { expectedOf } from './expected.ts';
import { EACH } from './kinds.ts';

export interface BodyOptions {
  /** Unknown members are errors. */
  readonly refuseUnknown: boolean;
  /** The query parameters of the route, for members that belong there. */
  readonly parameters: readonly string[];
}

const IGNORED: BodyOptions = { refuseUnknown: false, parameters: [] };

/** The most errors of one body that are examined. */
const ERRORS_MAX = 100;
/** Three times the need of the largest batch by tokens. */
const VALUES_MAX = 10_000;
/** Longer bodies are parsed in a thread. */
const OWN_BYTES_MAX = 16_384;

/** The first error of a value; an unknown member has precedence, since it may cause others. */
function firstOf(errors: Iterable<ValueError>): ValueError | undefined {
  let first: ValueError | undefined;
  let seen = 0;
  for (const error of errors) {
    if (error.type === ValueErrorType.ObjectAdditionalProperties) {
      return error;
    }
    first ??= error;
    if (++seen === ERRORS_MAX) {
      break;
    }
  }
  return first;
}

/** The innermost error; in a union, within its only option of the value's kind. */
function innermost(error: ValueError): ValueError {
  const deeper = error.errors.flatMap((option) => {
    const first = firstOf(option);
    const inner = first && innermost(first);
    return inner === undefined || inner.path === error.path ? [] : [inner];
  });
  return deeper.length === 1 && deeper[0] !== undefined ? deeper[0] : error;
}

function optionsOf(schema: TSchema): readonly TSchema[] {
  return schema['anyOf'] === undefined ? [schema] : schema['anyOf'].flatMap(optionsOf);
}

function below(schemas: readonly TSchema[], step: string, isIndex: boolean): readonly TSchema[] {
  return schemas.flatMap(optionsOf).flatMap((schema) => {
    if (isIndex) {
      return schema['items'] ?? [];
    }
    const properties: object = schema['properties'] ?? {};
    if (Object.hasOwn(properties, step)) {
      return Reflect.get(properties, step);
    }
    const named: object = isShownName(step) ? (schema['patternProperties'] ?? {}) : {};
    return Object.values(named);
  });
}

/** The place of an error as `body.a[2].b`, up to the first name that the caller chose and no message may repeat. */
function fieldOf(schema: TSchema, steps: readonly string[], root: string): string {
  let place = root;
  let at: readonly TSchema[] = [schema];
  for (const step of steps) {
    const items = /^\d+$/.test(step) ? below(at, step, true) : [];
    at = items.length > 0 ? items : below(at, step, false);
    if (at.length === 0) {
      return place;
    }
    place += items.length > 0 ? `[${step}]` : `.${step}`;
  }
  return place;
}

/** The steps of a JSON pointer (RFC 6901). */
function stepsOf(path: string): string[] {
  return path
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function errorOf(
  schema: TSchema,
  error: ValueError,
  parameters: readonly string[],
  root: string,
): VaultError {
  const steps = stepsOf(error.path);
  if (error.type === ValueErrorType.ObjectAdditionalProperties && error.schema[Kind] === 'Record') {
    const expected = expectedOf(error.schema);
    return new VaultError('invalid_request', { field: fieldOf(schema, steps.slice(0, -1), root), expected });
  }
  if (error.type === ValueErrorType.ObjectAdditionalProperties) {
    const name = steps.pop() ?? '';
    const elsewhere: NamesElsewhere | undefined =
      steps.length === 0 ? { place: 'the query', names: parameters } : undefined;
    const known = Object.keys(error.schema['properties'] ?? {});
    return unknownName(fieldOf(schema, steps, root), name, known, elsewhere);
  }
  const must = expectedOf(error.schema);
  const isMissing = error.type === ValueErrorType.ObjectRequiredProperty;
  return new VaultError('invalid_request', {
    field: fieldOf(schema, steps, root),
    expected: isMissing ? `is missing, and ${must}` : must,
  });
}

/** Checks a value; throws its error at the place under `root`. */
type Check = (value: unknown, root: string) => void;

function compileCheck(schema: TSchema, parameters: readonly string[]): Check {
  const compiled = TypeCompiler.Compile(schema);
  return (value, root) => {
    if (compiled.Check(value)) {
      return;
    }
    const first = firstOf(compiled.Errors(value));
    throw first === undefined
      ? new VaultError('invalid_request', { field: root, expected: expectedOf(schema) })
      : errorOf(schema, innermost(first), parameters, root);
  };
}

/** The lists with `EACH`, with the check of an item. */
function eachChecks(schema: TSchema): readonly (readonly [name: string, check: Check])[] {
  return Object.entries<TSchema>(schema['properties'] ?? {}).flatMap(([name, { [EACH]: item }]) =>
    item === undefined ? [] : [[name, compileCheck(item, [])] as const],
  );
}

function checkEach(items: unknown, place: string, check: Check): unknown {
  return Array.isArray(items)
    ? items.map((item: unknown, i) => {
        try {
          check(item, `${place}[${i}]`);
          return item;
        } catch (error) {
          return error;
        }
      })
    : items;
}

/** Limits for parsing the lists of a body. */
function listLimits(schema: TSchema): Readonly<Record<string, ListLimit>> {
  return Object.fromEntries(
    Object.entries<TSchema>(schema['properties'] ?? {}).flatMap(([name, list]) => {
      const max: unknown = list[Kind] === 'Array' ? list['maxItems'] : undefined;
      const limit = { field: `body.${name}`, expected: expectedOf(list) };
      return typeof max === 'number' ? [[name, { max, ...limit }]] : [];
    }),
  );
}

/** Parses the JSON body of an account within limits, in a thread. */
export type ParseBody = (input: {
  readonly aid: string;
  readonly body: Uint8Array;
  readonly limits: JsonLimits;
}) => Promise<unknown>;

function parseHere(bytes: Uint8Array, limits: JsonLimits): unknown {
  return bytes.byteLength === 0 ? {} : toPlain(parseJson(bytes, limits));
}

/**
 * Compiles a parser and check of a JSON body. An empty body counts as an empty object. Wrong items of a list with `EACH`
 * are replaced by their errors.
 */
export function compileJsonBody(open: TSchema, options = IGNORED): (bytes: Uint8Array) => unknown {
  const { limits, check } = compileJson(open, options);
  return (bytes) => check(parseHere(bytes, limits));
}

/** The same for requests of accounts; long bodies are parsed in a thread and return a promise. */
export function compileRequestBody(
  open: TSchema,
  options: BodyOptions,
  parseBody: ParseBody,
): (body: Uint8Array, aid: string) => unknown {
  const { limits, check } = compileJson(open, options);
  return (body, aid) =>
    body.byteLength <= OWN_BYTES_MAX
      ? check(parseHere(body, limits))
      : parseBody({ aid, body, limits }).then(check);
}

function compileJson(open: TSchema, { refuseUnknown, parameters }: BodyOptions) {
  const schema = refuseUnknown ? closed(open) : open;
  const checkAll = compileCheck(schema, parameters);
  const each = eachChecks(schema);
  const limits: JsonLimits = { valuesMax: VALUES_MAX, lists: listLimits(schema) };
  const check = (value: unknown): unknown => {
    checkAll(value, 'body');
    const lists = each.map(([name, checkItem]) => [
      name,
      checkEach(Reflect.get(value as object, name), `body.${name}`, checkItem),
    ]);
    return lists.length === 0 ? value : { ...(value as object), ...Object.fromEntries(lists) };
  };
  return { limits, check };
}

function closedValue(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(closedValue);
  }
  return typeof value === 'object' && value !== null ? closed(value as TSchema) : value;
}

/** Closes the objects of a schema to undeclared members, unless it allows more itself. */
export function closed(schema: TSchema): TSchema {
  const copy: Record<PropertyKey, unknown> = {};
  for (const name of Reflect.ownKeys(schema)) {
    copy[name] = closedValue(Reflect.get(schema, name));
  }
  if (copy[Kind] === 'Object') {
    copy['additionalProperties'] ??= false;
  }
  return copy as unknown as TSchema;
}
