/** Actors of logs by what people know of them. */
import type { Session } from './session.ts';

const ID = /(?:cred|pers)_[\w-]+/;
/** Sign-ins in which a name is looked for at most, of each kind. */
const SIGN_INS_MAX = 20_000;
const PAGE = 1_000;

/** The id of the newest person or credential of a name: one that there is, or one whose sign-ins are still in the security log. */
async function idOf(session: Session, name: string): Promise<string | undefined> {
  const { client, may } = session;
  const isNamed = (other = ''): boolean => other.toLowerCase() === name.toLowerCase();
  const present = [
    ...(may('credential:write') ? await client.credentials.list() : []),
    ...(may('person:write') ? await client.person.list() : []),
  ];
  const found = present.findLast((each) => isNamed(each.name))?.id;
  if (found !== undefined) {
    return found;
  }
  for (const action of ['person.signin', 'sign_in'] as const) {
    let seen = 0;
    for await (const { data } of client.audit.pages({ action, limit: PAGE })) {
      const entry = data.find(({ actor_name }) => isNamed(actor_name));
      seen += data.length;
      if (entry !== undefined) {
        return ID.exec(entry.actor)?.[0];
      }
      if (seen > SIGN_INS_MAX) {
        break;
      }
    }
  }
  return undefined;
}

/**
 * Returns the actor of a typed text as a log has it: in a security log `account/NAME`, `person/ID` or `credential/ID`, in
 * readings `NAME`, `NAME/person/ID` or `NAME/ID`. Other texts, such as `endpoint/ID`, are returned unchanged.
 */
export async function actorOf(
  session: Session,
  log: 'security' | 'readings',
  typed: string | undefined,
): Promise<string | undefined> {
  const account = session.who.user;
  const isSecurity = log === 'security';
  if (typed === undefined || typed === 'vault' || typed === 'operator' || typed === 'anonymous') {
    return typed;
  }
  const name = typed.replace(/^account\//, '');
  if (name === account) {
    return isSecurity ? `account/${account}` : account;
  }
  const id = ID.exec(typed)?.[0] ?? (typed.includes('/') ? undefined : await idOf(session, typed));
  if (id === undefined) {
    return typed;
  }
  const isPerson = id.startsWith('pers_');
  return isSecurity
    ? `${isPerson ? 'person' : 'credential'}/${id}`
    : `${account}/${isPerson ? 'person/' : ''}${id}`;
}
