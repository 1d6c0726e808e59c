/** Passphrases that people keep under their passkeys, as a browser encrypts them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { WrapRecords } from '../../../server/account/passkey/wrap-records.ts';
import { redisKeys } from '../../../server/redis/records/keys.ts';
import { NamedStore } from '../../../server/redis/records/named.ts';
import { type AccountClient, type Answer, PASSPHRASE } from '../../helpers/clients.ts';
import { credentialClient } from '../../helpers/credentials.ts';
import { holdNext } from '../../helpers/hold.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';
import { SoftwareAuthenticator } from './authenticator.ts';
import { addPasskey, type Member, newMember, ORIGIN, signIn, succeeded } from './stage.ts';

const CARD = { card_number: '4111111111111111', expiry: '12/31' };
const PATH = '/person/self/passphrase';
const RACES = 12;
const GIVEN = randomBytes(80).toString('base64url');

let vault: TestVault;
let second: TestVault;

beforeAll(async () => {
  vault = await openTestVault({ alone: true });
  second = await vault.secondServer({ alone: true });
});
afterAll(async () => {
  await second.close();
  await vault.close();
});

interface Begun {
  readonly aad: string;
  readonly generation: number;
  readonly options: {
    readonly allowCredentials: readonly { readonly id: string }[];
    readonly extensions: { readonly prf: { readonly eval: { readonly first: string } } };
  };
}

interface Kept {
  readonly key: string;
  readonly passkey_id: string;
  readonly wrap: string;
  readonly aad: string;
  readonly generation: number;
}

/** What a browser does with the result of the extension. */
function aesKey(key: SoftwareAuthenticator, { options }: Pick<Begun, 'options'>): Buffer {
  const result = key.prf(options.extensions.prf.eval.first);
  return Buffer.from(hkdfSync('sha256', result, '', 'cardvault passphrase under a passkey', 32));
}

