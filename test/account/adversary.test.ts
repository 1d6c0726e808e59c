/** Attacks on people, roles, sessions and sign-ins that no other table has, each with its outcome. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import type { CreateCredential } from '../../server/account/credential/schema.ts';
import type { KnownPerson } from '../../server/account/person/records.ts';
import { createApp } from '../../server/boot/app.ts';
import { ROUTES } from '../../server/boot/routes.ts';
import { SCOPES_OF_ROLE } from '../../server/core/roles.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, type Answer, answerOf, type Handle, PASSPHRASE } from '../helpers/clients.ts';
import { clientOf, type MadeCredential } from '../helpers/credentials.ts';
import {
  invite,
  newPasskey,
  openedSession,
  type PersonClient,
  person,
  personClient,
  signInAgain,
  signInContext,
  tokenOf,
} from '../helpers/people.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { SoftwareAuthenticator } from './passkey/authenticator.ts';
import { newMember, ORIGIN, openBrowser, signIn, signInOptions } from './passkey/stage.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let vault: TestVault;
/** The same vault with a console under HTTPS. */
let secure: TestVault;
let account: AccountClient;
let ada: PersonClient;
let now = Date.parse('2026-03-01T12:00:00Z');

beforeAll(async () => {
  const settings = { now: () => now, alone: true };
  vault = await openTestVault(settings);
  secure = await vault.secondServer({
    ...settings,
    people: { consoleUrl: 'https://console.example', flaw: undefined, hasPasswords: true },
  });
  account = await vault.account();
  await account.key('u');
  await account.key('another-key');
});
afterAll(async () => {
  await secure.close();
  await vault.close();
});
beforeEach(async () => {
  ada = await person(vault, account, 'admin');
});

type Attack = () => Promise<string>;
type Row = readonly [attack: string, outcome: string, run: Attack];

function tokenIn({ cookie }: Pick<PersonClient, 'cookie'>): string {
  return cookie.split('=')[1] ?? '';
}

async function ask(
  handle: Handle,
  headers: Readonly<Record<string, string>>,
  method = 'GET',
  path = '/v1/whoami',
): Promise<string> {
  const init: RequestInit = { method, headers };
  if (method === 'POST') {
    init.body = JSON.stringify({ key: 'theme', value: 'dark' });
  }
  return (await answerOf(await handle(new Request(`${ORIGIN}${path}`, init)))).outcome;
}

/** The outcome of a request of the console with this `Cookie` header. */
function withCookie(cookie: string): Promise<string> {
  return ask(vault.handle, { cookie, 'sec-fetch-site': 'same-origin' });
}

async function underHttps(cookieOf: (pair: string) => string): Promise<string> {
  const found = await secure.parts.persons.byPasskey(ada.passkey.id);
  if (found === undefined) {
    return 'lost';
  }
  const pair = await openedSession(secure, found.person);
  return ask(secure.handle, { cookie: cookieOf(pair), 'sec-fetch-site': 'same-origin' });
}

// Headers are bytes: a browser sends these as one, and takes such a name for one without the prefix.
const [NBSP, NEXT_LINE] = ['\u00a0', '\u0085'];

const COOKIES: readonly Row[] = [
  ['the right one', '200', () => underHttps((pair) => pair)],
  [
    'one of a sibling host, whose name begins with a space that browsers take for a letter',
    '401 unauthenticated',
    () => underHttps((pair) => `a=b; ${NBSP}${pair}`),
  ],
  [
    'the same beside the right one, which it must not push out',
    '200',
    () => underHttps((pair) => `${pair}; ${NBSP}__Host-vault_session=${'A'.repeat(43)}`),
  ],
  [
    'another control character before its name',
    '401 unauthenticated',
    () => underHttps((pair) => NEXT_LINE + pair),
  ],
  [
    'its name in other letters',
    '401 unauthenticated',
    () => underHttps((pair) => pair.replace('Host', 'host')),
  ],
  ['its name as a value', '401 unauthenticated', () => underHttps((pair) => `=${pair}`)],
  ['its name after that of another', '401 unauthenticated', () => underHttps((pair) => `a=b, ${pair}`)],
  ['the same one twice', '200', () => withCookie(`${ada.cookie}; ${ada.cookie}`)],
  ['two in one', '401 unauthenticated', () => withCookie(`${ada.cookie}, ${ada.cookie}`)],
  ['quotes', '401 unauthenticated', () => withCookie(`vault_session="${tokenIn(ada)}"`)],
  ['a percent-encoded token', '401 unauthenticated', () => withCookie(ada.cookie.replace(/.$/, '%41'))],
  ['a longer token', '401 unauthenticated', () => withCookie(`${ada.cookie}=`)],
  ['a space after the name', '401 unauthenticated', () => withCookie(ada.cookie.replace('=', ' ='))],
  ['60 KB of others before it', '200', () => withCookie(`${'a=b; '.repeat(12_000)}${ada.cookie}`)],
  ['60 KB of spaces before it', '200', () => withCookie(`a=b;${' '.repeat(60_000)}${ada.cookie}`)],
  [
    'the digest in place of the token',
    '401 unauthenticated',
    async () => {
      const { digest } = vault.parts.sessions.callerOf(tokenIn(ada), false);
      return withCookie(`vault_session=${digest.padEnd(43, 'A').slice(0, 43)}`);
    },
  ],
];

