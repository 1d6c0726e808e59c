/** Rows as CSV (RFC 4180), for spreadsheets. */

/**
 * The beginning of a formula in a cell, which a spreadsheet would run, also after the separators of other languages and in a later
 * line of the cell.
 */
const FORMULA = /(^|[;\t\r\n])(["\s]*)([=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/g;
/** Without it spreadsheets read UTF-8 as another encoding. */
const BYTE_ORDER_MARK = '\uFEFF';

function cellOf(value: unknown): string {
  if (value === undefined || value === null) {
    return '';
  }
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  const safe = typeof value === 'number' ? text : text.replace(FORMULA, "$1$2'$3");
  return /[",;\t\r\n']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** Yields the members of a row; those of an object in it as `object.member`. */
function* membersOf(row: object, prefix = ''): Generator<readonly [name: string, value: unknown]> {
  for (const [name, value] of Object.entries(row)) {
    if (isList(value)) {
      yield [prefix + name, value.every((each) => typeof each !== 'object') ? value.join(' ') : value];
    } else if (typeof value === 'object' && value !== null) {
      yield* membersOf(value, `${prefix}${name}.`);
    } else {
      yield [prefix + name, value];
    }
  }
}

/** Returns rows as the text of a file whose first line has the names of their members. */
export function csvOf(rows: readonly object[]): string {
  const cells = rows.map((row) => new Map(membersOf(row)));
  const names = [...new Set(cells.flatMap((row) => [...row.keys()]))];
  const lines = [names, ...cells.map((row) => names.map((name) => row.get(name)))];
  return `${BYTE_ORDER_MARK}${lines.map((line) => `${line.map(cellOf).join(',')}\r\n`).join('')}`;
}
