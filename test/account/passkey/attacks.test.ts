/** Attacks on the ceremonies of passkeys. Each is one row: what is done, and what it ends in. None opens a session. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import type { AccountClient, Answer } from '../../helpers/clients.ts';
import { operatorClient } from '../../helpers/credentials.ts';
import { holdNext } from '../../helpers/hold.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';
import { type CreationOptions, SoftwareAuthenticator, type Wrong } from './authenticator.ts';
import {
  accept,
  addPasskey,
  type Browser,
  invitationOptions,
  type Member,
  newInvitation,
  newMember,
  ORIGIN,
  openBrowser,
  signIn,
  signInOptions,
  succeeded,
} from './stage.ts';

const UNKNOWN = '401 unauthenticated';
const REFUSED = '400 passkey_refused';
const CROSS_SITE = '403 cross_site';
const HOUR_MS = 3_600_000;

let vault: TestVault;
let second: TestVault;
/** Another vault, with the same host. */
let foreign: TestVault;
let operator: AccountClient;
let now = Date.parse('2026-03-01T12:00:00Z');

beforeAll(async () => {
  const settings = { now: () => now, alone: true };
  vault = await openTestVault(settings);
  second = await vault.secondServer(settings);
  foreign = await openTestVault(settings);
  operator = await operatorClient(vault);
});
afterAll(async () => {
  await second.close();
  await foreign.close();
  await vault.close();
});

interface Entry {
  readonly action: string;
  readonly outcome: string;
  readonly actor: string;
  readonly object: string;
}

/** Entries of an account's security log about people that are no successes. */
async function rejections(account: AccountClient): Promise<readonly Entry[]> {
  await vault.opened.services.audit.flush();
  const entries = (await account.send('GET', '/audit', { query: { limit: 200 } })).as<readonly Entry[]>();
  return entries.filter(({ action, outcome }) => action.startsWith('person.') && outcome !== 'success');
}

/** What is wrong with the answer of an authenticator, for every ceremony. */
const WRONG_ANSWERS: readonly (readonly [name: string, wrong: Wrong])[] = [
  ['another scheme', { origin: 'https://localhost' }],
  ['another port', { origin: 'http://localhost:8080' }],
  ['a host below', { origin: 'http://a.localhost' }],
  ['a host that begins like it', { origin: 'http://localhost.evil.example' }],
  ['the origin with a slash', { origin: `${ORIGIN}/` }],
  ['the origin in capitals', { origin: 'HTTP://LOCALHOST' }],
  ['no origin', { origin: 'null' }],
  ['a frame in a page of another origin', { crossOrigin: true }],
  ['another relying party', { rpId: 'evil.example' }],
  ['a user who was not verified', { uv: false }],
  ['a user who was not present', { up: false }],
  ['neither of them', { up: false, uv: false }],
  ['another ceremony', { type: 'payment.get' }],
  ['a challenge of its own', { challenge: randomBytes(32).toString('base64url') }],
  ['an empty challenge', { challenge: '' }],
  ['bytes behind the data', { tail: Buffer.from([0]) }],
  ['client data that is no JSON', { clientData: () => '{' }],
  ['client data with two challenges', { clientData: (text) => text.replace('{', '{"challenge":"AA",') }],
  ['an id of another credential', { id: randomBytes(32).toString('base64url') }],
];