const JSON_BODY = { 'content-type': 'application/json' };
const CHANGE = [{ ...JSON_BODY }, 'POST', '/v1/preferences'] as const;

/** The outcome of a change with these headers beside the cookie. */
function change(headers: Readonly<Record<string, string>>): Promise<string> {
  const [type, ...request] = CHANGE;
  return ask(vault.handle, { cookie: ada.cookie, ...type, ...headers }, ...request);
}

function get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  return ask(vault.handle, { cookie: ada.cookie, ...headers }, 'GET', path);
}

const OTHER_SITES: readonly Row[] = [
  [
    'a change with two sites',
    '403 cross_site',
    () => change({ 'sec-fetch-site': 'same-origin, cross-site' }),
  ],
  ['a change with the site in capitals', '403 cross_site', () => change({ 'sec-fetch-site': 'Same-Origin' })],
  ['a change with an Origin and a slash', '403 cross_site', () => change({ origin: `${ORIGIN}/` })],
  ['a change with an Origin in capitals', '403 cross_site', () => change({ origin: 'HTTP://LOCALHOST' })],
  [
    'a change with two Origins',
    '403 cross_site',
    () => change({ origin: `${ORIGIN}, https://evil.example` }),
  ],
  [
    'a change with a Referer of the console',
    '403 cross_site',
    () => change({ referer: `${ORIGIN}/console` }),
  ],
  [
    'a change that says it is of a script',
    '403 cross_site',
    () =>
      change({ 'x-requested-with': 'XMLHttpRequest', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }),
  ],
  ...(['x-http-method-override', 'x-http-method', 'x-method-override'] as const).map(
    (name): Row => [
      `a reading with ${name}: DELETE, which stays a reading`,
      '200 200',
      async () => `${await get('/v1/person/self', { [name]: 'DELETE' })} ${await get('/v1/whoami')}`,
    ],
  ),
  [
    'a sign-out that is a reading',
    '405 method_not_allowed 200',
    async () => `${await get('/v1/person/self/session?_method=DELETE')} ${await get('/v1/whoami')}`,
  ],
  ...(['/v1/relay/none', '/v1/relay/none/', '/v1/relay/%6eone/x'] as const).map(
    (path): Row => [`a GET of ${path}, which sends`, '403 cross_site', () => get(path)],
  ),
  [
    'a GET of the relay by another name',
    '404 not_found, 404 not_found, 404 not_found, 404 not_found',
    async () =>
      [
        await get('/v1/Relay/none/x'),
        await get('/v1/rel%61y/none/x'),
        await get('//v1/relay/none/x'),
        await get('/v1/relay//none/x'),
      ].join(', '),
  ],
  [
    'the public listener beside one for the console',
    '404 not_found',
    () => {
      const app = createApp(vault.parts, 'public');
      return ask(async (request) => app.handle(request), {
        cookie: ada.cookie,
        'sec-fetch-site': 'same-origin',
      });
    },
  ],
  [
    'a planted token that the sign-in of somebody would take over',
    '200, another: true, 401 unauthenticated',
    async () => {
      const { key } = await newMember(vault.handle, account);
      const planted = `vault_session=${'A'.repeat(43)}`;
      const browser = openBrowser(vault.handle);
      const response = key.get(await signInOptions(browser));
      const headers = { cookie: planted };
      const { outcome } = await browser.send('POST', '/person/signin', { body: { response }, headers });
      return `${outcome}, another: ${browser.cookie() !== planted}, ${await withCookie(planted)}`;
    },
  ],
];

