import { CommandError } from '../cli/command.ts';
import { withoutSeparators } from '../domain/card/digits.ts';
import { isFloating, NUMBER_NAMES } from '../domain/card/number.ts';
import { encodeJson } from '../domain/json/bytes.ts';
import { JsonNumber, type JsonObject, type JsonValue, parseJson } from '../domain/json/json.ts';
import { type PathStep, parseSteps, readPath } from '../domain/json/path.ts';
import { isShownName } from '../domain/text/unknown-name.ts';

/** Parts of an item in addition to its data; each other name is a member of the data. */
const PARTS = ['reference', 'ttl', 'token', 'algorithm'];
const METADATA = 'metadata.';

/** A part of an item, and its source: a column of a CSV file, or a dotted path in a line of JSON. */
export interface Mapped {
  readonly name: string;
  readonly column: string;
}

/** Options for the numbers of items; undefined is false, so that options of earlier versions have the same digest. */
export interface NumberOptions {
  /** Rows without a number are no items. */
  readonly skipEmpty?: true | undefined;
  /** Spaces and dashes are removed from numbers. */
  readonly compact?: true | undefined;
}

/** The JSON text of an item; undefined for a row without a number that is to be skipped. */
export type Made = Uint8Array | undefined;

/** One pair of `--map` up to the comma behind it; a comma within double quotes is part of the column. */
const PAIR = /([^=,]*)=((?:[^",]|"[^"]*")*)(?:,|$)/y;

/** The pairs of a text, such as `card_number=PAN,card_holder="Name, first"`; undefined if it is not all of pairs. */
function pairsOf(text: string): readonly Mapped[] | undefined {
  const pairs: Mapped[] = [];
  PAIR.lastIndex = 0;
  do {
    const [pair, name = '', column = ''] = PAIR.exec(text) ?? [];
    if (pair === undefined) {
      return undefined;
    }
    pairs.push({ name: name.trim(), column: unquoted(column.trim()) });
    if (!pair.endsWith(',')) {
      return pairs;
    }
  } while (PAIR.lastIndex < text.length);
  return undefined;
}

/** What double quotes around a whole text enclose, in which two of them are one, as in CSV. */
function unquoted(text: string): string {
  const [, inner] = /^"((?:[^"]|"")*)"$/.exec(text) ?? [];
  return inner === undefined ? text : inner.replaceAll('""', '"');
}

/** Reads `--map`, such as `card_number=PAN,reference=Customer`. Throws for a part that is named twice. */
export function parseMap(texts: readonly string[]): readonly Mapped[] {
  const read = texts.map(pairsOf);
  const mapped = read.flatMap((pairs = []) => pairs);
  const names = new Set(mapped.map(({ name }) => name));
  const isWhole =
    !read.includes(undefined) && mapped.every(({ name, column }) => name !== '' && column !== '');
  if (!isWhole || names.size < mapped.length) {
    throw new CommandError('--map must be NAME=COLUMN,NAME="COLUMN, WITH A COMMA"…, with each NAME once.', 2);
  }
  for (const name of names) {
    checkName(name, '--map');
  }
  return mapped;
}

function checkName(name: string, where: string): void {
  const part = name.startsWith(METADATA) ? name.slice(METADATA.length) : name;
  if (!isShownName(name) || part === '' || part.includes('.')) {
    throw new CommandError(
      `${where} must name parts of an item: letters, digits, - and _, such as card_number, reference or metadata.plan.`,
      where === '--map' ? 2 : 1,
    );
  }
}

/** A part of an item, and the place of its value in a row. */
interface Placed<Place> {
  readonly name: string;
  readonly at: Place;
}

/** True for a value of a number that has no more than separators. */
function isBlank(value: JsonValue | undefined): boolean {
  return (
    value === undefined || value === null || (typeof value === 'string' && withoutSeparators(value) === '')
  );
}

/** Applies the options to the members that may be the number, in place. False if the row is to be skipped. */
function prepareNumbers(members: JsonObject, { skipEmpty, compact }: NumberOptions): boolean {
  if (compact) {
    for (const name of NUMBER_NAMES) {
      const value = members.get(name);
      if (typeof value === 'string') {
        members.set(name, withoutSeparators(value));
      }
    }
  }
  return !skipEmpty || NUMBER_NAMES.some((name) => !isBlank(members.get(name)));
}

/** A scalar as text, digit by digit; a list or object unchanged, which is an error of the item. */
function asText(value: JsonValue): JsonValue {
  if (value instanceof JsonNumber) {
    return value.text;
  }
  return typeof value === 'boolean' ? String(value) : value;
}

function isNumberName(name: string): boolean {
  return NUMBER_NAMES.some((known) => known === name);
}

/**
 * Creates a function that makes the item of a row, of which `read` returns the values. Empty values are omitted. Throws if every
 * row would be skipped.
 */
