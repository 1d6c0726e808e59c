import { afterAll, beforeAll, expect, test } from 'bun:test';
import { JOBS } from '../../../workers/table.ts';
import { type AccountClient, type Answer, answerOf, basicAuth } from '../../helpers/clients.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const FAILURES_MAX = 10;

let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault({ authFailuresMax: FAILURES_MAX, trustedProxies: ['127.0.0.0/8'] });
  account = await vault.account();
});

afterAll(() => vault.close());

async function whoami(password: string, from: string): Promise<Answer> {
  const headers = { authorization: basicAuth(account.name, password), 'x-forwarded-for': from };
  return answerOf(await vault.handle(new Request('http://localhost/v1/whoami', { headers })));
}

/** How many passwords the threads are to check meanwhile. */
async function checksDuring(work: () => Promise<void>): Promise<number> {
  const { pool } = vault.opened;
  const { run } = pool;
  let checks = 0;
  Reflect.set(pool, 'run', (...given: Parameters<typeof run>) => {
    checks += given[0].kind === JOBS.verifyPassword.kind ? 1 : 0;
    return run(...given);
  });
  await work().finally(() => Reflect.set(pool, 'run', run));
  return checks;
}

test('a thousand wrong passwords from one source are refused without a hash, and another source signs in', async () => {
  const from = '198.51.100.1';
  for (let n = 0; n < FAILURES_MAX; n++) {
    expect((await whoami(`guess ${n}`, from)).outcome).toBe('401 unauthenticated');
  }
  const outcomes = new Set<string>();
  const checks = await checksDuring(async () => {
    for (let n = 0; n < 990; n++) {
      outcomes.add((await whoami(`another guess ${n}`, from)).outcome);
    }
  });
  expect([...outcomes]).toEqual(['429 too_many_failures']);
  expect(checks).toBe(0);
  expect((await whoami(account.password, '198.51.100.2')).outcome).toBe('200');
});

test('all addresses of an IPv6 network of 64 bits are one source of guesses', async () => {
  for (let n = 0; n < FAILURES_MAX; n++) {
    expect((await whoami(`guess ${n}`, `2001:db8:1:2::${n}`)).outcome).toBe('401 unauthenticated');
  }
  expect((await whoami('guess', '2001:db8:1:2:ffff::1')).outcome).toBe('429 too_many_failures');
  expect((await whoami('guess', '2001:db8:1:3::1')).outcome).toBe('401 unauthenticated');
});