async function make(by: PersonClient | AccountClient, body: object): Promise<string> {
  return (await by.send('POST', '/credential', { body: { name: 'c', ...body } })).outcome;
}

function whoami(by: PersonClient | AccountClient): Promise<string> {
  return by.send('GET', '/whoami').then(({ outcome }) => outcome);
}

/** When the session was used last, as Redis has it. */
async function usedAt(client: PersonClient): Promise<string | null> {
  const { digest } = vault.parts.sessions.callerOf(tokenIn(client), false);
  return vault.raw.hget(redisKeys.session(digest), 'u');
}

function setRole(id: string, role: string): Promise<Answer> {
  return account.send('PUT', `/person/${id}`, { body: { name: 'Ada', role } });
}

const TIMES: readonly Row[] = [
  [
    'a credential five minutes after the sign-in, and a millisecond later',
    '200, 403 sign_in_again',
    async () => {
      now += 5 * MINUTE_MS;
      const first = await make(ada, { scopes: ['job:read'] });
      now += 1;
      return `${first}, ${await make(ada, { scopes: ['job:read'] })}`;
    },
  ],
  [
    'the secret of a credential that is there, by a session that somebody has found',
    '403 sign_in_again, 200',
    async () => {
      const { id } = (
        await account.send('POST', '/credential', { body: { name: 'c', scopes: ['job:read'] } })
      ).as<MadeCredential>();
      now += 5 * MINUTE_MS + 1;
      const late = await ada.send('POST', `/credential/${id}/roll`, { body: {} });
      const again = await signInAgain(vault, ada);
      return `${late.outcome}, ${(await again.send('POST', `/credential/${id}/roll`, { body: {} })).outcome}`;
    },
  ],
  [
    'a clock that goes back gives no more than eight hours by the clock',
    '200, 200, 401 unauthenticated',
    async () => {
      const start = now;
      now -= HOUR_MS;
      const outcomes = [await whoami(ada)];
      for (now = start; now < start + 8 * HOUR_MS - 10 * MINUTE_MS; now += 10 * MINUTE_MS) {
        await whoami(ada);
        await Bun.sleep(2);
      }
      outcomes.push(await whoami(ada));
      now = start + 8 * HOUR_MS;
      return [...outcomes, await whoami(ada)].join(', ');
    },
  ],
  [
    'a poll that changes something does not keep the session alive',
    '200, 401 unauthenticated',
    async () => {
      now += 14 * MINUTE_MS;
      const headers = { 'x-vault-poll': '1' };
      const body = { key: 'theme', value: 'dark' };
      const { outcome } = await ada.send('POST', '/preferences', { headers, body });
      await Bun.sleep(20);
      now += MINUTE_MS;
      return `${outcome}, ${await whoami(ada)}`;
    },
  ],
  [
    'a session that has ended is not kept in Redis by those who still use it',
    '401 unauthenticated, later: false',
    async () => {
      const before = await usedAt(ada);
      await setRole(ada.id, 'auditor');
      now += MINUTE_MS;
      const outcome = await whoami(ada);
      await Bun.sleep(20);
      return `${outcome}, later: ${(await usedAt(ada)) !== before}`;
    },
  ],
  [
    'a suspended account has its sessions back when it goes on',
    '403 account_suspended, 200',
    async () => {
      await vault.opened.services.accounts.set(account.name, { suspended: true });
      const during = await whoami(ada);
      await vault.opened.services.accounts.set(account.name, { suspended: false });
      return `${during}, ${await whoami(ada)}`;
    },
  ],
];

/** The outcomes of every request that is no reading, with a body that says nothing. */
async function changesOf(client: PersonClient): Promise<readonly string[]> {
  const mine = ROUTES.filter(
    ({ auth, method, operationId }) => auth === 'basic' && method !== 'GET' && operationId !== 'signOut',
  );
  const done: string[] = [];
  for (const { method, path, operationId } of mine) {
    const { outcome } = await client.send(method, path.slice(3).replaceAll(/\{\w+\}/g, 'none'), { body: {} });
    if (outcome !== '403 not_allowed') {
      done.push(operationId);
    }
  }
  return done.toSorted();
}

