import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { AccountClient } from '../../helpers/clients.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';
import { type CreationOptions, SoftwareAuthenticator } from './authenticator.ts';
import {
  accept,
  addPasskey,
  invitationOptions,
  newInvitation,
  newMember,
  ORIGIN,
  openBrowser,
  signIn,
  signInOptions,
  succeeded,
} from './stage.ts';

let vault: TestVault;
let other: TestVault;
let account: AccountClient;
let now = Date.parse('2026-03-01T12:00:00Z');

beforeAll(async () => {
  const settings = { now: () => now, alone: true };
  vault = await openTestVault(settings);
  other = await vault.secondServer(settings);
  account = await vault.account();
});
afterAll(async () => {
  await other.close();
  await vault.close();
});

interface Shown {
  readonly passkeys: readonly { readonly id: string; readonly name: string }[];
}

async function passkeysOf(id: string): Promise<Shown['passkeys']> {
  return succeeded(await account.send('GET', `/person/${id}`)).as<Shown>().passkeys;
}

describe('an invitation', () => {
  test('is accepted with a passkey, which signs the person in', async () => {
    const { id, token } = await newInvitation(account, 'developer');
    const browser = openBrowser(vault.handle);
    const key = new SoftwareAuthenticator(ORIGIN);
    const options = await browser.send('POST', '/person/invitation/options', { body: { token } });
    expect(options.json).toMatchObject({
      person: { name: 'Ada' },
      options: {
        rp: { id: 'localhost' },
        user: { id: Buffer.from(id).toString('base64url'), displayName: 'Ada' },
        attestation: 'none',
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
        excludeCredentials: [],
        extensions: { prf: {} },
      },
    });
    const response = key.create(options.as<{ options: CreationOptions }>().options);
    const answer = await browser.send('POST', '/person/invitation', {
      body: { token, name: 'Laptop', response },
    });
    expect(answer.outcome).toBe('200');
    expect(answer.json).toMatchObject({
      person: { id, role: 'developer', passkeys: [{ id: key.id, name: 'Laptop' }] },
      passkey_id: key.id,
    });
    expect(browser.setCookie()).toMatch(
      /^vault_session=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    expect((await browser.send('GET', '/person/self')).json).toMatchObject({ id, name: 'Ada' });
    expect((await browser.send('GET', '/whoami')).json).toMatchObject({
      user: account.name,
      person: { id, role: 'developer' },
    });
  });

  test('leaves nothing that opens anything in Redis or in the logs', async () => {
    const { token } = await newInvitation(account);
    const browser = openBrowser(vault.handle);
    const key = new SoftwareAuthenticator(ORIGIN);
    const { challenge } = await invitationOptions(browser, token);
    succeeded(await accept(browser, token, key));
    const [, session = ''] = browser.cookie().split('=');
    await vault.opened.services.audit.flush();
    const keys = await vault.raw.keys('*');
    const values = await Promise.all(keys.map((name) => vault.raw.dump(name)));
    const stored = JSON.stringify([keys, values, vault.lines, vault.events]);
    for (const secret of [token, challenge, session]) {
      expect(stored).not.toContain(secret);
    }
  });

  test('adds a passkey and removes none', async () => {
    const member = await newMember(vault.handle, account);
    const again = succeeded(await account.send('POST', `/person/${member.id}/invite`));
    const token = new URL(again.as<{ invitation: string }>().invitation).hash.split('=')[1] ?? '';
    const options = await invitationOptions(member.browser, token);
    expect(options.excludeCredentials).toEqual([
      { id: member.key.id, transports: ['internal', 'hybrid'], type: 'public-key' },
    ] as never);
    const key = new SoftwareAuthenticator(ORIGIN);
    succeeded(await accept(openBrowser(other.handle), token, key));
    expect((await passkeysOf(member.id)).map(({ id }) => id)).toEqual([member.key.id, key.id]);
    expect((await signIn(openBrowser(vault.handle), member.key)).outcome).toBe('200');
    expect((await signIn(openBrowser(vault.handle), key)).outcome).toBe('200');
  });
});

describe('a sign-in', () => {
  test.each(['ES256', 'EdDSA', 'RS256'] as const)('with %s, on every server', async (algorithm) => {
    const { id, key } = await newMember(vault.handle, account, { algorithm });
    for (const { handle } of [vault, other]) {
      const browser = openBrowser(handle);
      const answer = await signIn(browser, key);
      expect(answer.json).toMatchObject({ person: { id }, passkey_id: key.id });
      expect((await browser.send('GET', '/person/self')).json).toMatchObject({ id });
    }
  });

  test('takes the challenge of another server of the vault', async () => {
    const { key } = await newMember(vault.handle, account);
    const response = key.get(await signInOptions(openBrowser(other.handle)));
    const answer = await openBrowser(vault.handle).send('POST', '/person/signin', { body: { response } });
    expect(answer.outcome).toBe('200');
  });

  test('asks for user verification and for the extension of passphrases', async () => {
    expect(await signInOptions(openBrowser(vault.handle))).toMatchObject({
      rpId: 'localhost',
      userVerification: 'required',
      allowCredentials: [],
      extensions: { prf: { eval: { first: expect.stringMatching(/^[A-Za-z0-9_-]+$/) } } },
    } as never);
  });

  test('is accepted for five minutes', async () => {
    const { key } = await newMember(vault.handle, account);
    const [early, late] = [
      await signInOptions(openBrowser(vault.handle)),
      await signInOptions(openBrowser(vault.handle)),
    ];
    const send = (options: typeof early) =>
      openBrowser(other.handle).send('POST', '/person/signin', { body: { response: key.get(options) } });
    now += 5 * 60_000 - 1;
    expect((await send(early)).outcome).toBe('200');
    now += 1;
    expect((await send(late)).outcome).toBe('401 unauthenticated');
  });

  test('of a stranger stores nothing but in the log', async () => {
    const stored = async () => (await vault.raw.keys('*')).filter((name) => !name.endsWith('log')).sort();
    const before = await stored();
    for (let asked = 0; asked < 10; asked++) {
      await signInOptions(openBrowser(vault.handle));
    }
    const key = new SoftwareAuthenticator(ORIGIN);
    expect((await signIn(openBrowser(vault.handle), key, { userHandle: 'AA' })).status).toBe(401);
    expect(await stored()).toEqual(before);
  });

  test('stores the counter of a passkey that counts, and takes one that does not', async () => {
    const { key } = await newMember(vault.handle, account, { counter: 5 });
    key.counter = 6;
    expect((await signIn(openBrowser(vault.handle), key)).outcome).toBe('200');
    expect((await signIn(openBrowser(other.handle), key)).outcome).toBe('401 unauthenticated');
    key.counter = 7;
    expect((await signIn(openBrowser(other.handle), key)).outcome).toBe('200');
    const other0 = await newMember(vault.handle, account);
    expect((await signIn(openBrowser(vault.handle), other0.key)).outcome).toBe('200');
    expect((await signIn(openBrowser(vault.handle), other0.key)).outcome).toBe('200');
    other0.key.counter = 1;
    expect((await signIn(openBrowser(vault.handle), other0.key)).outcome).toBe('200');
  });
});

describe('another passkey', () => {
  test('is added by the person itself, and signs it in', async () => {
    const { id, browser, key } = await newMember(vault.handle, account);
    const more = new SoftwareAuthenticator(ORIGIN, 'EdDSA');
    const answer = await addPasskey(browser, more);
    expect(answer.json).toEqual({ id: more.id, name: 'another', created_at: new Date(now).toISOString() });
    expect((await passkeysOf(id)).map((passkey) => passkey.id)).toEqual([key.id, more.id]);
    expect((await signIn(openBrowser(vault.handle), more)).outcome).toBe('200');
    // The session of before goes on.
    expect((await browser.send('GET', '/person/self')).outcome).toBe('200');
  });

  test('needs a sign-in within five minutes, to begin and to end', async () => {
    const { browser, key } = await newMember(vault.handle, account);
    now += 4 * 60_000;
    const begun = succeeded(await browser.send('POST', '/person/self/passkey/options', { body: {} }));
    const response = new SoftwareAuthenticator(ORIGIN).create(
      begun.as<{ options: CreationOptions }>().options,
    );
    now += 60_000 + 1;
    for (const [path, body] of [
      ['/person/self/passkey/options', {}],
      ['/person/self/passkey', { response }],
    ] as const) {
      expect((await browser.send('POST', path, { body })).outcome).toBe('403 sign_in_again');
    }
    succeeded(await signIn(browser, key));
    expect((await browser.send('POST', '/person/self/passkey', { body: { response } })).outcome).toBe('200');
  });

  test('has a limit', async () => {
    const { browser } = await newMember(vault.handle, account);
    for (let made = 1; made < 20; made++) {
      succeeded(await addPasskey(browser, new SoftwareAuthenticator(ORIGIN)));
    }
    expect((await addPasskey(browser, new SoftwareAuthenticator(ORIGIN))).outcome).toBe('409 passkeys_full');
  });
});

test('where nobody can have a passkey, the routes say so', async () => {
  const people = { consoleUrl: 'https://192.0.2.1', flaw: 'it has an address', hasPasswords: true } as const;
  const at = await vault.secondServer({ people, alone: true });
  const browser = openBrowser(at.handle);
  expect((await browser.send('POST', '/person/signin/options', { body: {} })).outcome).toBe(
    '409 people_unavailable',
  );
  await at.close();
});
