/** What becomes of accepted requests when processes die. All of it happens at once: taking over takes its time. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { jobsLeft, queueLeft, untilNone } from '../durability/left.ts';
import { type MortalVault, newMortalVault } from '../durability/server.ts';
import type { Query } from '../helpers/clients.ts';
import { acceptedId, CARD, CHARGED, type OrderChanges, proxyPost, requestTo } from '../helpers/proxy.ts';
import {
  type Act,
  createActGate,
  type Received,
  SILENT,
  startThirdParty,
  type ThirdParty,
  thirdPartyTrust,
} from '../helpers/third-party.ts';
import { createReceiver, expectedSignature, type Receiver } from '../helpers/webhook.ts';

const SETTLED_MS_MAX = 60_000;
const POLL_MS = 5;
const DONE: Act = { status: 200, body: 'done' };

interface Accepted {
  readonly id: string;
  readonly path: string;
  readonly receiver: Receiver;
}

interface Wanted {
  /** What the target does. */
  readonly acts: readonly Act[];
  /** What the receiver of the webhook does; it takes the first call when left out. */
  readonly calls?: readonly Act[];
  readonly changes?: OrderChanges;
  readonly query?: Query;
  readonly maxAttempts?: number;
}

let party: ThirdParty;
const vaults: MortalVault[] = [];
let paths = 0;

/** A vault that runs, and the way to have requests accepted by it. */
async function newVault() {
  const vault = newMortalVault((await thirdPartyTrust()).authority.pem);
  vaults.push(vault);
  await vault.start();
  await vault.client.key('u');
  const token = await vault.client.store('u', CARD);
  const accept = async (wanted: Wanted): Promise<Accepted> => {
    const { acts, calls = [], changes = {}, query = {}, maxAttempts = 3 } = wanted;
    paths += 1;
    const path = `/p${paths}`;
    party.script(path, ...acts);
    const receiver = createReceiver(party, ...calls);
    const webhook = { ...receiver.webhook, max_attempts: maxAttempts };
    const order = { request: requestTo(party.url(path), changes), webhook };
    const id = acceptedId(await proxyPost({ account: vault.client, user: 'u', token }, order, query));
    return { id, path, receiver };
  };
  return { vault, accept };
}

/** Waits until an attempt of a job has ended, and the next one is to come. */
async function untilPause({ raw }: MortalVault, { id }: Accepted): Promise<void> {
  const [name = ''] = await raw.keys(`{a:*}j:${id}`);
  while (true) {
    const [attempts, flight] = await raw.hmget(name, 'n', 'f');
    if (attempts === '1' && flight === '') {
      return;
    }
    await Bun.sleep(POLL_MS);
  }
}

async function untilPrinted({ printed }: MortalVault, word: string): Promise<void> {
  while (!printed().includes(word)) {
    await Bun.sleep(POLL_MS);
  }
}

/** Everything in flight that can be, then `kill -9`, and a new server. */
async function killServer() {
  const { vault, accept } = await newVault();
  const jobs = {
    post: await accept({ acts: [SILENT, DONE] }),
    put: await accept({ acts: [SILENT, DONE], changes: { method: 'PUT' } }),
    keyed: await accept({
      acts: [SILENT, DONE],
      changes: { headers: [{ 'Idempotency-Key': 'order 7' }] },
    }),
    lastPut: await accept({ acts: [SILENT, DONE], changes: { method: 'PUT' }, query: { attempts: 1 } }),
    pausing: await accept({ acts: [{ status: 429, headers: [['Retry-After', '5']] }, DONE] }),
    exhausted: await accept({
      acts: [{ status: 503, body: 'no', headers: [['Retry-After', '5']] }],
      query: { attempts: 2 },
    }),
    told: await accept({ acts: [DONE], calls: [SILENT, 200] }),
    toldOnce: await accept({ acts: [DONE], calls: [SILENT, 200], maxAttempts: 1 }),
  };
  const { post, put, keyed, lastPut, pausing, exhausted, told, toldOnce } = jobs;
  await Promise.all([
    ...[post, put, keyed, lastPut].map(({ path }) => party.call(path)),
    ...[pausing, exhausted].map((job) => untilPause(vault, job)),
    ...[told, toldOnce].map(({ receiver }) => receiver.next()),
  ]);
  await vault.kill();
  const before = Object.values(jobs).map(({ path }) => party.calls(path).length);
  await vault.start();
  await untilNone(() => jobsLeft(vault));
  return { ...jobs, vault, before };
}

/** The Redis dies under a running server, with attempts in flight. */
async function killRedis() {
  const { vault, accept } = await newVault();
  const gate = createActGate();
  const post = await accept({ acts: [gate.act(DONE)] });
  const put = await accept({ acts: [gate.act(503), DONE], changes: { method: 'PUT' } });
  const told = await accept({ acts: [DONE], calls: [gate.act(500), 200] });
  await Promise.all([party.call(post.path), party.call(put.path), told.receiver.next()]);
  await vault.killRedis();
  gate.open();
  await untilNone(() => jobsLeft(vault));
  return { vault, post, put, told };
}