const RIGHTS: readonly Row[] = [
  [
    'an auditor changes nothing but what is its own',
    // A rule is tested on what the caller sends.
    'addPasskey, beginPasskey, beginPassphrase, forgetPassphrase, keepPassphrase, testRule',
    async () => (await changesOf(await person(vault, account, 'auditor'))).join(', '),
  ],
  [
    'a developer makes no credential and no person',
    '403 not_allowed, 403 not_allowed',
    async () => {
      const dev = await person(vault, account, 'developer', { unmasked: true });
      const made = await dev.send('POST', '/person', { body: { name: 'Eve', role: 'auditor' } });
      return `${await make(dev, { scopes: ['job:read'] })}, ${made.outcome}`;
    },
  ],
  [
    'an admin’s credential makes an owner, and its maker one',
    '403 not_allowed, 403 not_allowed',
    async () => {
      const body = { name: 'c', scopes: SCOPES_OF_ROLE.admin };
      const made = await ada.send('POST', '/credential', { body });
      const client = clientOf(vault.handle, account, made.as<MadeCredential>());
      const owner = { name: 'Eve', role: 'owner' };
      const outcomes = [
        await client.send('POST', '/person', { body: owner }),
        await client.send('PUT', `/person/${ada.id}`, { body: owner }),
      ];
      return outcomes.map(({ outcome }) => outcome).join(', ');
    },
  ],
  [
    'a credential of an owner touches its own maker',
    '403 not_allowed, 403 not_allowed',
    async () => {
      const owner = await person(vault, account, 'owner', { unmasked: true });
      const body = { name: 'c', scopes: SCOPES_OF_ROLE.owner, unmasked: true };
      const made = await owner.send('POST', '/credential', { body });
      const client = clientOf(vault.handle, account, made.as<MadeCredential>());
      const invited = await client.send('POST', `/person/${owner.id}/invite`);
      return `${invited.outcome}, ${(await client.send('DELETE', `/person/${owner.id}`)).outcome}`;
    },
  ],
  [
    'a masked admin rolls an unmasked credential, and one with more scopes',
    '403 not_allowed, 403 not_allowed, 403 not_allowed',
    async () => {
      const outcomes = [await make(ada, { scopes: ['vault:read'], unmasked: true })];
      for (const body of [
        { name: 'c', scopes: ['vault:read'], unmasked: true },
        { name: 'c', scopes: ['vault:export'] },
      ]) {
        const { id } = (await account.send('POST', '/credential', { body })).as<MadeCredential>();
        outcomes.push((await ada.send('POST', `/credential/${id}/roll`, { body: {} })).outcome);
      }
      return outcomes.join(', ');
    },
  ],
  [
    'a masked admin of a masked account invites somebody who sees more when the account does',
    '403 not_allowed, 403 not_allowed, 200',
    async () => {
      const own = await vault.account();
      const target = await person(vault, own, 'admin', { unmasked: true });
      const masked = await person(vault, own, 'admin');
      const peer = await person(vault, own, 'admin', { unmasked: true });
      await vault.opened.services.accounts.set(own.name, { unmasked: false });
      const path = `/person/${target.id}`;
      const answers = [
        await masked.send('POST', `${path}/invite`),
        await masked.send('DELETE', path),
        await peer.send('POST', `${path}/invite`),
      ];
      return answers.map(({ outcome }) => outcome).join(', ');
    },
  ],
  [
    'an owner changes the password of the account',
    '403 not_allowed',
    async () => {
      const owner = await person(vault, account, 'owner');
      const body = { old_password: account.password, new_password: 'another password' };
      return (await owner.send('POST', '/change-password', { body })).outcome;
    },
  ],
  [
    'a credential is rolled after its person has lost rights',
    '404 credential_not_found, 401 unauthenticated',
    async () => {
      const body = { name: 'c', scopes: ['vault:read', 'credential:write'] };
      const made = (await ada.send('POST', '/credential', { body })).as<MadeCredential>();
      const client = clientOf(vault.handle, account, made);
      await setRole(ada.id, 'developer');
      const rolled = await account.send('POST', `/credential/${made.id}/roll`, { body: {} });
      const own = await client.send('POST', `/credential/${made.id}/roll`, { body: {} });
      return `${rolled.outcome}, ${own.outcome}`;
    },
  ],
  [
    'another account reads, changes, invites and deletes a person by its id',
    '404 person_not_found',
    async () => {
      const stranger = await vault.account();
      const path = `/person/${ada.id}`;
      const answers = [
        await stranger.send('GET', path),
        await stranger.send('PUT', path, { body: { name: 'Eve', role: 'auditor' } }),
        await stranger.send('POST', `${path}/invite`),
        await stranger.send('DELETE', `${path}/passkey/${ada.passkey.id}`),
        await stranger.send('DELETE', path),
      ];
      return [...new Set(answers.map(({ outcome }) => outcome))].join(', ');
    },
  ],
  ...(
    [
      ['an id with a slash', 'pers_%2e%2e%2f'],
      ['the word self', 'self'],
      ['the id of a prototype', '__proto__'],
      ['an id of a card number', '4111111111111111'],
    ] as const
  ).map(
    ([what, id]): Row => [
      `${what} in place of a person’s`,
      '404 person_not_found',
      async () => (await account.send('POST', `/person/${id}/invite`)).outcome,
    ],
  ),
  [
    'a person for one key learns nothing of others',
    '',
    async () => {
      const user = 'another-key';
      const token = await account.store(user, { card_number: '4111111111111111', expiry: '12/31' });
      await account.open(user, token);
      await account.send('POST', '/capture', { query: { user }, passphrase: PASSPHRASE });
      await account.send('POST', '/retrieve', { query: { user }, passphrase: PASSPHRASE });
      const limited = { name: 'c', scopes: ['vault:list'], keys: [user], expires_in: '1d' };
      const { id } = (await account.send('POST', '/credential', { body: limited })).as<MadeCredential>();
      const other = await invite(account, 'support', { keys: [user] });
      const eve = await person(vault, account, 'owner', { keys: ['u'], unmasked: true });
      const lists = ROUTES.filter(
        ({ auth, method, path }) => auth === 'basic' && method === 'GET' && !/[{]|relay/.test(path),
      ).map(({ path }) => path.slice(3));
      const told: string[] = [];
      for (const path of [...lists, `/person/${other.id}`, `/credential/${id}`]) {
        const { text } = await eve.send('GET', path);
        if (text.includes(user) || text.includes(token)) {
          told.push(path);
        }
      }
      return told.join(', ');
    },
  ],
  [
    'a list of more keys than there may be',
    '400 invalid_request, 200',
    async () => {
      const keys = Array.from({ length: 101 }, (_, at) => `key-${at}`);
      const body = { name: 'Eve', role: 'support', keys };
      const refused = await account.send('POST', '/person', { body });
      const taken = await account.send('POST', '/person', { body: { ...body, keys: keys.slice(1) } });
      return `${refused.outcome}, ${taken.outcome}`;
    },
  ],
  [
    'more people than there may be, and one more of a provider',
    '409 persons_full, persons_full',
    async () => {
      const full = await vault.account();
      const records = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`pers_${at}`, 'x']));
      await vault.raw.hset(redisKeys.persons(full.aid), records);
      const { outcome } = await full.send('POST', '/person', { body: { name: 'Eve', role: 'auditor' } });
      const more = await vault.parts.persons.fromOidc(signInContext(), ofProvider(full)).catch(codeOf);
      await vault.raw.del(redisKeys.persons(full.aid));
      return `${outcome}, ${more}`;
    },
  ],
];

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