describe('a sign-in', () => {
  let account: AccountClient;
  let member: Member;
  let someone: Member;
  beforeAll(async () => {
    account = await vault.account();
    member = await newMember(vault.handle, account, { counter: 10 });
    someone = await newMember(vault.handle, await vault.account());
  });

  const WRONG_SIGNATURES: readonly (readonly [name: string, wrong: () => Wrong])[] = [
    ...WRONG_ANSWERS.map(([name, wrong]) => [name, () => wrong] as const),
    ['the type of a registration', () => ({ type: 'webauthn.create' })],
    [
      'a signature with one other bit',
      () => ({ sign: (bytes) => Buffer.from(bytes.with(-1, (bytes.at(-1) ?? 0) ^ 1)) }),
    ],
    ['another signature', () => ({ sign: () => randomBytes(70) })],
    ['client data that were changed later', () => ({ clientData: (text) => text.replace('}', ' }') })],
    ['the id of another person’s passkey', () => ({ id: someone.key.id })],
    ['the handle of another person', () => ({ userHandle: someone.key.userHandle })],
    ['no handle', () => ({ userHandle: null })],
    ['a counter that stays', () => ({ counter: 10 })],
    ['a counter that falls', () => ({ counter: 9 })],
    ['a counter that began anew', () => ({ counter: 0 })],
  ];
  test.each(WRONG_SIGNATURES)('with %s ends in 401', async (_name, wrong) => {
    const browser = openBrowser(vault.handle);
    const answer = await signIn(browser, member.key, { counter: 11, ...wrong() });
    expect(answer.outcome).toBe(UNKNOWN);
    expect(browser.setCookie()).toBe('');
  });

  /** Each gets its own person. */
  type Attempt = (of: {
    readonly account: AccountClient;
    readonly member: Member;
    readonly browser: Browser;
  }) => Promise<Answer | undefined>;
  const sent = (browser: Browser, response: unknown) =>
    browser.send('POST', '/person/signin', { body: { response } });
  const ATTEMPTS: readonly (readonly [name: string, outcome: string, attempt: Attempt])[] = [
    [
      'repeated',
      UNKNOWN,
      async ({ member: { key }, browser }) => {
        const response = key.get(await signInOptions(browser));
        succeeded(await sent(openBrowser(vault.handle), response));
        return sent(browser, response);
      },
    ],
    [
      'repeated at another server',
      UNKNOWN,
      async ({ member: { key }, browser }) => {
        const response = key.get(await signInOptions(browser));
        succeeded(await sent(openBrowser(second.handle), response));
        return sent(browser, response);
      },
    ],
    [
      'with the challenge of an invitation',
      UNKNOWN,
      async ({ account: of, member: { key }, browser }) => {
        const { token } = await newInvitation(of);
        const { challenge } = await invitationOptions(browser, token);
        return sent(browser, key.get({ challenge, rpId: 'localhost' }));
      },
    ],
    [
      'with the challenge of a further passkey',
      UNKNOWN,
      async ({ member: { key, browser: own }, browser }) => {
        const begun = succeeded(await own.send('POST', '/person/self/passkey/options', { body: {} }));
        const { challenge } = begun.as<{ options: CreationOptions }>().options;
        return sent(browser, key.get({ challenge, rpId: 'localhost' }));
      },
    ],
    [
      'with the challenge of another vault',
      UNKNOWN,
      async ({ member: { key }, browser }) =>
        sent(browser, key.get(await signInOptions(openBrowser(foreign.handle)))),
    ],
    [
      'with a passkey that nobody has registered',
      UNKNOWN,
      async ({ browser }) => {
        const key = new SoftwareAuthenticator(ORIGIN);
        return signIn(browser, key, { userHandle: Buffer.from('pers_').toString('base64url') });
      },
    ],
    [
      'with a passkey that was removed, between its two requests',
      UNKNOWN,
      async ({ account: of, member: { id, key }, browser }) => {
        const response = key.get(await signInOptions(browser));
        succeeded(await of.send('DELETE', `/person/${id}/passkey/${key.id}`));
        return sent(browser, response);
      },
    ],
    [
      'of a deleted person',
      UNKNOWN,
      async ({ account: of, member: { id, key }, browser }) => {
        const response = key.get(await signInOptions(browser));
        succeeded(await of.send('DELETE', `/person/${id}`));
        return sent(browser, response);
      },
    ],
    [
      'of a person of a deleted account',
      UNKNOWN,
      async ({ account: of, member: { key }, browser }) => {
        succeeded(await operator.send('DELETE', `/account/${of.name}`));
        return signIn(browser, key);
      },
    ],
    [
      'at a suspended account',
      '403 account_suspended',
      async ({ account: of, member: { key }, browser }) => {
        succeeded(await operator.send('POST', `/account/${of.name}/suspend`));
        return signIn(browser, key);
      },
    ],
    [
      'with a wrong answer at a suspended account',
      UNKNOWN,
      async ({ account: of, member: { key }, browser }) => {
        succeeded(await operator.send('POST', `/account/${of.name}/suspend`));
        return signIn(browser, key, { uv: false });
      },
    ],
    [
      'with an answer of a registration',
      '400 invalid_request',
      async ({ member: { key }, browser }) => {
        const options = await signInOptions(browser);
        const asked = { challenge: options.challenge, rp: { id: 'localhost' }, user: { id: key.userHandle } };
        return sent(browser, key.create({ ...asked, excludeCredentials: [] }));
      },
    ],
    [
      'with more than 64 KB',
      '413 body_too_large',
      async ({ member: { key }, browser }) => {
        const answer = key.get(await signInOptions(browser));
        return sent(browser, { ...answer, more: 'x'.repeat(65_536) });
      },
    ],
    [
      'with a member that nobody knows',
      '400 unknown_parameter',
      async ({ member: { key }, browser }) => {
        const response = key.get(await signInOptions(browser));
        return browser.send('POST', '/person/signin', { body: { response, account: 'shop' } });
      },
    ],
    [
      'with an empty body',
      '400 invalid_request',
      ({ browser }) => browser.send('POST', '/person/signin', { body: {} }),
    ],
  ];
  test.each(ATTEMPTS)('%s ends in %s', async (_name, outcome, attempt) => {
    const of = await vault.account();
    const browser = openBrowser(vault.handle);
    const answer = await attempt({ account: of, member: await newMember(vault.handle, of), browser });
    expect(answer?.outcome).toBe(outcome);
    expect(browser.setCookie()).toBe('');
  });

  test('with one challenge at one instant succeeds once', async () => {
    const of = await newMember(vault.handle, account);
    const response = of.key.get(await signInOptions(of.browser));
    const answers = await Promise.all(
      [vault, second, vault, second].map(({ handle }) => sent(openBrowser(handle), response)),
    );
    expect(answers.map(({ outcome }) => outcome).sort()).toEqual(['200', UNKNOWN, UNKNOWN, UNKNOWN]);
  });

  test.each(['person', 'passkey'])('whose %s is deleted while it is verified opens nothing', async (what) => {
    const of = await vault.account();
    const { id, key } = await newMember(vault.handle, of);
    const browser = openBrowser(vault.handle);
    const held = holdNext(vault.parts.sessions, 'open');
    const answer = signIn(browser, key);
    await held.reached;
    succeeded(await of.send('DELETE', `/person/${id}${what === 'passkey' ? `/passkey/${key.id}` : ''}`));
    held.release();
    // Its proof was right when it was read; what it opens has ended with the deletion.
    expect((await answer).outcome).toBe('200');
    expect((await browser.send('GET', '/person/self')).outcome).toBe(UNKNOWN);
  });

  test('of two copies of a passkey at one instant succeeds once', async () => {
    const of = await newMember(vault.handle, account, { counter: 1 });
    of.key.counter = 2;
    const browsers = [openBrowser(vault.handle), openBrowser(second.handle)];
    const responses = await Promise.all(browsers.map(async (each) => of.key.get(await signInOptions(each))));
    const answers = await Promise.all(browsers.map((each, i) => sent(each, responses[i])));
    expect(answers.map(({ outcome }) => outcome).sort()).toEqual(['200', UNKNOWN]);
  });

  test('that is rejected tells nothing but that', async () => {
    const answers = [
      await signIn(openBrowser(vault.handle), member.key, { counter: 11, uv: false }),
      await signIn(openBrowser(vault.handle), member.key, { counter: 9 }),
      await signIn(openBrowser(vault.handle), new SoftwareAuthenticator(ORIGIN), { userHandle: 'AA' }),
    ].map(({ status, json }) => ({ status, ...Object(json), request_id: '' }));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  });

  test('that is rejected is in the log of the account, and a copy of a passkey by name', async () => {
    const of = await vault.account();
    const { id, key } = await newMember(vault.handle, of, { counter: 3 });
    await signIn(openBrowser(vault.handle), key, { counter: 4, uv: false });
    // Who does not have the passkey raises no warning.
    await signIn(openBrowser(vault.handle), key, { counter: 1, sign: () => randomBytes(70) });
    await signIn(openBrowser(vault.handle), key, { counter: 0 });
    await signIn(openBrowser(vault.handle), key, { counter: 2 });
    const common = { action: 'person.signin', actor: 'anonymous', object: `person/${id}` };
    expect(
      (await rejections(of)).map(({ action, actor, object, outcome }) => ({
        action,
        actor,
        object,
        outcome,
      })),
    ).toEqual([
      { ...common, outcome: 'passkey_cloned' },
      ...[1, 2, 3].map(() => ({ ...common, outcome: 'unauthenticated' })),
    ]);
  });
});

