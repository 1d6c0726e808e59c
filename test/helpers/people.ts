/** People as tests make them: invited by the API, with a passkey that no test verifies, and signed in by the service itself. */
import { randomBytes } from 'node:crypto';
import type { KnownPerson, PasskeyRecord } from '../../server/account/person/records.ts';
import type { SignInKind } from '../../server/account/session/sessions.ts';
import type { Role } from '../../server/core/roles.ts';
import { Secret } from '../../server/core/secret.ts';
import { createContext } from '../../server/request/context.ts';
import { type AccountClient, type Answer, answerOf, type Handle, type Sending } from './clients.ts';
import type { TestVault } from './vault.ts';

/** A person as its invitation shows it. */
export interface Invited {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly keys?: readonly string[];
  readonly unmasked: boolean;
  readonly invitation: string;
  readonly expires_at: string;
}

interface Wanted {
  readonly name?: string;
  readonly keys?: readonly string[];
  readonly unmasked?: boolean;
}

/** Sends requests with the cookie of a person, as the console does. */
export interface PersonClient {
  readonly id: string;
  /** The cookie, as `name=value`. */
  readonly cookie: string;
  readonly passkey: PasskeyRecord;
  readonly send: (method: string, path: string, sending?: Sending) => Promise<Answer>;
  /** The same cookie at another server. */
  readonly via: (handle: Handle) => PersonClient;
}

/** Invites a person; throws unless the answer is 200. */
export async function invite(
  by: Pick<AccountClient, 'send'>,
  role: Role,
  { name = 'Ada', ...rights }: Wanted = {},
): Promise<Invited> {
  const answer = await by.send('POST', '/person', { body: { name, role, ...rights } });
  if (answer.status !== 200) {
    throw new Error(`The vault answered ${answer.status} ${answer.text}`);
  }
  return answer.as<Invited>();
}

/** The token of an invitation. */
export function tokenOf({ invitation }: Pick<Invited, 'invitation'>): Secret<string> {
  return new Secret(new URL(invitation).hash.replace('#/join?token=', ''));
}

export function newPasskey(name = 'a device'): PasskeyRecord {
  const id = randomBytes(24).toString('base64url');
  return { id, name, publicKey: 'AA', counter: 0, created_at: new Date().toISOString() };
}

let made = 0;

/** The context of a request of a person who signs in. */
export function signInContext(ip = '192.0.2.1') {
  made += 1;
  return createContext({ requestId: `request-${made}`, ip, userAgent: 'tests/1.0', source: 'vault' });
}

/** A client with a cookie. */
export function personClient(
  handle: Handle,
  facts: Pick<PersonClient, 'id' | 'cookie' | 'passkey'>,
): PersonClient {
  return {
    ...facts,
    via: (other) => personClient(other, facts),
    async send(method, path, { query = {}, body, headers = {}, passphrase } = {}) {
      const url = new URL(`http://localhost/v1${path}`);
      for (const [name, value] of Object.entries(query)) {
        url.searchParams.set(name, String(value));
      }
      const all = new Headers({ cookie: facts.cookie, 'sec-fetch-site': 'same-origin', ...headers });
      if (passphrase !== undefined) {
        all.set('x-vault-passphrase', encodeURIComponent(passphrase));
      }
      const init: RequestInit = { method, headers: all };
      if (body !== undefined) {
        init.body = JSON.stringify(body);
      }
      return answerOf(await handle(new Request(url.href, init)));
    },
  };
}

/** Opens a session by the service itself, and returns its cookie, as `name=value`. */
export async function openedSession(
  { parts: { sessions } }: Pick<TestVault, 'parts'>,
  known: KnownPerson,
  how: SignInKind = { kind: 'oidc' },
): Promise<string> {
  const { cookie } = await sessions.open(signInContext(), known, how);
  return cookie.split(';')[0] ?? '';
}

/** Accepts an invitation with a new passkey and signs in; the ceremonies of browsers have tests of their own. */
export async function join(vault: TestVault, invited: Invited): Promise<PersonClient> {
  const { persons } = vault.parts;
  const passkey = newPasskey();
  const token = tokenOf(invited);
  const known = await persons.addPasskey(signInContext(), await persons.invited(token), passkey, token);
  const cookie = await openedSession(vault, known, { kind: 'passkey', passkeyId: passkey.id });
  return personClient(vault.handle, { id: invited.id, cookie, passkey });
}

/** Signs a person in again, with the passkey it has: another session. */
export async function signInAgain(vault: TestVault, { passkey }: PersonClient): Promise<PersonClient> {
  const found = await vault.parts.persons.byPasskey(passkey.id);
  if (found === undefined) {
    throw new Error('The person has lost its passkey.');
  }
  const cookie = await openedSession(vault, found.person, { kind: 'passkey', passkeyId: passkey.id });
  return personClient(vault.handle, { id: found.person.name.id, cookie, passkey });
}

/** A person of an account with a role, signed in. */
export async function person(
  vault: TestVault,
  account: Pick<AccountClient, 'send'>,
  role: Role,
  wanted: Wanted = {},
): Promise<PersonClient> {
  return join(vault, await invite(account, role, wanted));
}

/** Accepts an invitation at a server; gives `ok`, or the code of the error. */
export async function accept({ parts }: TestVault, invited: Invited): Promise<string> {
  const token = tokenOf(invited);
  try {
    await parts.persons.addPasskey(signInContext(), await parts.persons.invited(token), newPasskey(), token);
    return 'ok';
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  }
}

/** The status of a request of a person to each server: whether it is signed in there. */
export async function statusesAt(vaults: readonly TestVault[], client: PersonClient): Promise<string> {
  const answers = await Promise.all(vaults.map(({ handle }) => client.via(handle).send('GET', '/whoami')));
  return answers.map(({ status }) => status).join();
}
