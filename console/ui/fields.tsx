import { useLoad } from '../app/load.ts';
import { goTo, linkTo, type Route } from '../app/route.ts';
import type { Session } from '../app/session.ts';
import { T } from '../app/text.ts';
import { type Field, Form } from './form.tsx';

/** Keys that a screen offers to choose from; a longer list is typed. */
export const KEYS_SHOWN = 200;

/** The passphrase of a key. */
export const PASSPHRASE: Field = {
  name: 'passphrase',
  label: T.passphrase,
  kind: 'passphrase',
  required: true,
  hint: T.passphraseHint,
};

/** A choice of one of `names`, or of none, which is labelled `none`. */
export function choice<Name extends string>(
  name: string,
  label: string,
  names: readonly Name[],
  value: string | null = '',
  none = T.all,
  labelOf: (each: Name) => string = (each) => each,
): Field {
  const options = [['', none] as const, ...names.map((each) => [each, labelOf(each)] as const)];
  return { name, label, kind: 'select', value: value ?? '', options };
}

/** A time as the API takes it: in UTC, to the second. */
export function utcOf(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}

/** A time of the API in the format of a field, which is in the reader's zone. */
function localOf(utc = ''): string {
  const ms = Date.parse(utc);
  return Number.isNaN(ms)
    ? ''
    : new Date(ms - 60_000 * new Date(ms).getTimezoneOffset()).toISOString().slice(0, 16);
}

interface FilterProps {
  readonly screen: string;
  readonly params: Route['params'];
  readonly fields: readonly Field[];
  readonly send?: string;
}

/** The parameters of a screen as a form. */
export function Filter({ screen, params, fields, send = T.search }: FilterProps) {
  return (
    <Form
      isCompact
      fields={fields.map((field) => {
        const value = params[field.name];
        return field.kind === 'datetime-local'
          ? { ...field, value: localOf(value), isMore: true }
          : { ...field, value: value ?? '' };
      })}
      send={send}
      onSend={({ text }) => {
        const given = fields.map(({ name, kind }) => {
          const value = text(name);
          return [name, value && kind === 'datetime-local' ? utcOf(new Date(value)) : value] as const;
        });
        goTo(screen, Object.fromEntries(given));
      }}
    />
  );
}

/** The beginning of a day of the reader's zone. */
function dayBefore(days: number): Date {
  const day = new Date();
  day.setHours(0, 0, 0, 0);
  day.setDate(day.getDate() - days);
  return day;
}

/** The beginning of a month of the reader's zone. */
function monthBefore(months: number): Date {
  const day = dayBefore(0);
  day.setMonth(day.getMonth() - months, 1);
  return day;
}

/** Periods that people ask for. */
const PERIODS = [
  [T.periods.today, () => [dayBefore(0), dayBefore(-1)]],
  [T.periods.yesterday, () => [dayBefore(1), dayBefore(0)]],
  [T.periods.week, () => [dayBefore(7), dayBefore(-1)]],
  [T.periods.month, () => [monthBefore(1), monthBefore(0)]],
] as const;

/** Links that limit a screen to a period. `kept` are the parameters that are no filter. */
export function Periods({ screen, params, kept = {} }: PeriodsProps) {
  return (
    <nav class="line periods" aria-label={T.periods.label}>
      {PERIODS.map(([label, bounds]) => {
        const [after = '', before = ''] = bounds().map(utcOf);
        return (
          <a
            key={label}
            class="button small"
            href={linkTo(screen, { ...params, after, before })}
            aria-current={params['after'] === after && params['before'] === before}
          >
            {label}
          </a>
        );
      })}
      {Object.keys(params).some((name) => !Object.hasOwn(kept, name)) && (
        <a class="button small" href={linkTo(screen, kept)}>
          {T.periods.clear}
        </a>
      )}
    </nav>
  );
}

interface PeriodsProps {
  readonly screen: string;
  readonly params: Route['params'];
  readonly kept?: Readonly<Record<string, string | undefined>>;
}

/** A field for the name of a key: a choice, or a text for a credential that may not list them, or for very many. */
export function useKeyField({ client, may }: Session, value = ''): Field | undefined {
  const keys = useLoad(async () =>
    may('key:read') ? client.keys.list({ limit: KEYS_SHOWN }) : { data: [], next_token: undefined },
  );
  if (keys.kind === 'loading') {
    return undefined;
  }
  const { data, next_token } = keys.kind === 'ready' ? keys.data : { data: [], next_token: undefined };
  const users = data.map(({ user }) => user);
  const field = { name: 'user', label: T.key, required: true, value };
  if (users.length === 0 || next_token !== undefined) {
    return field;
  }
  const { options = [], ...chosen } = choice('user', T.key, users, value, T.choose);
  return { ...chosen, required: true, options: users.length === 1 ? options.slice(1) : options };
}

/** The same field as a filter, whose first choice is all keys. */
export function keyFilter(field: Field): Field {
  const { options } = field;
  return {
    ...{ ...field, required: false },
    ...(options && { options: [['', T.all] as const, ...options.filter(([user]) => user !== '')] }),
  };
}
