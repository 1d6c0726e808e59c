import { afterAll, describe, expect, test } from 'bun:test';
import { Secret } from '../../server/core/secret.ts';
import { JOBS } from '../../workers/table.ts';
import { type AccountClient, basicAuth, createAccountClient } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

const FAST = '$hmac-sha256$v=1$';
const STRETCHED = '$argon2id$';
const LOOKALIKE = `a-chosen-password-of-43-characters-${'x'.repeat(8)}`;

const vault = await openTestVault({ authFailuresMax: 0, workers: 2 });
const second = await vault.secondServer();
afterAll(async () => {
  await second.close();
  await vault.close();
});

function secretOf(text: string): Secret<Uint8Array> {
  return new Secret(new TextEncoder().encode(text));
}

/** An account with a generated password. */
async function generated(name: string): Promise<AccountClient> {
  const { accounts } = vault.opened.services;
  const password = (await accounts.makePassword()).expose();
  const made = await accounts.create(name, secretOf(password), {}, 'generated');
  return createAccountClient(vault.handle, { name, password, aid: made?.aid ?? '' });
}

/** The stored hash of an account's password. */
async function hashOf(name: string): Promise<string> {
  const { crypto, stores } = vault.opened;
  const place = { purpose: 'record', account: '', kind: 'account', path: [name] } as const;
  const record = (await stores.accountStore.read(name)) ?? Buffer.alloc(0);
  const opened = await crypto.openRecord({ place, record });
  return (JSON.parse(new TextDecoder().decode(opened)) as { phc: string }).phc;
}

/** Stores an account's record as another version would have written it. */
async function rewrite(name: string, edit: (record: Record<string, unknown>) => object): Promise<void> {
  const { crypto, stores } = vault.opened;
  const place = { purpose: 'record', account: '', kind: 'account', path: [name] } as const;
  const read = (await stores.accountStore.read(name)) ?? Buffer.alloc(0);
  const record = JSON.parse(new TextDecoder().decode(await crypto.openRecord({ place, record: read })));
  const plaintext = new TextEncoder().encode(JSON.stringify(edit(record)));
  await stores.accountStore.replace(name, read, await crypto.sealRecord({ place, plaintext }));
}

async function signIn(name: string, password: string, at = vault): Promise<number> {
  const headers = { authorization: basicAuth(name, password) };
  return (await at.handle(new Request('http://localhost/v1/whoami', { headers }))).status;
}

/** The jobs that threads get for a sign-in, by name. */
async function jobsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  const { pool } = vault.opened;
  const run = pool.run.bind(pool);
  const jobs: string[] = [];
  Reflect.set(pool, 'run', (...given: Parameters<typeof run>) => {
    jobs.push(Object.values(JOBS).find(({ kind }) => kind === given[0].job.kind)?.name ?? '');
    return run(...given);
  });
  await work().finally(() => Reflect.set(pool, 'run', run));
  return jobs.filter((name) => !name.includes('Audit'));
}

describe('a generated password', () => {
  test('is stored as a keyed hash, however it is made', async () => {
    const client = await generated('made-by-operator');
    expect(await hashOf(client.name)).toStartWith(FAST);
    expect(await signIn(client.name, client.password)).toBe(200);
    const changed = await client.send('POST', '/change-password', {});
    expect(await hashOf(client.name)).toStartWith(FAST);
    const { password } = changed.as<{ password: string }>();
    expect([await signIn(client.name, password), await signIn(client.name, client.password)]).toEqual([
      200, 401,
    ]);
    const again = createAccountClient(vault.handle, { ...client, password });
    await again.send('POST', '/change-password', { body: { new_password: 'a chosen one' } });
    expect(await hashOf(client.name)).toStartWith(STRETCHED);
    expect(await signIn(client.name, 'a chosen one')).toBe(200);
  });

  test('that was stretched, as all were before, is a keyed hash after its next use on any server', async () => {
    const { accounts } = vault.opened.services;
    const old = (await accounts.makePassword()).expose();
    await accounts.create('old', secretOf(old), {}, 'chosen');
    // Records from before say nothing of who made the password.
    await rewrite('old', ({ stretched, ...rest }) => {
      expect(stretched).toBe(true);
      return rest;
    });
    expect(await hashOf('old')).toStartWith(STRETCHED);
    const signedIn = [signIn('old', old), signIn('old', old, second), signIn('old', `${old.slice(1)}x`)];
    expect(await Promise.all(signedIn)).toEqual([200, 200, 401]);
    expect(await hashOf('old')).toStartWith(FAST);
    for (const at of [vault, second]) {
      expect([await signIn('old', old, at), await signIn('old', `${old.slice(1)}x`, at)]).toEqual([200, 401]);
    }
  });

  test('may be changed with the request that upgrades it', async () => {
    const { accounts } = vault.opened.services;
    const client = await generated('changes-at-once');
    const phc = await vault.opened.crypto.hashPassword({
      password: secretOf(client.password),
      isGenerated: false,
    });
    await rewrite(client.name, (record) => ({ ...record, phc }));
    expect((await client.send('POST', '/change-password', {})).outcome).toBe('200');
    expect(await accounts.lookUp(client.name)).toBeDefined();
  });
});

test('a chosen password of the same form is stretched, now and after each use', async () => {
  expect(LOOKALIKE).toHaveLength(43);
  await vault.opened.services.accounts.create('lookalike', secretOf(LOOKALIKE), {});
  for (const at of [vault, second]) {
    expect([await signIn('lookalike', LOOKALIKE, at), await signIn('lookalike', 'x', at)]).toEqual([
      200, 401,
    ]);
    expect(await hashOf('lookalike')).toStartWith(STRETCHED);
  }
});

test('a record that does not say which form its password has says so after its next use', async () => {
  const chosen = await vault.account();
  await rewrite(chosen.name, ({ stretched, ...rest }) => rest);
  const guess = (): Promise<readonly string[]> => jobsOf(() => signIn(chosen.name, 'Y'.repeat(43)));
  expect(await guess()).toContain('verifyPassword');
  expect(await signIn(chosen.name, 'wrong')).toBe(401);
  expect(await guess()).toContain('verifyPassword');
  const stretched = await hashOf(chosen.name);
  expect(await signIn(chosen.name, chosen.password)).toBe(200);
  expect(await guess()).not.toContain('verifyPassword');
  expect(await hashOf(chosen.name)).toBe(stretched);
  for (const at of [vault, second]) {
    expect([await signIn(chosen.name, chosen.password, at), await signIn(chosen.name, 'x', at)]).toEqual([
      200, 401,
    ]);
  }
});
