/** Events that tell of times and of sign-ins: what must be renewed, and accounts that are locked. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { type AccountClient, basicAuth } from '../helpers/clients.ts';
import { makeCredential } from '../helpers/credentials.ts';
import { openProxyVault } from '../helpers/proxy.ts';
import { startThirdParty, type ThirdParty } from '../helpers/third-party.ts';
import type { TestVault } from '../helpers/vault.ts';
import { createReceiver, type Receiver } from '../helpers/webhook.ts';
import { newAuthority } from '../workers/crypto/authority.ts';
import { shown, subscribe } from './subscribed.ts';

const DAY_MS = 86_400_000;
const POLL_MS = 10;
const NOTICES = [30, 7, 1];

const authority = await newAuthority();
let vault: TestVault;
let second: TestVault;
let party: ThirdParty;
let aheadMs = 0;
let account: AccountClient;
let receiver: Receiver;

beforeAll(async () => {
  party = await startThirdParty();
  const now = (): number => Date.now() + aheadMs;
  vault = await openProxyVault({ alone: true, now, authFailuresMax: 3, trustedProxies: ['127.0.0.0/8'] });
  second = await vault.secondServer({ proxy: {}, jobs: false, now });
});
afterAll(async () => {
  await second.close();
  await vault.close();
  party.stop();
});
beforeEach(async () => {
  aheadMs = 0;
  account = await vault.account();
  receiver = createReceiver(party);
});

/** Types and ids of the events so far, after a round of both servers. */
async function told(subscription: string): Promise<readonly string[]> {
  await Promise.all([vault, second].map(({ opened }) => opened.services.events.round(true)));
  while ((await shown(account, subscription)).waiting > 0) {
    await Bun.sleep(POLL_MS);
  }
  return receiver.events().map(({ json }) => `${json['type']} ${Object(json['data']).id}`);
}

/** Lets days pass, in steps of half a day, and gives the events that came, with the days that were left. */
async function passDays(subscription: string, from: number, to: number): Promise<readonly string[]> {
  const out: string[] = [];
  for (let left = from; left >= to; left -= 0.5) {
    aheadMs = (from - left) * DAY_MS;
    const before = receiver.events().length;
    out.push(...(await told(subscription)).slice(before).map((line) => `${left} ${line}`));
  }
  return out;
}

/** A client certificate that ends at a time, and its id. */
async function certificate(notAfter: number): Promise<string> {
  const made = await account.send('POST', '/proxy/csr', { body: { cn: 'shop.example' } });
  const csr = made.as<{ readonly id: string; readonly data: string }>();
  const answer = await account.send('POST', '/proxy/cert', {
    query: { csr_id: csr.id },
    body: await authority.issue(csr.data, { notAfter: new Date(notAfter) }),
    headers: { 'content-type': 'application/x-pem-file' },
  });
  return answer.as<{ readonly id: string }>().id;
}

test('certificates and credentials are told 30, 7 and 1 days before their end, once each', async () => {
  const { id } = await subscribe(account, receiver, ['certificate.expiring', 'credential.expiring']);
  const credential = await makeCredential(account, ['vault:list'], { expires_in: 'P32D' });
  const used = await certificate(Date.now() + 32 * DAY_MS + 3_600_000);
  await makeCredential(account, ['vault:list']);
  const lines = await passDays(id, 32, -1);
  // Each comes with the first look after its time.
  const days = NOTICES.map((left) => [left, left - 0.5]);
  expect(lines.length).toBe(6);
  for (const [at, late] of days) {
    expect(lines.filter((line) => line.endsWith(` credential.expiring ${credential.id}`))).toContainEqual(
      expect.stringMatching(new RegExp(`^(${at}|${late}) `)),
    );
    expect(lines).toContain(`${late} certificate.expiring ${used}`);
  }
  const { data } = receiver.events().find(({ json }) => json['type'] === 'credential.expiring')?.json ?? {};
  expect(data).toMatchObject({ actor: 'vault', expires_at: credential.expires_at });
});

test('a subscription is not told what was due before it named the type', async () => {
  const { id } = await subscribe(account, receiver, ['key.created']);
  await makeCredential(account, ['vault:list'], { expires_in: 'P8D' });
  expect(await passDays(id, 8, 6)).toEqual([]);
  const body = { ...receiver.webhook, types: ['credential.*'] };
  expect((await account.send('PUT', `/event/subscription/${id}`, { body })).outcome).toBe('200');
  const lines = await told(id);
  expect(lines).toEqual([]);
  aheadMs = 7.5 * DAY_MS;
  expect(await told(id)).toHaveLength(1);
});

test('a lock of an account is told once for a source, whatever comes after it', async () => {
  const { id } = await subscribe(account, receiver, ['account.locked']);
  const guess = (ip: string) =>
    account.send('GET', '/whoami', {
      headers: { authorization: basicAuth(account.name, 'wrong'), 'x-forwarded-for': ip },
    });
  const outcomes = [];
  for (let n = 0; n < 6; n++) {
    outcomes.push((await guess('203.0.113.9')).outcome);
  }
  expect(outcomes.at(-1)).toBe('429 too_many_failures');
  await vault.opened.services.audit.flush();
  expect(await told(id)).toHaveLength(1);
  expect(receiver.events()[0]?.json['type']).toBe('account.locked');
  expect(receiver.events()[0]?.received.text).not.toContain('203.0.113.9');
  await guess('203.0.113.9');
  await vault.opened.services.audit.flush();
  expect(await told(id)).toHaveLength(1);
});