function seal(key: Buffer, aad: string, passphrase: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(aad));
  const sealed = Buffer.concat([
    nonce,
    cipher.update(passphrase, 'utf8'),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
  return sealed.toString('base64url');
}

function open(key: Buffer, { wrap, aad }: Pick<Kept, 'wrap' | 'aad'>): string {
  const bytes = Buffer.from(wrap, 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAAD(Buffer.from(aad));
  decipher.setAuthTag(bytes.subarray(-16));
  return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString('utf8');
}

async function begin({ browser, key }: Member, user: string): Promise<Begun> {
  const body = { key: user, passkey_id: key.id };
  return succeeded(await browser.send('POST', `${PATH}/options`, { body })).as<Begun>();
}

/** Keeps the passphrase of a key as the console does. */
async function keep(member: Member, user: string, passphrase = PASSPHRASE): Promise<Answer> {
  const { browser, key } = member;
  const begun = await begin(member, user);
  const wrap = seal(aesKey(key, begun), begun.aad, passphrase);
  const body = { key: user, passkey_id: key.id, wrap, generation: begun.generation };
  return browser.send('PUT', PATH, { body });
}

async function kept({ browser }: Member): Promise<readonly Kept[]> {
  return succeeded(await browser.send('GET', PATH)).as<readonly Kept[]>();
}

/** What is stored of a person, shown or not. */
function atRest(account: AccountClient, { id }: Member) {
  const { redis, crypto } = vault.opened;
  return new WrapRecords(new NamedStore(redis, redisKeys.passphraseWraps), crypto).read({
    aid: account.aid,
    id,
  });
}

async function newStage(...users: readonly string[]) {
  const account = await vault.account();
  for (const user of users) {
    await account.key(user);
  }
  return { account, member: await newMember(vault.handle, account) };
}

/** A request with a body that would be right. */
function wrapOf(user: string, passkey_id: string) {
  return { key: user, passkey_id, wrap: randomBytes(90).toString('base64url') };
}

describe('a kept passphrase', () => {
  test('is opened by its passkey, and opens items', async () => {
    const { account, member } = await newStage('u');
    const token = await account.store('u', CARD);
    const begun = await begin(member, 'u');
    expect(begun.options.allowCredentials.map(({ id }) => id)).toEqual([member.key.id]);
    const kid = await vault.kidOf(account, 'u');
    const parts = ['cardvault passphrase 1', 'staging', account.name, member.id, member.key.id, kid, 1];
    expect(begun).toMatchObject({ aad: JSON.stringify(parts), generation: 1 });
    const stored = await keep(member, 'u');
    expect(stored.outcome).toBe('200');
    const [wrap, ...others] = await kept(member);
    expect([wrap, others]).toEqual([stored.json as Kept, []]);
    expect(wrap).toMatchObject({ key: 'u', passkey_id: member.key.id, aad: begun.aad, generation: 1 });
    const opened = open(aesKey(member.key, begun), wrap as Kept);
    const item = await account.send('GET', '/vault/', { query: { user: 'u', token }, passphrase: opened });
    expect(item.json).toMatchObject(CARD);
    expect(() => open(aesKey(new SoftwareAuthenticator(ORIGIN), begun), wrap as Kept)).toThrow();
  });

  test('is the same on every server, and each passkey has one of a key', async () => {
    const { member } = await newStage('u', 'v');
    const more = new SoftwareAuthenticator(ORIGIN);
    succeeded(await addPasskey(member.browser, more));
    for (const key of [member.key, more, member.key]) {
      succeeded(await keep({ ...member, key }, 'u'));
      succeeded(await keep({ ...member, key }, 'v'));
    }
    const found = (await kept(member)).map(({ key, passkey_id }) => `${key} ${passkey_id}`);
    expect(found.sort()).toEqual(
      ['u', 'v'].flatMap((user) => [member.key, more].map(({ id }) => `${user} ${id}`)).sort(),
    );
    const there = await second.handle(
      new Request(`${ORIGIN}/v1${PATH}`, {
        headers: { cookie: member.browser.cookie(), 'sec-fetch-site': 'same-origin' },
      }),
    );
    expect(await there.json()).toEqual(await kept(member));
  });

  test('is in the security log by name alone, and its bytes are nowhere in plain', async () => {
    const { account, member } = await newStage('u');
    const { wrap } = succeeded(await keep(member, 'u')).as<Kept>();
    const query = { key: 'u', passkey_id: member.key.id };
    succeeded(await member.browser.send('DELETE', PATH, { query }));
    succeeded(await keep(member, 'u'));
    const log = await account.send('GET', '/audit', { query: { action: 'person.change' } });
    const entry = {
      actor: `person/${member.id}`,
      object: `person/${member.id}/passphrase/u`,
      outcome: 'success',
    };
    expect(log.json).toMatchObject([entry, entry, entry]);
    const dump = await vault.raw.hgetall(redisKeys.passphraseWraps(account.aid));
    expect(JSON.stringify([dump, vault.lines, vault.events, log.text])).not.toContain(wrap.slice(0, 20));
  });
});

describe('a kept passphrase ends', () => {
  /** Each ends one of two: that of `u` under the passkey of the member. */
  type End = (of: { readonly account: AccountClient; readonly member: Member }) => Promise<Answer>;
  const remove: End = ({ member: { browser, key } }) =>
    browser.send('DELETE', PATH, { query: { key: 'u', passkey_id: key.id } });
  const changePassphrase: End = ({ account }) =>
    account.send('PUT', '/key/', { body: { user: 'u', passphrase: PASSPHRASE, new_passphrase: GIVEN } });
  const deleteKey: End = ({ account }) => account.send('DELETE', '/key/', { query: { user: 'u' } });
  const deletePasskey: End = ({ account, member }) =>
    account.send('DELETE', `/person/${member.id}/passkey/${member.key.id}`);
  const ENDS: readonly (readonly [name: string, end: End])[] = [
    ['by hand', remove],
    ['with a new passphrase', changePassphrase],
    ['with its key', deleteKey],
  ];
  test.each(ENDS)('%s, and the others stay', async (_name, end) => {
    const { account, member } = await newStage('u', 'v');
    succeeded(await keep(member, 'u'));
    succeeded(await keep(member, 'v'));
    succeeded(await end({ account, member }));
    expect((await kept(member)).map(({ key }) => key)).toEqual(['v']);
    expect((await atRest(account, member)).map(({ user }) => user)).toEqual(['v']);
  });

  test('with its passkey, and those under others stay', async () => {
    const { account, member } = await newStage('u');
    const more = new SoftwareAuthenticator(ORIGIN);
    succeeded(await addPasskey(member.browser, more));
    succeeded(await keep(member, 'u'));
    succeeded(await keep({ ...member, key: more }, 'u'));
    succeeded(await account.send('DELETE', `/person/${member.id}/passkey/${member.key.id}`));
    expect((await atRest(account, member)).map(({ passkeyId }) => passkeyId)).toEqual([more.id]);
  });

  test('with its person', async () => {
    const { account, member } = await newStage('u');
    succeeded(await keep(member, 'u'));
    succeeded(await account.send('DELETE', `/person/${member.id}`));
    expect(await vault.raw.hlen(redisKeys.passphraseWraps(account.aid))).toBe(0);
  });

  /** A process that dies before it removes what has ended leaves the record as it was. */
  const INTERRUPTED: typeof ENDS = [
    ['with a new passphrase', changePassphrase],
    ['with its key', deleteKey],
    [
      'with a key of the same name',
      async ({ account }) => {
        succeeded(await account.send('DELETE', '/key/', { query: { user: 'u' } }));
        return account.send('POST', '/key/', { body: { user: 'u', passphrase: PASSPHRASE } });
      },
    ],
    [
      'with its passkey',
      async ({ account, member }) => {
        const more = new SoftwareAuthenticator(ORIGIN);
        succeeded(await addPasskey(member.browser, more));
        const answer = await deletePasskey({ account, member });
        // Its sessions have ended as well.
        expect((await member.browser.send('GET', PATH)).outcome).toBe('401 unauthenticated');
        succeeded(await signIn(member.browser, more));
        return answer;
      },
    ],
    ['with its person', ({ account, member }) => account.send('DELETE', `/person/${member.id}`)],
  ];
  test.each(INTERRUPTED)('%s, also where the process dies in between', async (name, end) => {
    const { account, member } = await newStage('u');
    succeeded(await keep(member, 'u'));
    const hash = redisKeys.passphraseWraps(account.aid);
    const before = await vault.raw.hgetBuffer(hash, member.id);
    succeeded(await end({ account, member }));
    await vault.raw.hset(hash, member.id, before ?? '');
    expect(await atRest(account, member)).toHaveLength(1);
    const answer = await member.browser.send('GET', PATH);
    expect(answer.status === 200 ? answer.json : answer.outcome).toEqual(
      name === 'with its person' ? '401 unauthenticated' : [],
    );
    await vault.opened.sweep();
    expect(await atRest(account, member)).toEqual([]);
  });

  const OVERTAKEN: readonly (readonly [name: string, outcome: string, end: End])[] = [
    ['its passphrase', '409 key_changed', changePassphrase],
    ['its key', '409 key_changed', deleteKey],
    ['its passkey', '404 passkey_not_found', deletePasskey],
  ];
  test.each(OVERTAKEN)('with %s, also where that ends while it is stored', async (_name, outcome, end) => {
    const { account, member } = await newStage('u');
    const held = holdNext(vault.opened.stores.wrapStore, 'create');
    const keeping = keep(member, 'u');
    await held.reached;
    succeeded(await end({ account: account.via(second.handle), member }));
    held.release();
    expect((await keeping).outcome).toBe(outcome);
    expect(await atRest(account, member)).toEqual([]);
  });

  test('at whatever instant the passphrase changes', async () => {
    const { account, member } = await newStage('u');
    let passphrase = PASSPHRASE;
    for (let round = 0; round < RACES; round++) {
      const next = randomBytes(60).toString('base64url');
      const change = account.via(second.handle).send('PUT', '/key/', {
        body: { user: 'u', passphrase, new_passphrase: next },
      });
      const pause = Bun.sleep(round * 2);
      const [changed, answer] = await Promise.all([change, pause.then(() => keep(member, 'u', passphrase))]);
      succeeded(changed);
      expect(['200', '409 key_changed']).toContain(answer.outcome);
      const { gen } = await vault.opened.services.keyOpener.find(account, 'u');
      const stored = await atRest(account, member);
      expect(stored.filter((wrap) => wrap.gen !== gen)).toEqual([]);
      // Whoever began before the change has encrypted the passphrase of before.
      const [wrap] = await kept(member);
      if (wrap !== undefined && answer.outcome === '200') {
        expect(answer.as<Kept>().generation).toBe(gen);
      }
      passphrase = next;
    }
  }, 60_000);
});

describe('a passphrase is not kept', () => {
  let account: AccountClient;
  let member: Member;
  let other: Member;
  beforeAll(async () => {
    ({ account, member } = await newStage('u'));
    other = await newMember(vault.handle, account);
    succeeded(await keep(other, 'u'));
  });

  const put = (body: unknown, by = member.browser): Promise<Answer> => by.send('PUT', PATH, { body });
  type Attempt = () => Promise<Answer>;
  const ATTEMPTS: readonly (readonly [name: string, outcome: string, attempt: Attempt])[] = [
    [
      'with the password of the account',
      '403 not_allowed',
      () => account.send('PUT', PATH, { body: wrapOf('u', member.key.id) }),
    ],
    [
      'with a credential',
      '403 not_allowed',
      async () => {
        const user = await credentialClient(vault.handle, account, ['vault:read', 'key:read']);
        return user.send('PUT', PATH, { body: wrapOf('u', member.key.id) });
      },
    ],
    ['under the passkey of another person', '404 passkey_not_found', () => put(wrapOf('u', other.key.id))],
    ['under a passkey that nobody has', '404 passkey_not_found', () => put(wrapOf('u', 'AAAA'))],
    ['of a key that does not exist', '404 key_not_found', () => put(wrapOf('nothing', member.key.id))],
    ['of another generation', '409 key_changed', () => put({ ...wrapOf('u', member.key.id), generation: 2 })],
    [
      'of a key that the person may not use',
      '403 not_allowed',
      async () => {
        const person = { name: 'Ada', role: 'owner', keys: ['u'] };
        await account.key('mine');
        succeeded(await account.send('PUT', `/person/${other.id}`, { body: person }));
        succeeded(await signIn(other.browser, other.key));
        return put(wrapOf('mine', other.key.id), other.browser);
      },
    ],
    [
      'that is too short',
      '400 invalid_request',
      () => put({ ...wrapOf('u', member.key.id), wrap: randomBytes(28).toString('base64url') }),
    ],
    [
      'that is too long',
      '400 invalid_request',
      () => put({ ...wrapOf('u', member.key.id), wrap: 'A'.repeat(21_884) }),
    ],
    [
      'in base64',
      '400 invalid_request',
      () => put({ ...wrapOf('u', member.key.id), wrap: `${'A'.repeat(60)}+/==` }),
    ],
    [
      'in base64url that is not canonical',
      '400 invalid_request',
      () => put({ ...wrapOf('u', member.key.id), wrap: `${'A'.repeat(41)}B` }),
    ],
    [
      'with results of the extension',
      '400 unknown_parameter',
      () => put({ ...wrapOf('u', member.key.id), results: { first: GIVEN } }),
    ],
    [
      'without a key',
      '400 invalid_request',
      () => put({ passkey_id: member.key.id, wrap: randomBytes(40).toString('base64url') }),
    ],
    [
      'from another site',
      '403 cross_site',
      () =>
        member.browser.send('PUT', PATH, {
          body: wrapOf('u', member.key.id),
          headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
        }),
    ],
  ];
  test.each(ATTEMPTS)('%s', async (_name, outcome, attempt) => {
    expect((await attempt()).outcome).toBe(outcome);
    expect(await kept(member)).toEqual([]);
    expect(await atRest(account, member)).toEqual([]);
  });

  test('for anybody but its person', async () => {
    expect((await account.send('GET', PATH)).outcome).toBe('403 not_allowed');
    const query = { key: 'u', passkey_id: other.key.id };
    expect((await member.browser.send('DELETE', PATH, { query })).outcome).toBe('404 passphrase_not_found');
    expect((await account.send('DELETE', PATH, { query })).outcome).toBe('403 not_allowed');
    expect((await kept(other)).map(({ key }) => key)).toEqual(['u']);
    const body = { key: 'u', passkey_id: other.key.id };
    expect((await member.browser.send('POST', `${PATH}/options`, { body })).outcome).toBe(
      '404 passkey_not_found',
    );
  });

  test('where the person may not use its key any more', async () => {
    const { account: of, member: one } = await newStage('u', 'v');
    succeeded(await keep(one, 'u'));
    succeeded(await keep(one, 'v'));
    const body = { name: 'Ada', role: 'owner', keys: ['v'] };
    succeeded(await of.send('PUT', `/person/${one.id}`, { body }));
    succeeded(await signIn(one.browser, one.key));
    expect((await kept(one)).map(({ key }) => key)).toEqual(['v']);
  });

  test('in the place of another person’s, by who writes to Redis', async () => {
    const { account: of, member: one } = await newStage('u');
    const two = await newMember(vault.handle, of);
    succeeded(await keep(one, 'u'));
    const hash = redisKeys.passphraseWraps(of.aid);
    await vault.raw.hset(hash, two.id, (await vault.raw.hgetBuffer(hash, one.id)) ?? '');
    expect((await two.browser.send('GET', PATH)).outcome).toBe('500 integrity_failed');
  });

  test('beyond a hundred', async () => {
    const users = Array.from({ length: 101 }, (_, i) => `u${i}`);
    const { member: of } = await newStage(...users);
    const answers: string[] = [];
    for (const user of users) {
      answers.push((await put(wrapOf(user, of.key.id), of.browser)).outcome);
    }
    expect(answers.slice(0, 100).filter((outcome) => outcome !== '200')).toEqual([]);
    expect(answers[100]).toBe('409 passphrases_full');
    // One that is there is replaced.
    expect((await put(wrapOf('u0', of.key.id), of.browser)).outcome).toBe('200');
  }, 60_000);
});
