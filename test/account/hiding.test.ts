/** What a refused sign-in does, and so how long it takes, must not tell which names exist: counted, not timed. */
import { afterAll, expect, test } from 'bun:test';
import type { JobRequest } from '../../workers/pool/job.ts';
import { JOBS } from '../../workers/table.ts';
import { entriesOf } from '../helpers/audit.ts';
import { basicAuth } from '../helpers/clients.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const FAILURES_MAX = 3;
const TRIES = FAILURES_MAX + 3;
/** More than are written of one source's rejections. */
const NOISE = 12;
const OWNER_IP = '192.0.2.1';
const SHAPED = 'Y'.repeat(43);
const OTHER = 'any other password';

const vault = await openTestVault({ alone: true });
const active = await vault.account();
const idle = await vault.account();
afterAll(() => vault.close());

async function signIn(server: TestVault, name: string, password: string, ip: string): Promise<string> {
  const headers = { authorization: basicAuth(name, password), 'x-forwarded-for': ip };
  const reply = await server.handle(new Request('http://localhost/v1/whoami', { headers }));
  const body = (await reply.text()).replace(/"(request_id|retry_after)":("[^"]*"|\d+)/g, '');
  return `${reply.status} ${body}`;
}

/**
 * The commands that all nodes of Redis have executed since they were last counted, by name. Left out: those of
 * connections, and a script's text, which each node is sent once.
 */
async function takeCommands(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [, name = '', calls] of (await vault.raw.info('commandstats')).matchAll(
    /^cmdstat_([^:]+):calls=(\d+)/gm,
  )) {
    if (!/^(client|cluster|config|eval$|info|ping)/.test(name)) {
      counts[name] = (counts[name] ?? 0) + Number(calls);
    }
  }
  await vault.raw.config('RESETSTAT');
  return counts;
}

/** Tells the name of every job that a server's threads are given. */
function watchJobs(server: TestVault): () => readonly string[] {
  const { pool } = server.opened;
  const run = pool.run.bind(pool);
  let jobs: string[] = [];
  Reflect.set(pool, 'run', (request: JobRequest) => {
    jobs.push(Object.values(JOBS).find(({ kind }) => kind === request.job.kind)?.name ?? '');
    return run(request);
  });
  return () => {
    const taken = jobs;
    jobs = [];
    return taken;
  };
}

test.each([
  ['of any form', OTHER, 'verifyPassword'],
  ['of the form of generated ones', SHAPED, 'verifyGenerated'],
])('refusing guesses %s takes the same work for every name, also while locked', async (_, password, job) => {
  const server = await vault.secondServer({ authFailuresMax: FAILURES_MAX, trustedProxies: ['127.0.0.0/8'] });
  try {
    const jobs = watchJobs(server);
    const ip = password === OTHER ? '198.51.100.7' : '198.51.100.8';
    // The operator's log, where unknown names are, has had enough of this source; that of no account has.
    for (let n = 0; n < NOISE; n++) {
      await signIn(server, `noise-${n % 2}`, `${password.slice(1)}${n % 10}`, ip);
    }
    expect(await signIn(server, active.name, active.password, OWNER_IP)).toStartWith('200');
    const work = new Map<string, unknown>();
    for (const name of ['nobody-of-this-name', active.name, idle.name]) {
      const seen: unknown[] = [];
      for (let n = 0; n < TRIES; n++) {
        jobs();
        await takeCommands();
        const answer = await signIn(server, name, password, ip);
        seen.push({ answer, jobs: jobs(), commands: await takeCommands() });
      }
      work.set(name, seen);
    }
    const ofNobody = work.get('nobody-of-this-name') as readonly {
      jobs: readonly string[];
      answer: string;
    }[];
    expect(ofNobody.filter(({ jobs: done }) => done.includes(job))).toHaveLength(FAILURES_MAX);
    expect(ofNobody.filter(({ answer }) => answer.startsWith('429'))).toHaveLength(TRIES - FAILURES_MAX);
    expect([...work.values()]).toEqual([ofNobody, ofNobody, ofNobody]);
  } finally {
    await server.close();
  }
});

test('a rejection is in the log of the account that it is about, also where a server never opened its record', async () => {
  const ip = '198.51.100.9';
  const settings = { authFailuresMax: 1, trustedProxies: ['127.0.0.0/8'] };
  for (const status of ['401', '429']) {
    const server = await vault.secondServer(settings);
    expect(await signIn(server, idle.name, OTHER, ip)).toStartWith(status);
    await server.close();
  }
  const entries = (await entriesOf(idle)).filter(({ source_ip }) => source_ip === ip);
  const outcomes = entries.map(({ outcome }) => outcome);
  expect(outcomes.sort()).toEqual(['too_many_failures', 'unauthenticated']);
});
