import { afterAll, describe, expect, test } from 'bun:test';
import { Secret } from '../../server/core/secret.ts';
import { type Answer, answerOf, basicAuth, PASSPHRASE } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

const FAILURES_MAX = 4;

const vault = await openTestVault({
  authFailuresMax: FAILURES_MAX,
  trustedProxies: ['127.0.0.0/8'],
});
const account = await vault.account();
await account.key('u');
afterAll(() => vault.close());

let addresses = 0;
function freshAddress(): string {
  addresses += 1;
  return `198.51.100.${addresses}`;
}

/** Asks who is signed in, from an address of its own unless one is given. */
async function whoami(authorization: string | undefined, from = freshAddress(), at = vault): Promise<Answer> {
  const headers = new Headers({ 'x-forwarded-for': from });
  if (authorization !== undefined) {
    headers.set('authorization', authorization);
  }
  return answerOf(await at.handle(new Request('http://localhost/v1/whoami', { headers })));
}
function encode(text: string, encoding: BufferEncoding = 'utf8'): string {
  return Buffer.from(text, encoding).toString('base64');
}
async function accountNamed(name: string, password: string): Promise<void> {
  const made = await vault.opened.services.accounts.create(
    name,
    new Secret(new TextEncoder().encode(password)),
    {},
  );
  expect(made?.name).toBe(name);
}

describe('signing in', () => {
  let passwords = 0;

  test('tells who one is', async () => {
    expect(await account.sdk.admin.whoami()).toEqual({
      user: account.name,
      environment: 'staging',
      api_version: '0.0.0-test',
      backwards_compatibility: 'v1',
    });
  });

  test.each(['pa:ss:word:', '  pass word  ', '密碼 🔑 ü a\u0001\n\u007f', 'x'.repeat(1_000)])(
    'takes a password exactly: %p',
    async (password) => {
      passwords += 1;
      const user = `exact-${passwords}`;
      await accountNamed(user, password);
      expect((await whoami(basicAuth(user, password))).as<{ user: string }>().user).toBe(user);
      for (const wrong of [`${password} `, password.slice(0, -1), `${password}\u0000`]) {
        expect((await whoami(basicAuth(user, wrong))).outcome).toBe('401 unauthenticated');
      }
    },
  );

  test('tells apart what looks the same', async () => {
    await accountNamed('forms', 'caf\u00e9 caf\u00e9');
    expect((await whoami(basicAuth('forms', 'cafe\u0301 cafe\u0301'))).status).toBe(401);
    expect((await whoami(`Basic ${encode('forms:café café', 'latin1')}`)).status).toBe(401);
    expect((await whoami(basicAuth('forms', 'caf\u00e9 caf\u00e9'))).status).toBe(200);
  });
});

describe('401', () => {
  const credentials = 'bm9ib2R5Om5vdGhpbmc=';
  test('for whatever is no sign-in, with the challenge', async () => {
    for (const authorization of [
      undefined,
      '',
      'Basic',
      `Bearer ${credentials}`,
      'Basic nobody:nothing',
      `Basic ${encode('nobody')}`,
      `Basic ${encode(':nothing')}`,
      `Basic ${credentials}`,
      basicAuth('{a}\n*', 'x'),
      basicAuth('x'.repeat(5_000), 'x'),
      `Basic ${encode('\u00ff\u00fe:x', 'latin1')}`,
    ]) {
      const refused = await whoami(authorization);
      expect([authorization, refused.outcome]).toEqual([authorization, '401 unauthenticated']);
      expect(refused.headers.get('www-authenticate')).toBe('Basic realm="vault"');
      expect(refused.headers.get('x-request-id')).not.toBeNull();
    }
  });

  test('for a wrong password is the same as for an unknown account', async () => {
    const texts = [];
    for (const authorization of [
      basicAuth(account.name, 'wrong'),
      basicAuth('no-such-account', 'wrong'),
      basicAuth(account.name, ''),
    ]) {
      const { json } = await whoami(authorization);
      texts.push({ ...Object(json), request_id: '' });
    }
    expect(texts[1]).toEqual(texts[0]);
    expect(texts[2]).toEqual(texts[0]);
  });

  test('comes before whatever else is wrong with a request', async () => {
    const headers = { authorization: basicAuth(account.name, 'wrong'), 'x-forwarded-for': freshAddress() };
    const attempts = [
      account.send('POST', '/vault', { headers, body: 'no json' }),
      account.send('GET', '/vault?limit=0', { headers }),
      account.send('DELETE', '/key', { headers }),
      account.send('PUT', '/key', { headers, body: {} }),
    ];
    for (const answer of await Promise.all(attempts)) {
      expect(answer.outcome).toBe('401 unauthenticated');
    }
  });
});