function ofProvider({ name: of }: AccountClient, sub = 'somebody') {
  return { account: of, role: 'admin', iss: 'https://login.example', sub, name: 'Ada' } as const;
}

const CREDENTIAL: CreateCredential = { name: 'made too late', scopes: ['vault:list'] };

/** What a request of a client may still do that was signed in before something else happened. */
async function heldBy(client: PersonClient) {
  const { sessions } = vault.parts;
  const held = await sessions.signIn(signInContext(), sessions.callerOf(tokenIn(client), false));
  return async (): Promise<string> => {
    const { credentials } = vault.opened.services;
    const made = await credentials.create(held, CREDENTIAL).catch(codeOf);
    if (typeof made === 'string') {
      return made;
    }
    const { id, secret } = { id: made.credential.id, secret: made.secret.expose() };
    const client = clientOf(vault.handle, account, { ...made.credential, id, secret });
    return `made ${await whoami(client)}`;
  };
}

const RACES: readonly Row[] = [
  [
    'a credential that is made while its person loses the right, and gets it back',
    'unauthenticated, 0',
    async () => {
      const finish = await heldBy(ada);
      await account.send('PUT', `/person/${ada.id}`, { body: { name: 'Ada', role: 'admin', keys: ['u'] } });
      const outcome = await finish();
      await setRole(ada.id, 'admin');
      return `${outcome}, ${await madeLate()}`;
    },
  ],
  [
    'a credential that is made while its person is deleted, and comes back from its provider',
    'unauthenticated, 0',
    async () => {
      const { persons } = vault.parts;
      const known = await persons.fromOidc(signInContext(), ofProvider(account));
      const cookie = await openedSession(vault, known);
      const { id } = known.name;
      const finish = await heldBy(personClient(vault.handle, { id, cookie, passkey: newPasskey() }));
      await account.send('DELETE', `/person/${id}`);
      const outcome = await finish();
      await persons.fromOidc(signInContext(), ofProvider(account));
      return `${outcome}, ${await madeLate()}`;
    },
  ],
  [
    'a sign-in that a deletion overtakes',
    '401 unauthenticated',
    async () => {
      const found = await vault.parts.persons.byPasskey(ada.passkey.id);
      await account.send('DELETE', `/person/${ada.id}`);
      return found === undefined ? 'lost' : opened(found.person);
    },
  ],
  [
    'a sign-in that a deletion and a return overtake',
    '401 unauthenticated',
    async () => {
      const { persons } = vault.parts;
      const known = await persons.fromOidc(signInContext(), ofProvider(account, 'who returns'));
      await account.send('DELETE', `/person/${known.name.id}`);
      await persons.fromOidc(signInContext(), ofProvider(account, 'who returns'));
      return opened(known);
    },
  ],
  [
    'a sign-in that the removal of its passkey overtakes',
    '401 unauthenticated',
    async () => {
      const found = await vault.parts.persons.byPasskey(ada.passkey.id);
      await account.send('DELETE', `/person/${ada.id}/passkey/${ada.passkey.id}`);
      return found === undefined ? 'lost' : opened(found.person);
    },
  ],
  [
    'a passkey that is registered while its person is deleted',
    'invitation_gone, unknown: true',
    async () => {
      const { persons } = vault.parts;
      const invited = await invite(account, 'support');
      const known = await persons.invited(tokenOf(invited));
      await account.send('DELETE', `/person/${invited.id}`);
      const passkey = newPasskey();
      const outcome = await persons
        .addPasskey(signInContext(), known, passkey, tokenOf(invited))
        .then(() => 'added', codeOf);
      return `${outcome}, unknown: ${(await persons.byPasskey(passkey.id)) === undefined}`;
    },
  ],
  [
    'two admins who lower each other at one instant both lose their session',
    '401 unauthenticated, 401 unauthenticated',
    async () => {
      const eve = await person(vault, account, 'admin');
      const body = { name: 'Ada', role: 'auditor' };
      const answers = await Promise.all([
        ada.send('PUT', `/person/${eve.id}`, { body }),
        eve.send('PUT', `/person/${ada.id}`, { body }),
      ]);
      // One that arrives later than the other has taken effect is refused, and its target stays.
      const [lowersEve, lowersAda] = answers.map(({ outcome }) => outcome === '200');
      const outcomes = [await whoami(ada), await whoami(eve)];
      return lowersEve && lowersAda ? outcomes.join(', ') : `one was late: ${outcomes}`;
    },
  ],
  [
    'two admins who delete each other at one instant',
    '404 person_not_found, 404 person_not_found',
    async () => {
      const eve = await person(vault, account, 'admin');
      await Promise.all([ada.send('DELETE', `/person/${eve.id}`), eve.send('DELETE', `/person/${ada.id}`)]);
      const found = [
        await account.send('GET', `/person/${ada.id}`),
        await account.send('GET', `/person/${eve.id}`),
      ];
      return found.map(({ outcome }) => outcome).join(', ');
    },
  ],
];

