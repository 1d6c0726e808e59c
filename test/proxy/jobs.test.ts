/** Asynchronous requests as their account sees them: listed, cancelled before they begin, and reported again. */
import { afterAll, describe, expect, spyOn, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import type { AccountClient, Answer, Query } from '../helpers/clients.ts';
import { PASSPHRASE } from '../helpers/clients.ts';
import { runCommand } from '../helpers/command.ts';
import { credentialClient } from '../helpers/credentials.ts';
import { capture, type MadeEndpoint } from '../helpers/endpoints.ts';
import {
  acceptedId,
  CARD,
  type Item,
  jobsDone,
  localProxy,
  newItem,
  openProxyVault,
  proxyGet,
  proxyPost,
  requestTo,
} from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import { createReceiver, expectedSignature } from '../helpers/webhook.ts';

const DAY_MS = 86_400_000;

interface Attempt {
  readonly at: string;
  readonly ms: number;
  readonly status_code?: number;
  readonly error?: string;
}
interface Shown {
  readonly id: string;
  readonly kind: string;
  readonly status: string;
  readonly host: string;
  readonly token?: string;
  readonly attempts: readonly Attempt[];
  readonly webhook?: {
    readonly url: string;
    readonly attempts: readonly Attempt[];
    readonly next_at?: string;
  };
  readonly actor: string;
  readonly created_at: string;
  readonly finished_at?: string;
}

let skewMs = 0;
const { vault, party } = await openProxySetting({
  now: () => Date.now() + skewMs,
  jobRetentionMs: 30 * DAY_MS,
});
const idle = await openProxyVault({ jobs: false });
afterAll(() => idle.close());

function list(account: AccountClient, query: Query = {}): Promise<Answer> {
  return account.send('GET', '/proxy/job', { query });
}
async function listed(account: AccountClient, query: Query = {}): Promise<readonly Shown[]> {
  const answer = await list(account, query);
  expect(answer.outcome).toBe('200');
  return answer.as<readonly Shown[]>();
}
async function shown(account: AccountClient, id: string): Promise<Shown> {
  const answer = await account.send('GET', `/proxy/job/${id}`);
  expect(answer.outcome).toBe('200');
  return answer.as<Shown>();
}
function redeliver(account: AccountClient, id: string): Promise<Answer> {
  return account.send('POST', `/proxy/job/${id}/redeliver`);
}
function cancel(account: AccountClient, id: string): Promise<Answer> {
  return account.send('DELETE', `/proxy/job/${id}`);
}
async function accept(item: Item, path: string, webhook: object, query: Query = {}): Promise<string> {
  return acceptedId(await proxyPost(item, { request: requestTo(party.url(path)), webhook }, query));
}
function outcomes(attempts: readonly Attempt[] = []) {
  return attempts.map(({ status_code: status, error }) => status ?? error);
}

describe('a job that has ended', () => {
  test('is listed with its attempts and those of its webhook, and with no data of the card', async () => {
    const item = await newItem(vault);
    const receiver = createReceiver(party, 500, 200);
    party.script('/charge', 503, 201);
    const id = await accept(item, '/charge', receiver.webhook, { attempts: 3 });
    await jobsDone(vault, item.account);
    const [job, ...others] = await listed(item.account);
    expect(others).toEqual([]);
    expect(job).toMatchObject({
      ...{ id, kind: 'post', status: 'done', token: item.token, actor: `account/${item.account.name}` },
      host: new URL(party.url('/')).host,
      webhook: { url: receiver.webhook.url },
    });
    expect([outcomes(job?.attempts), outcomes(job?.webhook?.attempts)]).toEqual([
      [503, 201],
      [500, 200],
    ]);
    expect(job).toEqual((await shown(item.account, id)) as never);
    expect(Date.parse(job?.finished_at ?? '')).toBeGreaterThanOrEqual(Date.parse(job?.created_at ?? ''));
    expect(JSON.stringify(job)).not.toContain(CARD.card_number.slice(0, 8));
    const stored = await vault.raw.hgetall(redisKeys.endedJob(item.account.aid, id));
    for (const secret of [item.token, receiver.webhook.url, receiver.webhook.secret]) {
      expect(JSON.stringify(stored)).not.toContain(secret);
    }
  });

  test('says how it failed, and when nobody knows what became of it', async () => {
    const item = await newItem(vault);
    const fine = createReceiver(party);
    const never = createReceiver(party, 500, 500);
    party.script('/cut', 'reset');
    party.script('/fine', 200);
    const failed = acceptedId(
      await proxyPost(
        item,
        { request: requestTo('https://127.0.0.1:1/'), webhook: fine.webhook },
        { attempts: 1 },
      ),
    );
    const unknown = await accept(item, '/cut', fine.webhook, { attempts: 1 });
    const untold = await accept(item, '/fine', { ...never.webhook, max_attempts: 2 });
    await jobsDone(vault, item.account);
    const states = (await listed(item.account)).map(({ id, status, attempts }) => [
      id,
      status,
      outcomes(attempts),
    ]);
    expect(states).toEqual([
      [untold, 'failed', [200]],
      [unknown, 'unknown', ['outcome_unknown']],
      [failed, 'failed', ['target_unreachable']],
    ]);
    expect(await listed(item.account, { status: 'unknown' })).toHaveLength(1);
    expect(await listed(item.account, { status: 'failed', kind: 'post' })).toHaveLength(2);
    expect(await listed(item.account, { kind: 'get' })).toEqual([]);
  });

  test('never calls what was sent unreachable, in its list and in the log', async () => {
    const item = await newItem(vault);
    const receiver = createReceiver(party, 'reset');
    party.script('/cut', 'reset');
    const id = await accept(item, '/cut', { ...receiver.webhook, max_attempts: 1 }, { attempts: 1 });
    await jobsDone(vault, item.account);
    const job = await shown(item.account, id);
    const codes = ['outcome_unknown'];
    expect([outcomes(job.attempts), outcomes(job.webhook?.attempts)]).toEqual([codes, codes]);
    const attempts = vault.events.filter(
      ({ event, ...fields }) => /_attempt$/.test(event) && fields['job'] === id,
    );
    const line = { attempt: 1, code: 'outcome_unknown', reason: 'broken_off' };
    expect(attempts).toMatchObject([
      { event: 'proxy_attempt', ...line },
      { event: 'webhook_attempt', delivered: false, ...line },
    ]);
  });

  test('reports again: the same body and id, signed anew, as often as it takes', async () => {
    const item = await newItem(vault);
    const receiver = createReceiver(party, 200, 500, 200, 200);
    const id = await accept(item, '/again', { ...receiver.webhook, metadata: { order: 7 } });
    await jobsDone(vault, item.account);
    const first = await receiver.next();
    const answer = await redeliver(item.account, id);
    expect(answer.outcome).toBe('200');
    expect(answer.as<Shown>()).toMatchObject({ id, status: 'reporting' });
    await jobsDone(vault, item.account);
    const [second, third] = [await receiver.next(), await receiver.next()];
    for (const { id: again, received } of [second, third]) {
      expect(again).toBe(first.id);
      expect(received.text).toBe(first.received.text);
      expect(received.header('webhook-signature')).toBe(expectedSignature(receiver.webhook.secret, received));
    }
    expect(outcomes((await shown(item.account, id)).webhook?.attempts)).toEqual([200, 500, 200]);
    expect(party.calls('/again')).toHaveLength(1);
    const both = await Promise.all([redeliver(item.account, id), redeliver(item.account, id)]);
    expect(both.map(({ outcome }) => outcome).sort()).toEqual(['200', '409 job_not_finished']);
    await jobsDone(vault, item.account);
    expect(receiver.events()).toHaveLength(4);
  });

  test('is reported again with all that have failed, and no other', async () => {
    const item = await newItem(vault);
    const bad = createReceiver(party, ...Array.from({ length: 3 }, () => 500), 200, 200, 200);
    const good = createReceiver(party, 200);
    const once = { ...bad.webhook, max_attempts: 1 };
    const failed = [
      await accept(item, '/f1', once),
      await accept(item, '/f2', once),
      await accept(item, '/f3', once),
    ];
    const done = await accept(item, '/d1', good.webhook);
    await jobsDone(vault, item.account);
    const redeliverAll = async (body: object) => {
      const { outcome, json } = await item.account.send('POST', '/proxy/job/redeliver', { body });
      return [outcome, json];
    };
    expect(await redeliverAll({ kind: 'capture' })).toEqual(['200', { redelivered: 0 }]);
    expect(await redeliverAll({ before: '2020-01-01T00:00:00Z' })).toEqual(['200', { redelivered: 0 }]);
    expect(await redeliverAll({})).toEqual(['200', { redelivered: 3 }]);
    await jobsDone(vault, item.account);
    expect(
      bad
        .events()
        .map(({ id }) => id)
        .sort(),
    ).toEqual([...failed, ...failed].sort());
    expect(good.events().map(({ id }) => id)).toEqual([done]);
    expect(await redeliverAll({})).toEqual(['200', { redelivered: 0 }]);
    expect(await redeliverAll({ status: 'done' })).toEqual(['200', { redelivered: 4 }]);
    await jobsDone(vault, item.account);
    for (const [body, field] of [
      [{ status: 'waiting' }, 'body.status'],
      [{ after: 'yesterday' }, 'body.after'],
    ] as const) {
      const answer = await item.account.send('POST', '/proxy/job/redeliver', { body });
      expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', field]);
    }
    const other = await item.account.send('POST', '/proxy/job/redeliver', { body: { next_token: 'x' } });
    expect([other.outcome, other.field]).toEqual(['400 cursor_invalid', 'body.next_token']);
  });

  test('is reported again by the operator, who says how many', async () => {
    const item = await newItem(vault);
    const bad = createReceiver(party, 500, 500, 200, 200);
    for (const path of ['/o1', '/o2']) {
      await accept(item, path, { ...bad.webhook, max_attempts: 1 });
    }
    await jobsDone(vault, item.account);
    const run = (...args: readonly string[]) =>
      runCommand(['job', 'redeliver-many', '--account', item.account.name, ...args], { vault });
    expect((await run('--kind', 'capture')).out).toBe('0 reports will be delivered again.\n');
    expect((await run('--before', '2020-01-01T00:00:00Z')).out).toBe('0 reports will be delivered again.\n');
    expect((await run()).out).toBe('2 reports will be delivered again.\n');
    await jobsDone(vault, item.account);
    expect(bad.events()).toHaveLength(4);
    expect(JSON.parse((await run('--json')).out)).toEqual({ redelivered: 0, complete: true });
    for (const [option, value] of [
      ['status', 'waiting'],
      ['kind', 'post '],
      ['after', 'yesterday'],
    ] as const) {
      const { code, err } = await run(`--${option}`, value);
      expect([code, err]).toEqual([2, expect.stringContaining(`\`${option}\` must be`)]);
    }
    const { jobStore } = vault.opened.stores;
    const repeatsNone = spyOn(jobStore, 'repeat').mockImplementation(async () => ({ kind: 'full' }));
    const full = await run('--status', 'done');
    repeatsNone.mockRestore();
    expect([full.code, full.out]).toEqual([
      1,
      '0 reports will be delivered again. Too many jobs wait: run the command again later for the others.\n',
    ]);
  });

  test('is reported again later where the account had no room, and none is left out', async () => {
    const item = await newItem(vault);
    const { aid } = item.account;
    const bad = createReceiver(party, 500, 500, 500);
    const once = { ...bad.webhook, max_attempts: 1 };
    const failed: string[] = [];
    for (const path of ['/r1', '/r2', '/r3']) {
      failed.push(await accept(item, path, once));
    }
    await jobsDone(vault, item.account);
    const { jobStore } = vault.opened.stores;
    const repeat = jobStore.repeat.bind(jobStore);
    const repeatsOnce = spyOn(jobStore, 'repeat').mockImplementation(async (...args) =>
      args[1].id === failed[2] ? repeat(...args) : { kind: 'full' },
    );
    const first = await item.account.send('POST', '/proxy/job/redeliver', { body: {} });
    repeatsOnce.mockRestore();
    expect(first.as<{ redelivered: number }>().redelivered).toBe(1);
    const { next_token } = first.as<{ next_token: string }>();
    await jobsDone(vault, item.account);
    const rest = await item.account.send('POST', '/proxy/job/redeliver', { body: { next_token } });
    expect([rest.outcome, rest.json]).toEqual(['200', { redelivered: 2 }]);
    await jobsDone(vault, item.account);
    const told = bad.events().map(({ id }) => id);
    expect(told.sort()).toEqual([...failed, ...failed].sort());
    expect(await vault.raw.zcard(redisKeys.jobDirectory(aid))).toBe(0);
  });

  test('stays listed for its time, then it is gone', async () => {
    const item = await newItem(vault);
    const receiver = createReceiver(party);
    const id = await accept(item, '/old', receiver.webhook);
    await jobsDone(vault, item.account);
    skewMs = 30 * DAY_MS - 60_000;
    expect((await shown(item.account, id)).status).toBe('done');
    await vault.opened.services.jobListing.trim(item.account.aid);
    expect(await listed(item.account)).toHaveLength(1);
    skewMs = 30 * DAY_MS + 60_000;
    expect((await item.account.send('GET', `/proxy/job/${id}`)).outcome).toBe('404 job_not_found');
    expect((await redeliver(item.account, id)).outcome).toBe('404 job_not_found');
    expect(await listed(item.account)).toEqual([]);
    await vault.opened.services.jobListing.trim(item.account.aid);
    skewMs = 0;
    expect(await vault.raw.exists(redisKeys.endedJob(item.account.aid, id))).toBe(0);
    expect(await vault.raw.zcard(redisKeys.endedJobDirectory(item.account.aid))).toBe(0);
  });

  test('goes with its key and its account', async () => {
    const item = await newItem(vault);
    const id = await accept(item, '/gone', createReceiver(party).webhook);
    await jobsDone(vault, item.account);
    await item.account.send('DELETE', '/key', { query: { user: 'u', safe: false } });
    expect((await item.account.send('GET', `/proxy/job/${id}`)).outcome).toBe('404 job_not_found');
    const other = await newItem(vault);
    await accept(other, '/gone', createReceiver(party).webhook);
    await jobsDone(vault, other.account);
    await vault.opened.removeAccount(other.account.name);
    expect((await vault.raw.keys(`{a:${other.account.aid}}y*`)).length).toBe(0);
  });
});

describe('a job that waits', () => {
  test('is cancelled: never sent, never told, and its request is gone', async () => {
    const item = await newItem(idle);
    const receiver = createReceiver(party);
    const id = await accept(item, '/cancelled', receiver.webhook);
    const { raw } = idle;
    const before = await raw.hgetBuffer(redisKeys.job(item.account.aid, id), 'r');
    expect((await shown(item.account, id)).status).toBe('waiting');
    expect((await redeliver(item.account, id)).outcome).toBe('409 job_not_finished');
    expect((await cancel(item.account, id)).outcome).toBe('200');
    expect((await cancel(item.account, id)).outcome).toBe('200');
    expect((await redeliver(item.account, id)).outcome).toBe('409 job_cancelled');
    const after = await raw.hgetBuffer(redisKeys.endedJob(item.account.aid, id), 'r');
    expect(after?.equals(before ?? Buffer.alloc(0))).toBe(false);
    expect(await shown(item.account, id)).toMatchObject({
      status: 'cancelled',
      token: item.token,
      attempts: [],
    });
    const second = await idle.secondServer({ proxy: await localProxy(), jobs: true });
    await second.opened.services.jobs.resume(item.account.aid);
    const kept = await accept(item, '/kept', receiver.webhook);
    await second.opened.services.jobs.resume(item.account.aid);
    await jobsDone(idle, item.account);
    await second.close();
    expect((await receiver.next()).id).toBe(kept);
    expect([party.calls('/cancelled'), receiver.events().length]).toEqual([[], 1]);
  });

  test('is either cancelled or sent, whoever is first', async () => {
    const item = await newItem(vault);
    const receiver = createReceiver(party);
    const counted: Record<string, number> = {};
    const race = async (): Promise<void> => {
      const id = await accept(item, '/raced', receiver.webhook);
      const { outcome } = await cancel(item.account, id);
      counted[outcome] = (counted[outcome] ?? 0) + 1;
    };
    for (let round = 0; round < 20; round++) {
      await Promise.all([race(), race(), race(), race(), race()]);
    }
    await jobsDone(vault, item.account);
    const jobs = await listed(item.account, { limit: -1 });
    expect(jobs).toHaveLength(100);
    expect(jobs.filter(({ status }) => status === 'cancelled')).toHaveLength(counted['200'] ?? 0);
    expect(jobs.filter(({ status }) => status === 'done')).toHaveLength(counted['409 job_started'] ?? 0);
    expect(party.calls('/raced')).toHaveLength(counted['409 job_started'] ?? 0);
  });

  test('may be the webhook of a capture', async () => {
    const account = await idle.account();
    await account.key('u');
    const receiver = createReceiver(party);
    const made = await account.send('POST', '/capture', {
      ...{ query: { user: 'u', reference: 'r' }, passphrase: PASSPHRASE },
      body: { webhook: receiver.webhook },
    });
    const endpoint = made.as<MadeEndpoint>();
    const { token } = (await capture(idle, endpoint, { body: CARD })).as<{ token: string }>();
    const [job] = await listed(account);
    expect(job).toMatchObject({
      ...{ kind: 'capture', status: 'waiting', token, reference: 'r', attempts: [] },
      ...{ host: new URL(receiver.webhook.url).host, actor: `endpoint/${endpoint.unique_id}` },
    });
    expect((await cancel(account, job?.id ?? '')).outcome).toBe('200');
    expect((await shown(account, job?.id ?? '')).status).toBe('cancelled');
  });
});

describe('the listing', () => {
  test('has pages, newest first, by time and kind', async () => {
    const item = await newItem(idle);
    const receiver = createReceiver(party);
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      ids.unshift(await accept(item, '/paged', receiver.webhook));
    }
    const fetched = acceptedId(
      await proxyGet(item.account, {
        request: requestTo(party.url('/fetched'), { body: '' }),
        webhook: receiver.webhook,
      }),
    );
    ids.unshift(fetched);
    const found: string[] = [];
    let token: string | undefined;
    do {
      const answer = await list(item.account, { limit: 2, next_token: token });
      found.push(...answer.as<readonly Shown[]>().map(({ id }) => id));
      token = answer.headers.get('x-vault-next-token') ?? undefined;
    } while (token !== undefined);
    expect(found).toEqual(ids);
    expect((await listed(item.account, { kind: 'get' })).map(({ id }) => id)).toEqual([fetched]);
    expect(await listed(item.account, { before: '2020-01-01T00:00:00Z' })).toEqual([]);
    expect(await listed(item.account, { after: '2020-01-01T00:00:00Z', limit: -1 })).toHaveLength(6);
    const page = await list(item.account, { limit: 1 });
    const next = page.headers.get('x-vault-next-token') ?? '';
    expect((await list(item.account, { limit: 1, kind: 'get', next_token: next })).outcome).toBe(
      '400 cursor_invalid',
    );
  });

  test('is each account’s own, and within the keys of a credential', async () => {
    const item = await newItem(vault);
    const receiver = createReceiver(party);
    const id = await accept(item, '/own', receiver.webhook);
    await jobsDone(vault, item.account);
    const stranger = await vault.account();
    for (const answer of [
      await stranger.send('GET', `/proxy/job/${id}`),
      await redeliver(stranger, id),
      await cancel(stranger, id),
      await item.account.send('GET', '/proxy/job/4111111111111111'),
    ]) {
      expect(answer.outcome).toBe('404 job_not_found');
    }
    expect(await listed(stranger)).toEqual([]);
    await item.account.key('v');
    const scopes = ['job:read', 'job:write'] as const;
    const own = await credentialClient(vault.handle, item.account, scopes, { keys: ['u'] });
    const other = await credentialClient(vault.handle, item.account, scopes, { keys: ['v'] });
    expect([await listed(own), await listed(other)].map(({ length }) => length)).toEqual([1, 0]);
    expect((await shown(own, id)).id).toBe(id);
    for (const answer of [await other.send('GET', `/proxy/job/${id}`), await redeliver(other, id)]) {
      expect([answer.outcome, answer.field]).toEqual(['403 not_allowed', 'scope']);
    }
    const reader = await credentialClient(vault.handle, item.account, ['job:read']);
    expect((await redeliver(reader, id)).outcome).toBe('403 not_allowed');
  });
});
