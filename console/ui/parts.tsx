/** Small parts that all screens are made of. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Listing, type Load, useWork } from '../app/load.ts';
import { messageOf } from '../app/session.ts';
import { T } from '../text/text.ts';

interface With {
  readonly children?: ComponentChildren;
}

/** A screen: its title, which gets the focus when the screen is shown, what can be done on it, and its content. */
export function Screen({
  title,
  about,
  up,
  actions,
  children,
}: With & {
  readonly title: string;
  readonly about?: string;
  /** The list that the screen shows one of: its place and its title. */
  readonly up?: readonly [href: string, title: string];
  readonly actions?: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · ${T.product}`;
    heading.current?.focus();
  }, [title]);
  return (
    <>
      <header class="screen-head">
        {up !== undefined && (
          <a class="up" href={up[0]}>
            {`← ${up[1]}`}
          </a>
        )}
        <h1 tabIndex={-1} ref={heading}>
          {title}
        </h1>
        <div class="actions">{actions}</div>
        {about !== undefined && <p class="soft">{about}</p>}
      </header>
      {children}
    </>
  );
}

/** A part of a screen with a heading of its own. */
export function Panel({ title, actions, children }: With & { title: string; actions?: ComponentChildren }) {
  return (
    <section class="panel">
      <header>
        <h2>{title}</h2>
        <div class="actions">{actions}</div>
      </header>
      {children}
    </section>
  );
}

/** A failure, read aloud at once; `retry` offers another try. */
export function Failure({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  return (
    <div class="failure" role="alert">
      <p>{messageOf(error)}</p>
      {retry && (
        <button type="button" onClick={retry}>
          {T.retry}
        </button>
      )}
    </div>
  );
}

/** A sign of waiting. */
export function Loading() {
  return (
    <p class="loading" role="status">
      {T.loading}
    </p>
  );
}

/** What was read, once it is there; before that a sign of waiting, or why it failed. */
export function Loaded<D>({
  of,
  children,
}: {
  readonly of: Load<D>;
  readonly children: (data: D) => ComponentChildren;
}) {
  const data = of.kind === 'ready' ? of.data : undefined;
  useEffect(() => {
    // What had the focus may be gone with what was shown before, such as the row of something that was deleted.
    if (document.activeElement === document.body) {
      document.querySelector('h1')?.focus({ preventScroll: true });
    }
  }, [data]);
  if (of.kind === 'failed') {
    return <Failure error={of.error} retry={of.reload} />;
  }
  return of.kind === 'ready' ? children(of.data) : <Loading />;
}

/** A column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly isNumber?: boolean;
  /** Long words in it may be broken. */
  readonly isLong?: boolean;
}

function classOf({ isNumber, isLong }: { isNumber?: boolean; isLong?: boolean }): string | undefined {
  return isNumber ? 'number' : isLong ? 'long' : undefined;
}

/** A table; without rows a sentence that says what to do. */
export function Table<Row>({
  label,
  columns,
  rows,
  empty,
  keyOf,
}: {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly empty: string;
  readonly keyOf: (row: Row) => string;
}) {
  if (rows.length === 0) {
    return <p class="empty">{empty}</p>;
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <section class="table" aria-label={label} tabIndex={0}>
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

/** A list that comes in pages, as a table with their number and a button for more. */
export function ListTable<Row>({
  listing: { load, hasMore, more },
  ...table
}: Omit<Parameters<typeof Table<Row>>[0], 'rows'> & { readonly listing: Listing<Row> }) {
  const count = useRef<HTMLParagraphElement>(null);
  // The button that had the focus may be gone.
  const refocus = (): void => count.current?.focus({ preventScroll: true });
  const { isBusy, error, run } = useWork(() => more().finally(refocus));
  return (
    <Loaded of={load}>
      {(rows) => (
        <>
          <Table {...table} rows={rows} />
          {error !== undefined && <Failure error={error} />}
          {(rows.length > 0 || hasMore) && (
            <p class="line" ref={count} tabIndex={-1}>
              <span class="soft" role="status">
                {hasMore ? T.shownSoFar(rows.length) : T.shownAll(rows.length)}
              </span>
              {hasMore && (
                <button type="button" aria-disabled={isBusy} onClick={run}>
                  {isBusy ? T.loading : T.more}
                </button>
              )}
            </p>
          )}
        </>
      )}
    </Loaded>
  );
}

/** A point in time, in the reader's own way of writing; UTC in its title. */
export function Time({ at }: { readonly at: string | null | undefined }) {
  if (at === null || at === undefined) {
    return <span class="soft">{T.never}</span>;
  }
  return (
    <time dateTime={at} title={at}>
      {new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })}
    </time>
  );
}

/** A state in words, with a colour. */
export function Badge({ kind, children }: With & { readonly kind: 'good' | 'bad' | 'wait' | 'plain' }) {
  return <span class={`badge ${kind}`}>{children}</span>;
}

/** Copies a text; says so, also to screen readers. */
export function Copy({ text, label = T.copy }: { readonly text: string; readonly label?: string }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <button
      type="button"
      class="small"
      onClick={async () => {
        await navigator.clipboard.writeText(text);
        setCopied(true);
        setTimeout(() => setCopied(false), 2_000);
      }}
    >
      <span aria-live="polite">{isCopied ? T.copied : label}</span>
    </button>
  );
}

/** A long name shortened to its ends. */
export function shortOf(text: string): string {
  return text.length > 20 ? `${text.slice(0, 8)}…${text.slice(-6)}` : text;
}

/** A text that must not wrap within a word, such as a token, shortened to its ends. */
export function Short({ text }: { readonly text: string }) {
  return (
    <code title={text} class="short">
      {shortOf(text)}
    </code>
  );
}

/** A definition list of facts. */
export function Facts({ of }: { readonly of: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {of.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
