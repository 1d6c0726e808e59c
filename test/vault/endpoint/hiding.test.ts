import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { JobRequest } from '../../../workers/pool/job.ts';
import { type AccountClient, type Answer, PASSPHRASE } from '../../helpers/clients.ts';
import { createCapture, createRetrieve, type MadeEndpoint, useEndpoint } from '../../helpers/endpoints.ts';
import { isSharedByCaptures } from '../../helpers/redis.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const KINDS = ['capture', 'retrieve'] as const;
type Kind = (typeof KINDS)[number];
const SECOND = 1_000;
const PREFIX = { capture: 'vcs1_', retrieve: 'vrs1_' } as const;
const METHOD = { capture: 'POST', retrieve: 'GET' } as const;

let now = Date.now();
let vault: TestVault;
let account: AccountClient;
let token: string;

beforeAll(async () => {
  vault = await openTestVault({ now: () => now, authFailuresMax: 3 });
  account = await vault.account();
  await Promise.all([account.key('u'), account.key('stopped')]);
  token = await account.store('u', { number: '1' });
  for (let n = 0; n < 20; n++) {
    await account.send('POST', '/rule', { query: { id: `rule-${n}` }, body: [{ name: 'noop' }] });
  }
});
afterAll(() => vault.close());

/** A request that must be refused: to which endpoint, with which secret. */
interface Attempt {
  readonly about: string;
  readonly url: string;
  readonly secret: string | undefined;
}

/** What may be tried of one kind: whatever is wrong with it, the answer must be one and the same. */
async function attemptsOf(kind: Kind): Promise<Attempt[]> {
  const rules = Array.from({ length: 20 }, (_, n) => `rule-${n}`).join(',');
  const make = (user: string, query = {}) =>
    kind === 'capture' ? createCapture(account, user, query) : createRetrieve(account, user, query);
  const [live, ruled, expired, stopped, other] = [
    await make('u'),
    await make('u', { rules }),
    await make('u', { ttl: '1s' }),
    await make('stopped'),
    kind === 'capture' ? await createRetrieve(account, 'u') : await createCapture(account, 'u'),
  ];
  const wrong = `${PREFIX[kind]}${Buffer.alloc(32, 1).toString('base64url')}`;
  const to = (
    about: string,
    { url }: Pick<MadeEndpoint, 'url'>,
    secret: string | undefined = wrong,
  ): Attempt => ({
    about,
    url,
    secret,
  });
  return [
    to('an unknown id', { url: `/v1/${kind}/nobody-has-this` }),
    to('an unknown id, with a secret that is right elsewhere', { url: `/v1/${kind}/nor-this` }, live.secret),
    to('a wrong secret', live),
    to('the secret of another endpoint', live, ruled.secret),
    to('a malformed secret', live, 'x'),
    to('a secret of one character less', live, live.secret.slice(0, -1)),
    to('a secret of the other kind', live, other.secret),
    to('an empty secret', live, ''),
    { about: 'no secret', url: live.url, secret: undefined },
    to('a very long secret', live, `${PREFIX[kind]}${'A'.repeat(5_000)}`),
    to('a wrong secret for one with rules', ruled),
    to('a wrong secret for one that has expired', expired),
    to('a wrong secret for one that was stopped', stopped),
    to('a malformed secret for one that was stopped', stopped, 'x'),
    to('an endpoint of the other kind', { url: `/v1/${kind}/${other.unique_id}` }, other.secret),
  ];
}
const tries = new Map<Kind, Attempt[]>();
beforeAll(async () => {
  for (const kind of KINDS) {
    tries.set(kind, await attemptsOf(kind));
  }
  const body = { user: 'stopped', passphrase: PASSPHRASE, new_passphrase: 'the new passphrase of the key' };
  expect((await account.send('PUT', '/key', { body })).outcome).toBe('200');
  now += 2 * SECOND;
});

function attempt(kind: Kind, { url, secret }: Attempt, server = vault): Promise<Answer> {
  return useEndpoint(server, METHOD[kind], url, {
    secret,
    ...(kind === 'capture' ? { body: { number: '1' }, idempotencyKey: 'tried' } : { query: { token } }),
    headers: { 'x-request-id': 'request-of-a-stranger' },
  });
}
function shownOf({ status, text, headers }: Answer): unknown {
  return [status, text, [...headers].sort()];
}

describe.each(KINDS.map((kind) => [kind]))('whatever is wrong with a request to a %s endpoint', (kind) => {
  test('status, headers and body of the answer are the same', async () => {
    const answers: unknown[] = [];
    for (const one of tries.get(kind) ?? []) {
      const answer = await attempt(kind, one);
      expect([one.about, answer.outcome]).toEqual([one.about, '403 endpoint_refused']);
      answers.push(shownOf(answer));
    }
    expect(answers.length).toBe(15);
    expect(answers).toEqual(answers.map(() => answers[0]));
  });

  test('it is the same for ids that nothing can have', async () => {
    const [first] = tries.get(kind) ?? [];
    const known = shownOf(await attempt(kind, first ?? { about: '', url: '', secret: '' }));
    for (const id of ['x'.repeat(129), 'ümlaut', '%00', 'a%20b', '%ff', "a';b", '{e:x}']) {
      const answer = await attempt(kind, { about: id, url: `/v1/${kind}/${id}`, secret: first?.secret });
      expect([id, shownOf(answer)]).toEqual([id, known]);
    }
  });

  test('only the right secret hears that the endpoint has expired or was stopped', async () => {
    const make = kind === 'capture' ? createCapture : createRetrieve;
    const made = await make(account, 'u', { ttl: '1s' });
    now += 2 * SECOND;
    expect((await attempt(kind, { about: '', ...made })).outcome).toBe('410 endpoint_gone');
    const changed = `${made.secret.slice(0, 10)}${made.secret[10] === 'A' ? 'B' : 'A'}${made.secret.slice(11)}`;
    expect((await attempt(kind, { about: '', url: made.url, secret: changed })).outcome).toBe(
      '403 endpoint_refused',
    );
  });
});

