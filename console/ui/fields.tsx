/** Fields that several screens have. */
import { useLoad } from '../app/load.ts';
import type { Route } from '../app/route.ts';
import type { Session } from '../app/session.ts';
import { localOf, utcOf } from '../app/time.ts';
import { T } from '../text/text.ts';
import type { Entered, Field } from './form.tsx';

/** Keys that a screen offers to choose from; a longer list is typed. */
const KEYS_SHOWN = 200;

/** The passphrase of a key. */
export const PASSPHRASE: Field = {
  name: 'passphrase',
  label: T.passphrase,
  kind: 'passphrase',
  required: true,
  hint: T.passphraseHint,
};

/** A choice of one of these names, shown as `labelOf` calls them, or of none, which is called `none`. */
export function choice(
  name: string,
  label: string,
  names: readonly string[],
  value: string | null | undefined,
  none = T.all,
  labelOf = (each: string) => each,
): Field {
  const options = [['', none] as const, ...names.map((each) => [each, labelOf(each)] as const)];
  return { name, label, kind: 'select', value: value ?? '', options };
}

/** A field for a time, with the one that the place has. */
export function timeField(name: string, label: string, params: Route['params']): Field {
  return { name, label, kind: 'datetime-local', value: localOf(params[name]), isMore: true };
}

/** A time of a field, which is in the reader's zone, in UTC. */
export function timeOf({ text }: Entered, name: string): string | undefined {
  const local = text(name);
  return local === undefined ? undefined : utcOf(new Date(local));
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