/** The number of credentials that were made too late, and are there. */
async function madeLate(): Promise<number> {
  const listed = (await account.send('GET', '/credential')).as<readonly { readonly name: string }[]>();
  return listed.filter(({ name }) => name === CREDENTIAL.name).length;
}

async function opened(known: KnownPerson): Promise<string> {
  return withCookie(await openedSession(vault, known));
}

const sessionOf = (client: PersonClient): string =>
  redisKeys.session(vault.parts.sessions.callerOf(tokenIn(client), false).digest);

const THIEVES: readonly Row[] = [
  [
    'the session of somebody under the token of a thief',
    '500 integrity_failed',
    async () => {
      const owner = await person(vault, account, 'owner');
      await vault.raw.hset(sessionOf(ada), await vault.raw.hgetallBuffer(sessionOf(owner)));
      return whoami(ada);
    },
  ],
  [
    'a use in the future, which gives no more than eight hours',
    '200, 401 unauthenticated',
    async () => {
      const start = now;
      await vault.raw.hset(sessionOf(ada), 'u', String(start + 100 * HOUR_MS));
      now += 8 * HOUR_MS - 1;
      const before = await whoami(ada);
      now += 1;
      return `${before}, ${await whoami(ada)}`;
    },
  ],
  [
    'a use that is no time',
    '401 unauthenticated',
    async () => {
      await vault.raw.hset(sessionOf(ada), 'u', 'NaN');
      return whoami(ada);
    },
  ],
  [
    'the digest of a passkey that leads to another person',
    '401 unauthenticated',
    async () => {
      const [thief, owner] = [
        await newMember(vault.handle, account, { role: 'support' }),
        await newMember(vault.handle, account),
      ];
      const pointers = await vault.raw.hgetall(redisKeys.personPointers);
      const [digest = ''] = Object.entries(pointers).find(([, to]) => to.includes(thief.id)) ?? [];
      await vault.raw.hset(
        redisKeys.personPointers,
        digest,
        pointers[digest]?.replace(thief.id, owner.id) ?? '',
      );
      return (await signIn(openBrowser(vault.handle), thief.key)).outcome;
    },
  ],
  [
    'the digest of an invitation that leads to another person',
    'invitation_gone',
    async () => {
      const [thief, owner] = [await invite(account, 'support'), await invite(account, 'owner')];
      const pointers = await vault.raw.hgetall(redisKeys.personPointers);
      const [digest = ''] = Object.entries(pointers).find(([, to]) => to.includes(thief.id)) ?? [];
      await vault.raw.hset(
        redisKeys.personPointers,
        digest,
        pointers[digest]?.replace(thief.id, owner.id) ?? '',
      );
      return vault.parts.persons.invited(tokenOf(thief)).then(() => 'invited', codeOf);
    },
  ],
  [
    'the kept passphrases of somebody in the place of one’s own',
    '500 integrity_failed',
    async () => {
      const eve = await person(vault, account, 'support');
      for (const client of [ada, eve]) {
        const wrap = Buffer.alloc(60, 7).toString('base64url');
        const body = { key: 'u', passkey_id: client.passkey.id, wrap };
        const { outcome } = await client.send('PUT', '/person/self/passphrase', { body });
        if (outcome !== '200') {
          return outcome;
        }
      }
      const wraps = redisKeys.passphraseWraps(account.aid);
      const record = (await vault.raw.hgetBuffer(wraps, ada.id)) ?? Buffer.alloc(0);
      await vault.raw.hset(wraps, eve.id, record);
      const { outcome } = await eve.send('GET', '/person/self/passphrase');
      await vault.raw.hdel(wraps, eve.id);
      return outcome;
    },
  ],
  [
    'a passkey in an answer that names another, whose owner it should be',
    '401 unauthenticated',
    async () => {
      const owner = await newMember(vault.handle, account);
      const thief = new SoftwareAuthenticator(ORIGIN);
      const userHandle = Buffer.from(owner.id).toString('base64url');
      return (await signIn(openBrowser(vault.handle), thief, { id: owner.key.id, userHandle })).outcome;
    },
  ],
];