describe('a sign-in that is remembered', () => {
  test('ends at once when the account goes, and what was under it is gone', async () => {
    const client = await vault.account();
    await client.key('u');
    const token = await client.store('u', { number: '1' });
    await vault.opened.removeAccount(client.name);
    expect((await client.send('GET', '/whoami')).outcome).toBe('401 unauthenticated');
    const password = new Secret(new TextEncoder().encode(client.password));
    await vault.opened.services.accounts.create(client.name, password, { unmasked: true });
    expect((await client.sdk.keys.list()).data).toEqual([]);
    await client.key('u');
    const reading = { query: { user: 'u', token }, passphrase: PASSPHRASE };
    expect((await client.send('GET', '/vault', reading)).outcome).toBe('404 token_not_found');
  });

  test('follows the account’s record at once, on another server too', async () => {
    const client = await vault.account({ unmasked: true });
    await client.key('u');
    const token = await client.store('u', { number: '12345' });
    const second = await vault.secondServer();
    try {
      const there = client.via(second.handle);
      expect(await there.open('u', token)).toBe('{"number":"12345"}');
      await vault.opened.services.accounts.set(client.name, { unmasked: false });
      expect(await there.open('u', token)).toBe('{"number":"*2345"}');
      expect(await client.open('u', token)).toBe('{"number":"*2345"}');
      await second.opened.services.accounts.remove(client.name);
      expect((await client.send('GET', '/whoami')).outcome).toBe('401 unauthenticated');
      expect((await there.send('GET', '/whoami')).outcome).toBe('401 unauthenticated');
    } finally {
      await second.close();
    }
  });
});

describe('guessing', () => {
  const guess = (name: string, n: number, from: string): Promise<Answer> =>
    whoami(basicAuth(name, `guess ${n}`), from);

  test('a success clears the count, also one on another server', async () => {
    const client = await vault.account();
    const from = freshAddress();
    const right = basicAuth(client.name, client.password);
    const second = await vault.secondServer();
    try {
      for (const at of [vault, vault, second, second, second]) {
        for (let n = 0; n < FAILURES_MAX - 1; n++) {
          expect((await guess(client.name, n, from)).status).toBe(401);
        }
        // A server clears a count at most once in 20 ms.
        await Bun.sleep(25);
        expect((await whoami(right, from, at)).status).toBe(200);
      }
    } finally {
      await second.close();
    }
  });

  test('right passwords never count, however many come at once', async () => {
    const client = await vault.account();
    const right = basicAuth(client.name, client.password);
    const from = freshAddress();
    const answers = await Promise.all(Array.from({ length: 30 }, () => whoami(right, from)));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
  });
});

test('without a limit guesses are refused as wrong for ever, of passwords and of passphrases', async () => {
  const open = await vault.secondServer({ authFailuresMax: 0 });
  try {
    const from = freshAddress();
    for (let n = 0; n < FAILURES_MAX + 2; n++) {
      expect((await whoami(basicAuth(account.name, `guess ${n}`), from, open)).status).toBe(401);
      const reading = { query: { user: 'u', token: 'x' }, passphrase: `guess number ${n}` };
      expect((await account.via(open.handle).send('GET', '/vault', reading)).outcome).toBe(
        '403 passphrase_wrong',
      );
    }
  } finally {
    await open.close();
  }
});

describe('utilities', () => {
  test('check a number and make passphrases, for whoever is signed in', async () => {
    expect(await account.sdk.utility.luhn({ number: '4111111111111111' })).toEqual({
      valid: true,
      brand: 'visa',
    });
    expect((await account.sdk.utility.luhn({ number: '4111111111111112' })).valid).toBe(false);
    const made = await Promise.all(
      [undefined, 1, 32, 100, 4_096, 9_999].map((length) => account.sdk.utility.passphrase({ length })),
    );
    expect(made.map(({ passphrase }) => passphrase.length)).toEqual([64, 32, 32, 100, 4_096, 4_096]);
    for (const { passphrase } of made) {
      expect(passphrase).toMatch(/^[A-Za-z0-9_-]+$/);
    }
    expect((await whoami(undefined)).status).toBe(401);
  });
});