/** The server is asked to end with an attempt in flight. */
async function terminate() {
  const { vault, accept } = await newVault();
  const gate = createActGate();
  const post = await accept({ acts: [gate.act(DONE)] });
  const waiting = await accept({ acts: [{ status: 503, headers: [['Retry-After', '3']] }, DONE] });
  await Promise.all([party.call(post.path), untilPause(vault, waiting)]);
  const ending = vault.terminate();
  await untilPrinted(vault, '"draining"');
  gate.open();
  const exitCode = await ending;
  await vault.start();
  await untilNone(() => jobsLeft(vault));
  return { vault, post, waiting, exitCode };
}

let killed: Awaited<ReturnType<typeof killServer>>;
let redisKilled: Awaited<ReturnType<typeof killRedis>>;
let terminated: Awaited<ReturnType<typeof terminate>>;

beforeAll(async () => {
  party = await startThirdParty();
  [killed, redisKilled, terminated] = await Promise.all([killServer(), killRedis(), terminate()]);
}, SETTLED_MS_MAX);
afterAll(async () => {
  await Promise.all(vaults.map(({ remove }) => remove()));
  party.stop();
}, SETTLED_MS_MAX);

function sent({ path }: Accepted): readonly Received[] {
  return party.calls(path);
}
function bodies({ receiver }: Accepted): unknown[] {
  return receiver.events().map(({ json }) => json);
}
const REPLY = expect.objectContaining({ status_code: 200, body: 'done' });
const UNKNOWN = { error: expect.stringMatching(/\.$/), code: 'outcome_unknown' };

describe('after kill -9 of the server', () => {
  test('a POST that was in flight is not sent again, and its webhook hears that nobody knows', () => {
    expect(sent(killed.post)).toHaveLength(1);
    expect(bodies(killed.post)).toEqual([UNKNOWN]);
    expect(killed.post.receiver.events()[0]?.id).toBe(killed.post.id);
  });

  test.each(['put', 'keyed'] as const)('one that may be repeated is sent again, the same: %s', (name) => {
    const job = killed[name];
    const calls = sent(job);
    expect(calls.map(({ text }) => text)).toEqual([CHARGED, CHARGED]);
    expect(calls.map(({ header }) => header('x-vault-request-id'))).toEqual([job.id, job.id]);
    expect(bodies(job)).toEqual([REPLY]);
  });

  test('but not beyond its attempts: then nobody knows', () => {
    expect(sent(killed.lastPut)).toHaveLength(1);
    expect(bodies(killed.lastPut)).toEqual([UNKNOWN]);
  });

  test('one that waited for its next attempt goes on', () => {
    expect(sent(killed.pausing)).toHaveLength(2);
    expect(bodies(killed.pausing)).toEqual([REPLY]);
  });

  test('with the attempts that it has left, and no more', () => {
    expect(sent(killed.exhausted)).toHaveLength(2);
    expect(bodies(killed.exhausted)).toEqual([expect.objectContaining({ status_code: 503, body: 'no' })]);
  });

  test('a webhook whose call was in flight is told again, of the same and under the same id', () => {
    const events = killed.told.receiver.events();
    expect(events.map(({ id }) => id)).toEqual([killed.told.id, killed.told.id]);
    expect(bodies(killed.told)).toEqual([REPLY, REPLY]);
    const { secret } = killed.told.receiver.webhook;
    for (const { received } of events) {
      expect(received.header('webhook-signature')).toBe(expectedSignature(secret, received));
    }
    expect(sent(killed.told)).toHaveLength(1);
  });

  test('but not more often than it may be called', () => {
    expect(bodies(killed.toldOnce)).toEqual([REPLY]);
  });

  test('nothing is left, and every request that was sent was billed', async () => {
    expect(killed.before).toEqual([1, 1, 1, 1, 1, 1, 1, 1]);
    expect([await jobsLeft(killed.vault), await queueLeft(killed.vault)]).toEqual([0, 0]);
    const [name = ''] = await killed.vault.raw.keys('{a:*}u:*');
    expect(await killed.vault.raw.hget(name, 'proxy_attempt')).toBe('12');
  });
});

describe('after kill -9 of the Redis under a running server', () => {
  test('an attempt that was in flight is told with its reply, since its server is still there', () => {
    expect(sent(redisKilled.post)).toHaveLength(1);
    expect(bodies(redisKilled.post)).toEqual([REPLY]);
  });

  test('one that has to be made again is', () => {
    expect(sent(redisKilled.put)).toHaveLength(2);
    expect(bodies(redisKilled.put)).toEqual([REPLY]);
  });

  test('a webhook that failed meanwhile is told again', () => {
    expect(redisKilled.told.receiver.events().map(({ id }) => id)).toEqual(
      Array(2).fill(redisKilled.told.id),
    );
    expect(bodies(redisKilled.told)).toEqual([REPLY, REPLY]);
  });
});

describe('after SIGTERM', () => {
  test('the attempt in flight ends, the server ends well, and the outcome is told', () => {
    expect(terminated.exitCode).toBe(0);
    expect(sent(terminated.post)).toHaveLength(1);
    expect(bodies(terminated.post)).toEqual([REPLY]);
  });

  test('what waits is left to the next server', () => {
    expect(sent(terminated.waiting)).toHaveLength(2);
    expect(bodies(terminated.waiting)).toEqual([REPLY]);
  });

  test('nobody has printed an error', () => {
    for (const { printed } of vaults) {
      expect(printed()).not.toMatch(/"level":"error"|job_queue_run_failed/);
    }
  });
});