const NUMBERS = [
  '4111111111111111',
  'Ada 4111 1111 1111 1111',
  '4111-1111-1111-1111',
  '４１１１１１１１１１１１１１１１',
];

const NAMES: readonly Row[] = [
  ...NUMBERS.map(
    (name): Row => [
      `a person ${name}`,
      '400 invalid_request body.name, 400 invalid_request body.name',
      async () => {
        const answers = [
          await account.send('POST', '/person', { body: { name, role: 'support' } }),
          await account.send('PUT', `/person/${ada.id}`, { body: { name, role: 'admin' } }),
        ];
        return answers.map(({ outcome, field }) => `${outcome} ${field}`).join(', ');
      },
    ],
  ),
  [
    'a passkey with the name of a card',
    '400 invalid_request',
    async () => {
      const { browser } = await newMember(vault.handle, account);
      const options = await browser.send('POST', '/person/self/passkey/options', { body: {} });
      const key = new SoftwareAuthenticator(ORIGIN);
      const response = key.create(options.as<{ options: Parameters<typeof key.create>[0] }>().options);
      const body = { name: NUMBERS[0], response };
      return (await browser.send('POST', '/person/self/passkey', { body })).outcome;
    },
  ],
  [
    'a credential with the name of a card',
    '400 invalid_request',
    () => make(ada, { name: NUMBERS[0], scopes: ['job:read'] }),
  ],
  [
    'a name that a terminal obeys',
    '400 invalid_request, 400 invalid_request',
    async () => {
      const names = ['Ada\u009b2J', 'Ada\u001b[2J'];
      const answers = names.map((name) =>
        account.send('POST', '/person', { body: { name, role: 'support' } }),
      );
      return (await Promise.all(answers)).map(({ outcome }) => outcome).join(', ');
    },
  ],
  [
    'a name of HTML, which is text in a reply that no browser takes for a page',
    'application/json, nosniff, <img src=x onerror=alert(1)>',
    async () => {
      const name = '<img src=x onerror=alert(1)>';
      const { id } = await invite(account, 'support', { name });
      const answer = await account.send('GET', `/person/${id}`);
      const headers = ['content-type', 'x-content-type-options'].map((each) => answer.headers.get(each));
      return [...headers, answer.as<{ name: string }>().name].join(', ');
    },
  ],
];

