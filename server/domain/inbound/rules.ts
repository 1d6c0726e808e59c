/** The settings of an inbound that say where cards are, and how strict it is. */
import { VaultError } from '../../core/errors.ts';
import { isSadName } from '../card/sensitive-names.ts';
import { lastName, type NamedPath, namesIn, parseNamedPath } from '../json/named.ts';
import { placeOf } from '../text/unknown-name.ts';

/** The paths of one kind of card, by the names of the API. */
export interface InboundSource {
  readonly number: string;
  readonly code?: string | undefined;
  /** Stored with the card: a list by the last names of its paths, an object by its own names. */
  readonly include?: readonly string[] | Readonly<Record<string, string>> | undefined;
  readonly reference?: string | undefined;
}

/** By the names of the API; `strict` is true by default. */
export interface InboundRules {
  /** `cards`: what smart parse recognises. */
  readonly extract: readonly InboundSource[] | 'cards';
  /** Where numbers and codes may stay. */
  readonly allow?: readonly string[] | undefined;
  readonly strict?: boolean | 'mask' | undefined;
}

/** An {@link InboundSource} with its paths parsed. */
export interface Source {
  readonly number: NamedPath;
  readonly code: NamedPath | undefined;
  readonly include: readonly (readonly [name: string, path: NamedPath])[];
  readonly reference: NamedPath | undefined;
}

/** {@link InboundRules} as they are used. */
export interface Rules {
  readonly sources: readonly Source[] | 'cards';
  readonly allow: readonly NamedPath[];
  readonly strict: boolean | 'mask';
  /** The names in the owner's paths: errors show no others. */
  readonly names: ReadonlySet<string>;
}

export const SOURCES_MAX = 32;
export const INCLUDED_MAX = 32;
export const ALLOWED_MAX = 64;

/** Names that a stored card has already. */
const TAKEN: readonly string[] = ['card_number', 'cvv'];

const PATH_EXPECTED =
  'must be a path such as `cards[*].number`, without `$` or `/` before it: at most 255 characters and 16 steps, joined by dots';
/** How JSONPath and JSON Pointer begin; a name like that is written as `["$"]`. */
const OTHER_PATH = /^(?:\$(?:[.[]|$)|\/)/;

function rejected(field: string, expected: string): VaultError {
  return new VaultError('invalid_request', { field, expected });
}

function readPath(text: string, field: string): NamedPath {
  const path = OTHER_PATH.test(text) ? undefined : parseNamedPath(text);
  if (path === undefined) {
    throw rejected(field, PATH_EXPECTED);
  }
  return path;
}

function readOptional(text: string | undefined, field: string): NamedPath | undefined {
  return text === undefined ? undefined : readPath(text, field);
}

/** Rejects a path to a verification code where it would be stored for ever, or shown. */
function readStored(text: string, field: string, code: NamedPath | undefined): NamedPath {
  const path = readPath(text, field);
  const isCode = path.length === code?.length && path.every((step, at) => step === code[at]);
  if (isCode || isSadName(lastName(path) ?? '')) {
    throw rejected(field, 'must not lead to a verification code; the path of a code is `code`');
  }
  return path;
}

/** The names and paths of an `include`, each with its place. */
function entriesOf(
  include: NonNullable<InboundSource['include']>,
  place: string,
): readonly (readonly [name: string | undefined, path: string, field: string])[] {
  return isList(include)
    ? include.map((path, at) => [undefined, path, `${place}[${at}]`])
    : Object.entries(include).map(([name, path]) => [name, path, placeOf(place, name)]);
}

function isList(include: NonNullable<InboundSource['include']>): include is readonly string[] {
  return Array.isArray(include);
}

function readIncluded(
  include: InboundSource['include'],
  place: string,
  code: NamedPath | undefined,
): Source['include'] {
  const names = new Set(TAKEN);
  const entries = include === undefined ? [] : entriesOf(include, place);
  if (entries.length > INCLUDED_MAX) {
    throw rejected(place, `must have at most ${INCLUDED_MAX} paths`);
  }
  return entries.map(([given, text, field]) => {
    const path = readStored(text, field, code);
    const name = given ?? lastName(path);
    if (name === undefined) {
      throw rejected(field, 'must end in a name, or have one of its own: `{ "name": "path" }`');
    }
    if (names.size === names.add(name).size) {
      throw rejected(field, 'must have a name that no other one has, and neither `card_number` nor `cvv`');
    }
    return [name, path];
  });
}

function readSource({ number, code: codeText, include, reference }: InboundSource, place: string): Source {
  const code = readOptional(codeText, `${place}.code`);
  return {
    number: readPath(number, `${place}.number`),
    code,
    include: readIncluded(include, `${place}.include`, code),
    reference: reference === undefined ? undefined : readStored(reference, `${place}.reference`, code),
  };
}

function pathsOf({ number, code, include, reference }: Source): readonly NamedPath[] {
  return [number, code, reference, ...include.map(([, path]) => path)].filter((path) => path !== undefined);
}

/** Parses the rules of an inbound. Throws `invalid_request` at its place in the body for a path that is none, and the like. */
export function readRules({ extract, allow = [], strict = true }: InboundRules): Rules {
  if (extract !== 'cards' && (extract.length === 0 || extract.length > SOURCES_MAX)) {
    throw rejected('body.extract', `must be \`cards\`, or a list of 1 to ${SOURCES_MAX} objects`);
  }
  if (allow.length > ALLOWED_MAX) {
    throw rejected('body.allow', `must have at most ${ALLOWED_MAX} paths`);
  }
  const sources =
    extract === 'cards' ? extract : extract.map((source, at) => readSource(source, `body.extract[${at}]`));
  const allowed = allow.map((text, at) => readPath(text, `body.allow[${at}]`));
  const paths = sources === 'cards' ? allowed : [...sources.flatMap(pathsOf), ...allowed];
  return { sources, allow: allowed, strict, names: new Set(paths.flatMap(namesIn)) };
}

/**
 * Checks the rules of a new inbound. Throws `invalid_request` at its place in the body for a path that is none, for equal
 * names in an `include` or one that a card has already, and for a path in `include` or `reference` to a code, by its name or
 * as `code` has it.
 */
export function checkInboundRules(rules: InboundRules): void {
  readRules(rules);
}