function itemMaker<Place>(placed: readonly Placed<Place>[], numbers: NumberOptions) {
  if (numbers.skipEmpty && !placed.some(({ name }) => isNumberName(name))) {
    throw new CommandError(`With --skip-empty a part must be the number: ${NUMBER_NAMES.join(', ')}.`, 1);
  }
  const parts = placed.filter(({ name }) => PARTS.includes(name));
  const metadata = placed
    .filter(({ name }) => name.startsWith(METADATA))
    .map(({ name, at }) => ({ name: name.slice(METADATA.length), at }));
  const data = placed.filter(({ name }) => !PARTS.includes(name) && !name.startsWith(METADATA));
  return (read: (at: Place) => JsonValue | undefined): Made => {
    const given = (some: readonly Placed<Place>[], shape: (value: JsonValue) => JsonValue): JsonObject => {
      const members: JsonObject = new Map();
      for (const { name, at } of some) {
        const value = read(at);
        if (value !== undefined && value !== null && value !== '') {
          members.set(name, shape(value));
        }
      }
      return members;
    };
    const members = given(data, (value) => value);
    if (!prepareNumbers(members, numbers)) {
      return undefined;
    }
    const item: JsonObject = new Map<string, JsonValue>([['data', members], ...given(parts, asText)]);
    const pairs = given(metadata, asText);
    if (pairs.size > 0) {
      item.set('metadata', pairs);
    }
    return encodeJson(item);
  };
}

/** Makes items from the records of a CSV file. */
export interface RecordReader {
  readonly itemOf: (fields: readonly string[]) => Made;
  /** True if the number of the record is in floating notation. */
  readonly isRounded: (fields: readonly string[]) => boolean;
}

/** Finds the column of each part. Without a map the columns have the names of the parts. */
export function itemFrom(
  header: readonly string[],
  map: readonly Mapped[] | undefined,
  numbers: NumberOptions,
): RecordReader {
  if (header.length === 0) {
    throw new CommandError('The first line of FILE must name the columns.', 1);
  }
  if (header.length === 1 && /[;\t|]/.test(header[0] ?? '')) {
    throw new CommandError(
      'The first line of FILE is one column: give what separates its columns with --delimiter, such as --delimiter ";".',
      1,
    );
  }
  if (map === undefined) {
    for (const name of header) {
      // The message does not repeat the first line, which is a card if the names are missing.
      checkName(name, 'Without --map the first line of FILE');
    }
  }
  const wanted = map ?? header.map((name) => ({ name, column: name }));
  for (const { column } of wanted) {
    const places = header.filter((name) => name === column).length;
    if (places !== 1) {
      const found = places === 0 ? 'no column' : `${places} columns`;
      throw new CommandError(`The first line of FILE names ${found} ${column}.`, 1);
    }
  }
  const placed = wanted.map(({ name, column }) => ({ name, at: header.indexOf(column) }));
  const numbersAt = placed.filter(({ name }) => isNumberName(name));
  const make = itemMaker(placed, numbers);
  return {
    itemOf: (fields) => make((at) => fields[at]),
    isRounded: (fields) => numbersAt.some(({ at }) => isFloating(fields[at] ?? '')),
  };
}

/** A line of JSON as an object; undefined for any other text, whose error is that of its import. */
function objectOf(line: Uint8Array): JsonObject | undefined {
  try {
    const value = parseJson(line);
    return value instanceof Map ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Makes items from lines of JSON: those that a map describes, or lines of an export. */
export class LineReader {
  private readonly make: ReturnType<typeof itemMaker<PathStep>> | undefined;
  private readonly paths: ReadonlyMap<PathStep, string>;
  /** Paths of the map that no line had. */
  private readonly missing: Set<PathStep>;

  constructor(
    map: readonly Mapped[] | undefined,
    private readonly numbers: NumberOptions,
  ) {
    const placed = map?.map(({ name, column }) => ({ name, at: parseSteps(column), column }));
    this.make = placed && itemMaker(placed, numbers);
    this.paths = new Map(placed?.map(({ at, column }) => [at, column]));
    this.missing = new Set(this.paths.keys());
  }

  /** Makes the item of a line. A line that is no object is returned unchanged. */
  itemOf(line: Uint8Array): Made {
    if (this.make === undefined && !this.numbers.skipEmpty && !this.numbers.compact) {
      return line;
    }
    const object = objectOf(line);
    if (object === undefined) {
      return line;
    }
    return this.make === undefined
      ? this.prepared(object, line)
      : this.make((path) => this.read(object, path));
  }

  /** The paths of the map that no line had, as they were given. */
  missingPaths(): readonly string[] {
    return [...this.missing].map((path) => this.paths.get(path) ?? '');
  }

  private read(object: JsonObject, path: PathStep): JsonValue | undefined {
    const value = readPath(object, path);
    if (value !== undefined) {
      this.missing.delete(path);
    }
    return value;
  }

  /** The line of an export with its numbers prepared. */
  private prepared(object: JsonObject, line: Uint8Array): Made {
    const data = object.get('data');
    if (!(data instanceof Map)) {
      return line;
    }
    const number = object.get('number');
    // The number of an item may be beside its data.
    const alone: JsonObject = new Map(number === undefined ? [] : [['number', number]]);
    const hasNumber = prepareNumbers(data, this.numbers);
    if (!prepareNumbers(alone, this.numbers) && !hasNumber) {
      return undefined;
    }
    const prepared = alone.get('number');
    if (prepared !== undefined) {
      object.set('number', prepared);
    }
    return encodeJson(object);
  }
}
