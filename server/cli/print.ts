import type { Result, Table } from './command.ts';

const GAP = '  ';
/** A cell with a number and an optional unit. */
const AMOUNT = /^-?[\d.,]+(?: ?(?:%|[kMGT]?i?B|[mµ]?s))?$/;

/** Replaces control characters, so that stored data cannot control the terminal. */
function plain(cell: string): string {
  return cell.replaceAll(/\p{Cc}/gu, '?');
}

function padded(cell: string, width: number, toRight: boolean): string {
  const space = ' '.repeat(Math.max(0, width - Bun.stringWidth(cell)));
  return toRight ? `${space}${cell}` : `${cell}${space}`;
}

/** Columns in monospace; those with only numbers are aligned to the right. */
function textOfTable({ heading, columns, rows, empty }: Table): string {
  if (rows.length === 0 && empty !== undefined) {
    return empty;
  }
  const cells = rows.map((row) => row.map(plain));
  const layout = columns.map((name, at) => {
    const column = cells.map((row) => row[at] ?? '');
    return {
      width: Math.max(...[name, ...column].map((cell) => Bun.stringWidth(cell))),
      toRight: column.length > 0 && column.every((cell) => cell === '' || AMOUNT.test(cell)),
    };
  });
  const line = (row: readonly string[]): string =>
    layout
      .map(({ width, toRight }, at) => padded(row[at] ?? '', width, toRight))
      .join(GAP)
      .trimEnd();
  return [...(heading === undefined ? [] : [heading, '']), line(columns), ...cells.map(line)].join('\n');
}

/** A result as text and tables, with an empty line between two parts. */
export function resultText({ shown }: Result): string {
  const parts = Array.isArray(shown) ? shown : [shown];
  return parts.map((part) => (typeof part === 'string' ? part : textOfTable(part))).join('\n\n');
}
