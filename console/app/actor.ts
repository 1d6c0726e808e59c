/** Actors of logs by what people know of them. */
import type { Session } from './session.ts';

const CREDENTIAL_ID = /cred_[\w-]+/;
/** Sign-ins in which a name is looked for at most. */
const SIGN_INS_MAX = 20_000;
const PAGE = 1_000;

/** The id of the newest credential of a name: one that there is, or one whose sign-ins are still in the security log. */
async function credentialOf({ client, may }: Session, name: string): Promise<string | undefined> {
  const isNamed = (other = ''): boolean => other.toLowerCase() === name.toLowerCase();
  const present = may('credential:write') ? await client.credentials.list() : [];
  const found = present.findLast((credential) => isNamed(credential.name))?.id;
  if (found !== undefined) {
    return found;
  }
  let seen = 0;
  for await (const { data } of client.audit.pages({ action: 'sign_in', limit: PAGE })) {
    const entry = data.find(({ actor_name }) => isNamed(actor_name));
    seen += data.length;
    if (entry !== undefined || seen > SIGN_INS_MAX) {
      return CREDENTIAL_ID.exec(entry?.actor ?? '')?.[0];
    }
  }
  return undefined;
}

/**
 * Returns the actor of a typed text as a log has it: in a security log `account/NAME` or `credential/ID`, in readings
 * `NAME` or `NAME/ID`. Other texts, such as `endpoint/ID`, are returned unchanged.
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
  const id =
    CREDENTIAL_ID.exec(typed)?.[0] ?? (typed.includes('/') ? undefined : await credentialOf(session, typed));
  return id === undefined ? typed : isSecurity ? `credential/${id}` : `${account}/${id}`;
}