/** The commands that Redis has been sent since they were last counted, by name. */
async function countCommands(): Promise<Record<string, number>> {
  const stats = await vault.raw.info('commandstats');
  const counts: Record<string, number> = {};
  for (const [, name = '', calls] of stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)) {
    if (!/^(config|info|ping)/.test(name)) {
      counts[name] = (counts[name] ?? 0) + Number(calls);
    }
  }
  await vault.raw.config('RESETSTAT');
  return counts;
}

/** Tells of every job that a server's threads are given. */
function watchJobs(server: TestVault): { readonly take: () => number[] } {
  const { pool } = server.opened;
  const { run } = pool;
  let kinds: number[] = [];
  Reflect.set(pool, 'run', (job: JobRequest) => {
    kinds.push(job.kind);
    return run(job);
  });
  return {
    take: () => {
      const taken = kinds;
      kinds = [];
      return taken;
    },
  };
}

describe.each(KINDS.map((kind) => [kind]))('the work of refusing a request to a %s endpoint', (kind) => {
  test('is the same, in jobs and in commands to Redis, when it comes for the first time and again', async () => {
    const server = await vault.secondServer();
    try {
      const jobs = watchJobs(server);
      const decoy = { about: 'the first of all', url: `/v1/${kind}/first-of-all`, secret: 'x' };
      await attempt(kind, decoy, server);
      jobs.take();
      await countCommands();
      const work: unknown[] = [];
      const seen = new Set<string>();
      for (const one of tries.get(kind) ?? []) {
        for (const time of seen.has(one.url) ? [2] : [1, 2]) {
          seen.add(one.url);
          await attempt(kind, one, server);
          work.push([one.about, time, jobs.take(), await countCommands()]);
        }
      }
      const [, , jobsOfFirst, commandsOfFirst] = work[1] as [string, number, number[], object];
      expect(commandsOfFirst).toEqual({ hmget: 1 });
      const different = work.filter(
        (one) =>
          JSON.stringify((one as unknown[]).slice(2)) !== JSON.stringify([jobsOfFirst, commandsOfFirst]),
      );
      expect(different).toEqual([]);
    } finally {
      await server.close();
    }
  });

  test('takes the same time', async () => {
    const ROUNDS = 300;
    const chosen = (tries.get(kind) ?? []).filter(({ about }) => !/length|less|long|no secret/.test(about));
    const mediansOf = async (): Promise<number[]> => {
      const times = chosen.map((): number[] => []);
      for (let round = 0; round < ROUNDS; round++) {
        for (const [i, one] of chosen.entries()) {
          const start = performance.now();
          await attempt(kind, one);
          times[i]?.push(performance.now() - start);
        }
      }
      return times.map((ofOne) => ofOne.sort((a, b) => a - b)[ROUNDS >> 1] ?? 0);
    };
    let spread = Number.POSITIVE_INFINITY;
    for (let run = 0; run < 3 && spread > 1.5; run++) {
      const medians = await mediansOf();
      spread = Math.max(...medians) / Math.min(...medians);
    }
    expect(spread).toBeLessThan(1.5);
  }, 60_000);
});

describe('guessing', () => {
  test('locks no endpoint, is not counted, and leaves nothing behind', async () => {
    const [taking, giving] = [await createCapture(account, 'u'), await createRetrieve(account, 'u')];
    const count = async () => (await vault.raw.keys('*')).filter((key) => !isSharedByCaptures(key)).length;
    const before = await count();
    for (let n = 0; n < 400; n++) {
      const guesses = Array.from({ length: 5 }, () => ({
        about: 'a guess',
        url: taking.url,
        secret: `vcs1_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')}`,
      }));
      for (const answer of await Promise.all(guesses.map((one) => attempt('capture', one)))) {
        expect(answer.outcome).toBe('403 endpoint_refused');
      }
    }
    expect(await count()).toBe(before);
    expect((await useEndpoint(vault, 'POST', taking.url, { ...taking, body: { number: '1' } })).outcome).toBe(
      '200',
    );
    expect((await useEndpoint(vault, 'GET', giving.url, giving)).outcome).toBe('200');
    await account.store('u', { number: '2' });
  });

  test('one bit beside the secret, anywhere in it, is as wrong as any other', async () => {
    const made = await createRetrieve(account, 'u');
    const secret = Buffer.from(made.secret.slice(PREFIX.retrieve.length), 'base64url');
    for (let at = 0; at < secret.length; at++) {
      const near = Buffer.from(secret);
      near[at] = (near[at] ?? 0) ^ (1 << (at % 8));
      const one = { about: '', url: made.url, secret: `${PREFIX.retrieve}${near.toString('base64url')}` };
      expect((await attempt('retrieve', one)).outcome).toBe('403 endpoint_refused');
    }
    expect((await attempt('retrieve', { about: '', ...made })).outcome).toBe('200');
  });
});