const CONSOLE_FILES = new URL('../../console/', import.meta.url);

const CONSOLE: readonly Row[] = [
  [
    'what the console leaves in the storage of a browser, or writes as HTML',
    '',
    async () => {
      const sources = readdirSync(CONSOLE_FILES, { recursive: true, encoding: 'utf8' });
      const bad =
        /localStorage|sessionStorage|indexedDB|document\.cookie|innerHTML|dangerouslySet|caches\.open/;
      return sources
        .filter(
          (name) => /\.tsx?$/.test(name) && bad.test(readFileSync(new URL(name, CONSOLE_FILES), 'utf8')),
        )
        .join(', ');
    },
  ],
  [
    'replies of people, sessions and sign-ins in a cache',
    'no-store',
    async () => {
      const answers = [
        await ada.send('GET', '/person/self'),
        await ada.send('POST', `/person/${ada.id}/invite`),
        await openBrowser(vault.handle).send('POST', '/person/signin/options', { body: {} }),
      ];
      return [...new Set(answers.map(({ headers }) => headers.get('cache-control')))].join(', ');
    },
  ],
];

describe.each([
  ['cookies', COOKIES],
  ['other sites', OTHER_SITES],
  ['times', TIMES],
  ['rights', RIGHTS],
  ['at one instant', RACES],
  ['a writer to Redis', THIEVES],
  ['names', NAMES],
  ['the console', CONSOLE],
] as const)('%s', (_group, rows) => {
  test.each(rows)('%s: %s', async (_attack, outcome, run) => {
    expect(await run()).toBe(outcome);
  });
});

test('nothing of all this is in the log of the server, nor in clear in Redis', async () => {
  const again = await signInAgain(vault, ada);
  const invited = await invite(account, 'support');
  const secrets = [tokenIn(ada), tokenIn(again), tokenOf(invited).expose(), ...NUMBERS];
  const told = JSON.stringify([vault.lines, vault.events, (await account.send('GET', '/audit')).text]);
  const pointers = JSON.stringify(await vault.raw.hgetall(redisKeys.personPointers));
  const names = (await vault.raw.keys('*')).join();
  expect(secrets.filter((secret) => [told, pointers, names].some((text) => text.includes(secret)))).toEqual(
    [],
  );
});
