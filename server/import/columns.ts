import { CommandError } from '../cli/command.ts';
import { isShownName } from '../domain/text/unknown-name.ts';

/** Parts of an item in addition to its data; each other name is a member of the data. */
const PARTS = ['reference', 'ttl', 'token', 'algorithm'];
const METADATA = 'metadata.';

/** A part of an item, and its column in a CSV file. */
export interface Mapped {
  readonly name: string;
  readonly column: string;
}

/** Reads `--map`, such as `card_number=PAN,reference=Customer`. Throws for a part that is named twice. */
export function parseMap(texts: readonly string[]): readonly Mapped[] {
  const mapped = texts
    .flatMap((text) => text.split(','))
    .map((pair) => {
      const at = pair.indexOf('=');
      return { name: pair.slice(0, at).trim(), column: pair.slice(at + 1).trim(), isPair: at > 0 };
    });
  const names = new Set(mapped.map(({ name }) => name));
  if (names.size < mapped.length || mapped.some(({ isPair, column }) => !isPair || column === '')) {
    throw new CommandError('--map must be NAME=COLUMN,NAME=COLUMN…, with each NAME once.', 2);
  }
  for (const name of names) {
    checkName(name, '--map');
  }
  return mapped.map(({ name, column }) => ({ name, column }));
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

/** Makes the JSON text of an item from the fields of a record. */
export type ItemOf = (fields: readonly string[]) => Uint8Array;

/** Finds the column of each part. Without a map the columns have the names of the parts. */
export function itemFrom(header: readonly string[], map: readonly Mapped[] | undefined): ItemOf {
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
  const place = ({ name, column }: Mapped) => ({ name, at: header.indexOf(column) });
  const parts = wanted.filter(({ name }) => PARTS.includes(name)).map(place);
  const metadata = wanted
    .filter(({ name }) => name.startsWith(METADATA))
    .map(({ name, column }) => place({ name: name.slice(METADATA.length), column }));
  const data = wanted.filter(({ name }) => !PARTS.includes(name) && !name.startsWith(METADATA)).map(place);
  return (fields) => {
    const item: Record<string, unknown> = { data: given(data, fields), ...given(parts, fields) };
    const pairs = given(metadata, fields);
    if (Object.keys(pairs).length > 0) {
      item['metadata'] = pairs;
    }
    return Buffer.from(JSON.stringify(item));
  };
}

/** Returns the fields that are not empty, by their names. */
function given(
  places: readonly { readonly name: string; readonly at: number }[],
  fields: readonly string[],
): Record<string, string> {
  return Object.fromEntries(places.flatMap(({ name, at }) => (fields[at] ? [[name, fields[at]]] : [])));
}