/** Ways in which another site makes a browser send something. Sign-ins would put it into a session that the site has chosen. */
const OTHER_SITES: readonly (readonly [name: string, headers: Readonly<Record<string, string>>])[] = [
  ['another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
  ['a host beside it', { origin: 'http://a.localhost', 'sec-fetch-site': 'same-site' }],
  ['a browser’s own page', { origin: '', 'sec-fetch-site': 'none' }],
  ['an old browser', { origin: 'https://evil.example', 'sec-fetch-site': '' }],
  ['a sandbox', { origin: 'null', 'sec-fetch-site': '' }],
  ['a program', { origin: '', 'sec-fetch-site': '' }],
  ['a form as text', { 'content-type': 'text/plain' }],
  ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
  ['a file', { 'content-type': 'multipart/form-data; boundary=application/json' }],
  ['no type', { 'content-type': '' }],
];

describe.each(OTHER_SITES)('%s', (_name, headers) => {
  test.each(['/person/invitation/options', '/person/invitation', '/person/signin/options', '/person/signin'])(
    'gets no answer at %s',
    async (path) => {
      const answer = await openBrowser(vault.handle).send('POST', path, { body: {}, headers });
      expect(answer.outcome).toBe(CROSS_SITE);
      expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    },
  );

  test.each(['/person/self/passkey/options', '/person/self/passkey', '/person/self/passphrase/options'])(
    'does nothing in a session at %s',
    async (path) => {
      const { browser } = await newMember(vault.handle, await vault.account());
      const answer = await browser.send('POST', path, { body: {}, headers });
      // A cookie counts with `Sec-Fetch-Site: same-origin`, whatever the type of the body.
      const isOther = headers['sec-fetch-site'] !== undefined;
      expect(answer.outcome === CROSS_SITE).toBe(isOther);
    },
  );
});

test('the origin of the console is enough where a browser says nothing else', async () => {
  const { key } = await newMember(vault.handle, await vault.account());
  const browser = openBrowser(vault.handle);
  const response = key.get(await signInOptions(browser));
  const headers = { 'sec-fetch-site': '' };
  expect((await browser.send('POST', '/person/signin', { body: { response }, headers })).outcome).toBe('200');
});

test('no page of another origin is told that it may ask', async () => {
  const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
  const answer = await openBrowser(vault.handle).send('OPTIONS', '/person/signin', { headers });
  expect(answer.headers.get('access-control-allow-origin')).toBeNull();
});

/** Accepts an invitation, and adds a further passkey, wrongly. */
describe('a registration', () => {
  const WRONG_REGISTRATIONS: readonly (readonly [name: string, wrong: Wrong])[] = [
    ...WRONG_ANSWERS,
    ['the type of a sign-in', { type: 'webauthn.get' }],
  ];
  test.each(WRONG_REGISTRATIONS)('with %s ends in 400', async (_name, wrong) => {
    const account = await vault.account();
    const invited = await newInvitation(account);
    const browser = openBrowser(vault.handle);
    expect((await accept(browser, invited.token, new SoftwareAuthenticator(ORIGIN), wrong)).outcome).toBe(
      REFUSED,
    );
    expect(browser.setCookie()).toBe('');
    const member = await newMember(vault.handle, account);
    expect((await addPasskey(member.browser, new SoftwareAuthenticator(ORIGIN), wrong)).outcome).toBe(
      REFUSED,
    );
    const logged = await rejections(account);
    expect(new Set(logged.map(({ action, outcome }) => `${action} ${outcome}`))).toEqual(
      new Set(['person.passkey.add passkey_refused']),
    );
    expect(logged.map(({ actor }) => actor).sort()).toEqual(['anonymous', `person/${member.id}`]);
    // The invitation is still good.
    expect((await accept(browser, invited.token, new SoftwareAuthenticator(ORIGIN))).outcome).toBe('200');
  });

  interface Stage {
    readonly account: AccountClient;
    readonly id: string;
    readonly token: string;
    readonly browser: Browser;
    readonly key: SoftwareAuthenticator;
  }
  const sent = (browser: Browser, token: string, response: unknown) =>
    browser.send('POST', '/person/invitation', { body: { token, response } });
  const GONE = '403 invitation_gone';
  const ATTEMPTS: readonly (readonly [
    name: string,
    outcome: string,
    attempt: (of: Stage) => Promise<Answer>,
  ])[] = [
    [
      'without an invitation',
      GONE,
      ({ browser }) =>
        sent(
          browser,
          'x'.repeat(43),
          new SoftwareAuthenticator(ORIGIN).create({
            challenge: 'AA',
            rp: { id: 'localhost' },
            user: { id: 'AA' },
            excludeCredentials: [],
          }),
        ),
    ],
    [
      'with an invitation that was used',
      GONE,
      async ({ token, browser, key }) => {
        const response = key.create(await invitationOptions(browser, token));
        succeeded(await accept(openBrowser(second.handle), token, new SoftwareAuthenticator(ORIGIN)));
        return sent(browser, token, response);
      },
    ],
    [
      'with an invitation that has expired',
      GONE,
      async ({ token, browser, key }) => {
        const response = key.create(await invitationOptions(browser, token));
        now += 24 * HOUR_MS;
        return sent(browser, token, response);
      },
    ],
    [
      'with an invitation that a newer one has ended',
      GONE,
      async ({ account, id, token, browser, key }) => {
        const response = key.create(await invitationOptions(browser, token));
        succeeded(await account.send('POST', `/person/${id}/invite`));
        return sent(browser, token, response);
      },
    ],
    [
      'of a deleted person',
      GONE,
      async ({ account, id, token, browser, key }) => {
        const response = key.create(await invitationOptions(browser, token));
        succeeded(await account.send('DELETE', `/person/${id}`));
        return sent(browser, token, response);
      },
    ],
    [
      'of a person who is deleted while it is verified',
      GONE,
      async ({ account, id, token, browser, key }) => {
        const held = holdNext(vault.parts.persons, 'addPasskey');
        const answer = accept(browser, token, key);
        await held.reached;
        succeeded(await account.send('DELETE', `/person/${id}`));
        held.release();
        return answer;
      },
    ],
    [
      'at a suspended account',
      '403 account_suspended',
      async ({ account, token, browser, key }) => {
        const response = key.create(await invitationOptions(browser, token));
        succeeded(await operator.send('POST', `/account/${account.name}/suspend`));
        return sent(browser, token, response);
      },
    ],
    [
      'with the challenge of another invitation',
      REFUSED,
      async ({ account, token, browser, key }) => {
        const { token: theirs } = await newInvitation(account);
        return sent(browser, token, key.create(await invitationOptions(browser, theirs)));
      },
    ],
    [
      'with the challenge of a sign-in',
      REFUSED,
      async ({ token, browser, key }) => {
        const { challenge } = await signInOptions(browser);
        return sent(browser, token, key.create({ ...(await invitationOptions(browser, token)), challenge }));
      },
    ],
    [
      'with the challenge of another vault',
      REFUSED,
      async ({ token, browser, key }) => {
        const theirs = await newInvitation(await foreign.account());
        return sent(
          browser,
          token,
          key.create(await invitationOptions(openBrowser(foreign.handle), theirs.token)),
        );
      },
    ],
    [
      'with a challenge that was used',
      REFUSED,
      async ({ account }) => {
        const { browser } = await newMember(vault.handle, account);
        const begun = succeeded(await browser.send('POST', '/person/self/passkey/options', { body: {} }));
        const { options } = begun.as<{ options: CreationOptions }>();
        const send = () =>
          browser.send('POST', '/person/self/passkey', {
            body: { response: new SoftwareAuthenticator(ORIGIN).create(options) },
          });
        succeeded(await send());
        return send();
      },
    ],
    [
      'with the passkey of another person',
      '409 passkey_exists',
      async ({ token, browser }) => {
        const { key } = await newMember(vault.handle, await vault.account());
        const copy = new SoftwareAuthenticator(ORIGIN, 'ES256', { id: key.id });
        const answer = await accept(browser, token, copy);
        expect((await signIn(openBrowser(vault.handle), key)).outcome).toBe('200');
        return answer;
      },
    ],
    [
      'with a passkey that the person has already',
      '409 passkey_exists',
      async ({ account }) => {
        const { browser, key } = await newMember(vault.handle, account);
        return addPasskey(browser, key);
      },
    ],
    [
      'with the challenge of another person’s further passkey',
      REFUSED,
      async ({ account, key }) => {
        const [one, other] = [await newMember(vault.handle, account), await newMember(vault.handle, account)];
        const begun = succeeded(await one.browser.send('POST', '/person/self/passkey/options', { body: {} }));
        const response = key.create(begun.as<{ options: CreationOptions }>().options);
        return other.browser.send('POST', '/person/self/passkey', { body: { response } });
      },
    ],
    [
      'of a further passkey with the password of the account',
      '403 not_allowed',
      ({ account }) => account.send('POST', '/person/self/passkey/options', { body: {} }),
    ],
    [
      'of a further passkey without a session',
      '401 unauthenticated',
      ({ browser }) => browser.send('POST', '/person/self/passkey/options', { body: {} }),
    ],
    [
      'of a key that is too long',
      '400 invalid_request',
      async ({ token, browser, key }) => {
        const answer = key.create(await invitationOptions(browser, token));
        const response = { ...answer.response, attestationObject: 'A'.repeat(16_385) };
        return sent(browser, token, { ...answer, response });
      },
    ],
    [
      'of a key that is no CBOR',
      REFUSED,
      async ({ token, browser, key }) => {
        const answer = key.create(await invitationOptions(browser, token));
        // A list in a list, thousands of levels deep.
        const attestationObject = Buffer.alloc(12_000, 0x81).toString('base64url');
        return sent(browser, token, { ...answer, response: { ...answer.response, attestationObject } });
      },
    ],
  ];
  test.each(ATTEMPTS)('%s ends in %s', async (_name, outcome, attempt) => {
    const account = await vault.account();
    const browser = openBrowser(vault.handle);
    const stage = {
      account,
      ...(await newInvitation(account)),
      browser,
      key: new SoftwareAuthenticator(ORIGIN),
    };
    expect((await attempt(stage)).outcome).toBe(outcome);
    expect(browser.setCookie()).toBe('');
  });

  test('with one invitation at one instant succeeds once', async () => {
    const account = await vault.account();
    const { id, token } = await newInvitation(account);
    const browsers = [vault, second, vault, second].map(({ handle }) => openBrowser(handle));
    const keys = browsers.map(() => new SoftwareAuthenticator(ORIGIN));
    const responses = await Promise.all(
      browsers.map(async (browser, i) => keys[i]?.create(await invitationOptions(browser, token))),
    );
    const answers = await Promise.all(browsers.map((browser, i) => sent(browser, token, responses[i])));
    expect(answers.map(({ outcome }) => outcome).sort()).toEqual(['200', GONE, GONE, GONE]);
    const person = (await account.send('GET', `/person/${id}`)).as<{ passkeys: readonly unknown[] }>();
    expect(person.passkeys).toHaveLength(1);
    for (const [i, key] of keys.entries()) {
      expect((await signIn(openBrowser(vault.handle), key)).outcome).toBe(
        answers[i]?.outcome === '200' ? '200' : UNKNOWN,
      );
    }
  });

  test('of one passkey for two people at one instant succeeds once', async () => {
    const account = await vault.account();
    const id = randomBytes(32).toString('base64url');
    const invited = [await newInvitation(account), await newInvitation(account)];
    const answers = await Promise.all(
      invited.map(({ token }, i) =>
        accept(
          openBrowser((i === 0 ? vault : second).handle),
          token,
          new SoftwareAuthenticator(ORIGIN, 'ES256', { id }),
        ),
      ),
    );
    expect(answers.map(({ outcome }) => outcome).sort()).toEqual(['200', '409 passkey_exists']);
  });

  test('with an attestation that nobody has asked for does not look at it', async () => {
    const attStmt = { alg: -7, sig: randomBytes(70), x5c: [randomBytes(500)] };
    for (const fmt of ['packed', 'fido-u2f', 'android-key', 'a-future-one']) {
      const { token } = await newInvitation(await vault.account());
      const wrong = { attestation: { fmt, attStmt } };
      const answer = await accept(openBrowser(vault.handle), token, new SoftwareAuthenticator(ORIGIN), wrong);
      expect([fmt, answer.outcome]).toEqual([fmt, '200']);
    }
  });
});

describe('results of the extension `prf`', () => {
  const RESULT = randomBytes(32).toString('base64url');
  const FORMS: readonly (readonly [name: string, extensions: Readonly<Record<string, unknown>>])[] = [
    ['as browsers have them', { prf: { enabled: true, results: { first: RESULT } } }],
    ['as bytes', { prf: { results: { first: { ...randomBytes(32) }, second: {} } } }],
    ['under another name', { prf: { first: RESULT } }],
    ['beside the extension', { results: { first: RESULT } }],
    ['within another extension', { more: [{ prf: { results: RESULT } }] }],
    ['of the extension below it', { hmacGetSecret: { output1: RESULT } }],
  ];
  test.each(FORMS)('%s are refused everywhere, and change nothing', async (_name, extensions) => {
    const account = await vault.account();
    const member = await newMember(vault.handle, account);
    const { token } = await newInvitation(account);
    const browser = openBrowser(vault.handle);
    const asked = await signInOptions(browser);
    const invitation = await invitationOptions(browser, token);
    const begun = succeeded(await member.browser.send('POST', '/person/self/passkey/options', { body: {} }));
    const more = begun.as<{ options: CreationOptions }>().options;
    const key = new SoftwareAuthenticator(ORIGIN);
    const another = new SoftwareAuthenticator(ORIGIN);
    const answers = (wrong: Wrong) =>
      [
        [browser, '/person/signin', { response: member.key.get(asked, wrong) }],
        [browser, '/person/invitation', { token, response: key.create(invitation, wrong) }],
        [member.browser, '/person/self/passkey', { response: another.create(more, wrong) }],
      ] as const;
    for (const [by, path, body] of answers({ extensions })) {
      const answer = await by.send('POST', path, { body });
      expect([path, answer.outcome, answer.field]).toEqual([path, '400 invalid_request', 'body']);
      expect(answer.text).not.toContain(RESULT);
    }
    // Their challenges are still good.
    for (const [by, path, body] of answers({})) {
      expect([path, (await by.send('POST', path, { body })).outcome]).toEqual([path, '200']);
    }
    await vault.opened.services.audit.flush();
    expect(JSON.stringify([vault.lines, vault.events])).not.toContain(RESULT);
  });

  test('at the top of a body are refused', async () => {
    const { browser } = await newMember(vault.handle, await vault.account());
    for (const [path, body] of [
      ['/person/signin/options', { prf: { results: { first: RESULT } } }],
      ['/person/self/passkey/options', { results: { first: RESULT } }],
    ] as const) {
      expect((await browser.send('POST', path, { body })).status).toBe(400);
    }
  });
});
