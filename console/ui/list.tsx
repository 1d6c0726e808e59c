import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { type Listing, useWork } from '../app/load.ts';
import { T } from '../app/text.ts';
import { Failure, Loaded } from './parts.tsx';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly isNumber?: boolean;
  /** Long words in it may be broken. */
  readonly isLong?: boolean;
}

interface TableProps<Row> {
  readonly title: string;
  readonly columns: readonly Column<Row>[];
  /** Shown in place of a table without rows. */
  readonly empty: string;
  readonly keyOf: (row: Row) => string;
}

export function Table<Row>({
  title,
  columns,
  rows,
  empty,
  keyOf,
}: TableProps<Row> & { readonly rows: readonly Row[] }) {
  if (rows.length === 0) {
    return <p class="empty">{empty}</p>;
  }
  const classOf = ({ isNumber, isLong }: Column<Row>) => (isNumber ? 'number' : isLong ? 'long' : undefined);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <section class="table" aria-label={title} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classOf(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.title} data-title={column.title} class={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The number of rows shown, and a button for more. */
function Footer({ count, hasMore, more }: { count: number; hasMore: boolean; more: () => Promise<void> }) {
  const line = useRef<HTMLParagraphElement>(null);
  // The button that had the focus may be gone.
  const { isBusy, error, run } = useWork(() =>
    more().finally(() => line.current?.focus({ preventScroll: true })),
  );
  return (
    <>
      {error !== undefined && <Failure error={error} />}
      {(count > 0 || hasMore) && (
        <p class="line" ref={line} tabIndex={-1}>
          <span class="soft" role="status">
            {hasMore ? T.shownSoFar(count) : T.shownAll(count)}
          </span>
          {hasMore && (
            <button type="button" aria-disabled={isBusy} onClick={run}>
              {isBusy ? T.loading : T.more}
            </button>
          )}
        </p>
      )}
    </>
  );
}

/** A list that is read from the vault, whole or in pages, as a table. Each row can have a cell of `actions`. */
export function List<Row>({
  of,
  columns,
  actions,
  ...table
}: TableProps<Row> & {
  readonly of: Listing<Row>;
  readonly actions?: (row: Row) => ComponentChildren;
}) {
  const last = actions && {
    title: T.actions,
    cell: (row: Row) => <div class="actions">{actions(row)}</div>,
  };
  return (
    <Loaded of={of}>
      {(rows) => (
        <>
          <Table {...table} columns={last ? [...columns, last] : columns} rows={rows} />
          {of.more && <Footer count={rows.length} hasMore={of.hasMore === true} more={of.more} />}
        </>
      )}
    </Loaded>
  );
}
