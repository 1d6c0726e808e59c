import { afterAll, describe, expect, test } from 'bun:test';
import { type AccountClient, type Answer, basicAuth, createAccountClient } from '../helpers/clients.ts';
import { failNext, holdNext } from '../helpers/hold.ts';
import { openTestVault } from '../helpers/vault.ts';

const vault = await openTestVault({ authFailuresMax: 50, workers: 2 });
const second = await vault.secondServer();
afterAll(async () => {
  await second.close();
  await vault.close();
});

function change(client: AccountClient, body: unknown, query = {}): Promise<Answer> {
  return client.send('POST', '/change-password', { body, query });
}
async function signIn(client: AccountClient, password: string, at = vault): Promise<number> {
  const headers = { authorization: basicAuth(client.name, password) };
  return (await client.via(at.handle).send('GET', '/whoami', { headers })).status;
}
function passwordOf(answer: Answer): string {
  return answer.as<{ password: string }>().password;
}

describe('a change of the password', () => {
  test('to a chosen one, in the body or the query, stops the old one at once on every server', async () => {
    for (const [body, query] of [
      [{ new_password: 'the chosen one: ü' }, {}],
      [undefined, { new_password: 'the chosen one: ü' }],
      [{ new_password: 'the chosen one: ü' }, { new_password: 'the chosen one: ü' }],
    ] as const) {
      const client = await vault.account();
      expect(await signIn(client, client.password, second)).toBe(200);
      const answer = await change(client, body, query);
      expect(answer.json).toEqual({ user: client.name, password: 'the chosen one: ü' });
      for (const server of [vault, second]) {
        expect(await signIn(client, client.password, server)).toBe(401);
        expect(await signIn(client, 'the chosen one: ü', server)).toBe(200);
      }
    }
  });

  test('without one makes one of 256 random bits, a new one each time', async () => {
    const made = new Set<string>();
    for (const body of [undefined, '', {}, '{}']) {
      const client = await vault.account();
      const password = passwordOf(await change(client, body));
      expect(password).toMatch(/^[A-Za-z0-9_-]{43}$/);
      expect(await signIn(client, password)).toBe(200);
      made.add(password);
    }
    expect(made.size).toBe(4);
  });

  test('takes any text of 1 to 4,096 characters, exactly', async () => {
    for (const password of [' ', 'p'.repeat(4_096), '🔑'.repeat(2_048), ':\u0000\n"\\:', 'a+b%20&c=d#e']) {
      const client = await vault.account();
      expect(passwordOf(await change(client, { new_password: password }))).toBe(password);
      expect(await signIn(client, password)).toBe(200);
      const again = createAccountClient(vault.handle, { ...client, password });
      const inQuery = [...password].with(0, '2').join('');
      expect(passwordOf(await change(again, undefined, { new_password: inQuery }))).toBe(inQuery);
    }
  });

  test('refuses any other', async () => {
    const client = await vault.account();
    for (const [body, query, field] of [
      [{ new_password: '' }, {}, 'body.new_password'],
      [{ new_password: 'p'.repeat(4_097) }, {}, 'body.new_password'],
      [{ new_password: '🔑'.repeat(2_049) }, {}, 'body.new_password'],
      ['{"new_password":"\\ud83d"}', {}, 'body.new_password'],
      [{ new_password: 12345678 }, {}, 'body.new_password'],
      [{ new_password: null }, {}, 'body.new_password'],
      ['[]', {}, 'body'],
      [undefined, { new_password: '' }, 'query.new_password'],
      [undefined, { new_password: 'p'.repeat(4_097) }, 'query.new_password'],
      [undefined, { new_password: '🔑'.repeat(2_049) }, 'query.new_password'],
    ] as const) {
      const refused = await change(client, body, query);
      expect([refused.outcome, refused.field]).toEqual(['400 invalid_request', field]);
    }
    expect(await signIn(client, client.password)).toBe(200);
  });

  test('refuses two different ones, no JSON, and whoever is not signed in', async () => {
    const client = await vault.account();
    const refused = await change(client, { new_password: 'one' }, { new_password: 'other' });
    expect([refused.outcome, refused.field]).toEqual(['400 conflicting_parameters', 'query.new_password']);
    expect((await change(client, 'new_password=x')).outcome).toBe('400 invalid_json');
    const headers = { authorization: basicAuth(client.name, 'wrong') };
    expect((await client.send('POST', '/change-password', { headers, body: {} })).outcome).toBe(
      '401 unauthenticated',
    );
    expect((await client.send('GET', '/change-password')).outcome).toBe('405 method_not_allowed');
    expect(await signIn(client, client.password)).toBe(200);
  });

  test('works at most five times a minute, on all servers together', async () => {
    const client = await vault.account();
    let { password } = client;
    for (let n = 0; n < 5; n++) {
      const handle = n % 2 === 0 ? vault.handle : second.handle;
      const answer = await change(createAccountClient(handle, { ...client, password }), undefined);
      expect(answer.outcome).toBe('200');
      password = passwordOf(answer);
    }
    const refused = await change(createAccountClient(second.handle, { ...client, password }), undefined);
    expect(refused.outcome).toBe('429 too_many_changes');
    const wait = Number(refused.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(60);
    expect(await signIn(client, password)).toBe(200);
    expect((await change(await vault.account(), undefined)).outcome).toBe('200');
  });

  test('costs nothing, and a refused one is no request', async () => {
    const client = await vault.account();
    await change(client, { new_password: '' });
    const { password } = { password: passwordOf(await change(client, undefined)) };
    expect(await vault.usage(client)).toEqual({ api_requests: 1 });
    expect(await signIn(client, password)).toBe(200);
  });
});

describe('at one instant', () => {
  test('of many changes with the same password one is done, and the others hear why not', async () => {
    const client = await vault.account();
    const there = client.via(second.handle);
    await Promise.all([signIn(client, client.password), signIn(client, client.password, second)]);
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, n) => change(n % 2 === 0 ? client : there, undefined)),
    );
    expect(answers.map(({ outcome }) => outcome).sort()).toEqual([
      '200',
      ...Array.from({ length: 4 }, () => '409 password_changed'),
    ]);
    const done = answers.find(({ status }) => status === 200);
    expect(await signIn(client, done === undefined ? '' : passwordOf(done))).toBe(200);
    expect(await signIn(client, client.password, second)).toBe(401);
    expect(await vault.usage(client)).toEqual({ api_requests: 4 });
  });

  test('a sign-in with the old password does not join a check that began before the change', async () => {
    const client = await vault.account();
    const { crypto } = second.opened;
    const held = holdNext(crypto, 'verifyPassword');
    const early = signIn(client, client.password, second);
    await held.reached;
    const { password } = { password: passwordOf(await change(client, undefined)) };
    const late = signIn(client, client.password, second);
    held.release();
    expect(await late).toBe(401);
    expect(await early).toBe(200);
    expect(await signIn(client, client.password, second)).toBe(401);
    expect(await signIn(client, password, second)).toBe(200);
  });

  test('an operator who resets the password is not undone by a change that began before', async () => {
    const client = await vault.account();
    const held = holdNext(vault.opened.crypto, 'hashPassword');
    const late = change(client, undefined);
    await held.reached;
    const reset = await second.opened.services.accounts.makePassword();
    await second.opened.services.accounts.setPassword(
      client.name,
      reset.map((text) => new TextEncoder().encode(text)),
    );
    held.release();
    expect((await late).outcome).toBe('409 password_changed');
    expect(await signIn(client, reset.expose())).toBe(200);
  });

  test('an account that was deleted and made anew keeps its own password', async () => {
    const client = await vault.account();
    const held = holdNext(vault.opened.crypto, 'hashPassword');
    const late = change(client, undefined);
    await held.reached;
    await second.opened.removeAccount(client.name);
    held.release();
    expect((await late).outcome).toBe('401 unauthenticated');
  });
});

describe('when Redis falters', () => {
  test('a change whose reply is lost is found to have happened, and its password is shown', async () => {
    const client = await vault.account();
    const { accountStore } = vault.opened.stores;
    const replace = accountStore.replace.bind(accountStore);
    accountStore.replace = async (...args) => {
      await replace(...args);
      accountStore.replace = replace;
      throw new Error('the connection broke');
    };
    const answer = await change(client, undefined);
    expect(answer.outcome).toBe('200');
    expect(await signIn(client, passwordOf(answer))).toBe(200);
  });

  test('a change that cannot be counted is answered: the new password exists nowhere else', async () => {
    const client = await vault.account();
    failNext(vault.opened.stores.usageStore, 'add', new Error('no space'));
    const answer = await change(client, undefined);
    expect(answer.outcome).toBe('200');
    expect(await signIn(client, passwordOf(answer))).toBe(200);
  });
});
