import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Load } from '../app/load.ts';
import { linkTo } from '../app/route.ts';
import { messageOf, type Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { outcomeOf } from '../app/words.ts';

interface SectionProps {
  readonly title: string;
  readonly actions?: ComponentChildren;
  readonly children?: ComponentChildren;
}

interface ScreenProps extends SectionProps {
  readonly about?: string;
  /** Link to the list that contains the shown record. */
  readonly up?: readonly [href: string, title: string];
  /** Actions that destroy, below the content: on a phone the others are at its top, where a finger lands first. */
  readonly last?: ComponentChildren;
}

/** A screen. Its title gets the focus when the screen is shown. */
export function Screen({ title, about, up, actions, last, children }: ScreenProps) {
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
      {last && <div class="actions last">{last}</div>}
    </>
  );
}

/** A section of a screen, with a heading. */
export function Panel({ title, actions, children }: SectionProps) {
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

/** An error, which screen readers announce at once. */
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

export function Loading() {
  return (
    <p class="loading" role="status">
      {T.loading}
    </p>
  );
}

interface LoadedProps<D> {
  readonly of: Load<D>;
  readonly children: (data: D) => ComponentChildren;
}

/** Shows data once it is read; until then a note or the error. */
export function Loaded<D>({ of, children }: LoadedProps<D>) {
  const data = of.kind === 'ready' ? of.data : undefined;
  useEffect(() => {
    // The element that had the focus may be gone, such as the row of a deleted record.
    if (document.activeElement === document.body) {
      document.querySelector('h1')?.focus({ preventScroll: true });
    }
  }, [data]);
  if (of.kind === 'failed') {
    return <Failure error={of.error} retry={of.reload} />;
  }
  return of.kind === 'ready' ? children(of.data) : <Loading />;
}

interface TimeProps {
  readonly at: string | null | undefined;
  /** With seconds and the zone, as logs need it. */
  readonly isExact?: boolean;
}

/** A time in the reader's format and zone; UTC in its title. */
export function Time({ at, isExact = false }: TimeProps) {
  if (at === null || at === undefined) {
    return <span class="soft">{T.never}</span>;
  }
  return (
    <time dateTime={at} title={at}>
      {new Date(at).toLocaleString(undefined, {
        dateStyle: 'medium',
        timeStyle: isExact ? 'long' : 'short',
      })}
    </time>
  );
}

interface BadgeProps {
  readonly kind: 'good' | 'bad' | 'wait' | 'plain';
  readonly children: ComponentChildren;
}

export function Badge({ kind, children }: BadgeProps) {
  return <span class={`badge ${kind}`}>{children}</span>;
}

/** An end of validity, with a warning in its last days and after it. */
export function Expiry({ at, soonDays }: { readonly at: string; readonly soonDays: number }) {
  const left = Date.parse(at) - Date.now();
  return (
    <div>
      <Time at={at} />{' '}
      {left < soonDays * 86_400_000 && (
        <Badge kind={left < 0 ? 'bad' : 'wait'}>{left < 0 ? T.expired : T.soon}</Badge>
      )}
    </div>
  );
}

/** A button that copies a text, and announces that. */
export function Copy({ text }: { readonly text: string }) {
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
      <span aria-live="polite">{isCopied ? T.copied : T.copy}</span>
    </button>
  );
}

/** A code in words, with the code in its title. */
export function Word<Code extends string>({
  of,
  code,
}: {
  readonly of: Readonly<Record<Code, string>>;
  readonly code: Code;
}) {
  // A newer server can have others.
  return <span title={code}>{of[code] ?? code}</span>;
}

/** The outcome of an entry of a log in words, with its code in the title. */
export function Outcome({ code }: { readonly code: string }) {
  return (
    <span title={code}>
      <Badge kind={code === 'ok' || code === 'success' ? 'good' : 'bad'}>{outcomeOf(code)}</Badge>
    </span>
  );
}

/** The actor of an entry of a log, with the name that its credential had, and a link to what else it did. */
export function Actor({
  actor,
  actor_name,
  href,
}: {
  readonly actor: string;
  readonly actor_name?: string | undefined;
  readonly href: string | false;
}) {
  const name = actor_name ?? actor.replace(/^account\//, '');
  return (
    <span>
      {href === false ? name : <a href={href}>{name}</a>}
      {actor_name !== undefined && (
        <>
          {' '}
          <span class="soft">{actor.split('/').at(-1)}</span>
        </>
      )}
    </span>
  );
}

/** An address, with a link to what was read from it. */
export function Address({ session, ip }: { readonly session: Session; readonly ip: string }) {
  return ip !== '' && session.may('audit:read') ? (
    <a href={linkTo('readings', { source_ip: ip })}>{ip}</a>
  ) : (
    ip
  );
}

/** Keeps the ends of a long text. */
export function shortOf(text: string): string {
  return text.length > 20 ? `${text.slice(0, 8)}…${text.slice(-6)}` : text;
}

/** A shortened token or id, which does not wrap. */
export function Short({ text }: { readonly text: string }) {
  return (
    <code title={text} class="short">
      {shortOf(text)}
    </code>
  );
}

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
