import { afterAll, afterEach, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { X509Certificate } from 'node:crypto';
import { Elysia } from 'elysia';
import { ROUTES } from '../../server/boot/routes.ts';
import { causeOf } from '../../server/core/error-cause.ts';
import { createCrypto } from '../../server/crypto/client.ts';
import { listen } from '../../server/http/listen/listen.ts';
import { mountRoutes } from '../../server/http/mount.ts';
import { type RedisLink, script } from '../../server/redis/client.ts';
import { Pool } from '../../workers/pool/pool.ts';
import { type AccountClient, type Answer, answerOf, type Handle, PASSPHRASE } from '../helpers/clients.ts';
import { acceptedId, type Item, newItem, openProxyVault, proxyPost, requestTo } from '../helpers/proxy.ts';
import { startThirdParty, type ThirdParty } from '../helpers/third-party.ts';
import type { TestVault } from '../helpers/vault.ts';
import { createReceiver } from '../helpers/webhook.ts';
import { type Authority, newAuthority } from '../workers/crypto/authority.ts';

/** Stands in the message of each fault, and in the data of each request that meets one. */
const CANARY = 'canary-4929123412341234';
const HERE = /internal-errors\.test\.ts:\d+:\d+/;

let vault: TestVault;
let thirdParty: ThirdParty;
let authority: Authority;
let item: Item;
let certificate: string;
let faultyPool: Pool;

/** A certificate that the account shows to third parties. */
async function issued(account: AccountClient): Promise<string> {
  const csr = await account.send('POST', '/proxy/csr', { body: { cn: 'shop.example' } });
  const { id, data } = csr.as<{ id: string; data: string }>();
  const query = { csr_id: id };
  const made = await account.send('POST', '/proxy/cert', { query, body: await authority.issue(data) });
  return made.as<{ id: string }>().id;
}

beforeAll(async () => {
  authority = await newAuthority('Clients');
  thirdParty = await startThirdParty();
  vault = await openProxyVault({ alone: true });
  item = await newItem(vault);
  certificate = await issued(item.account);
  const entry = new URL('../workers/fixtures/faulty-thread.ts', import.meta.url);
  faultyPool = new Pool({ entry, threads: 1, workerData: {}, queueMax: 8, coldConcurrency: 1 });
  await faultyPool.ready();
});
afterAll(async () => {
  await faultyPool.drain();
  await vault.close();
  thirdParty.stop();
});

/** What is undone after each test. */
let undo: () => void = () => undefined;
afterEach(() => {
  undo();
  undo = () => undefined;
});

function remember(spy: { readonly mockRestore: () => void }): void {
  undo = () => spy.mockRestore();
}

async function faultyWork(): Promise<never> {
  throw new TypeError(`no such thing: ${CANARY}`);
}

/** The application with a route whose handler fails. */
function withFaultyRoute(): Handle {
  const app = new Elysia({ normalize: false, handler: { standardHostname: false } });
  const routes = ROUTES.map((route) =>
    route.operationId === 'storeItem' ? { ...route, handle: faultyWork } : route,
  );
  mountRoutes(app, routes, vault.parts, vault.parts);
  app.compile();
  return (request) => app.handle(request);
}

type Run = RedisLink['run'];

/** Lets a script of this name do something else. */
function whenRun(name: string, work: (run: Run, ...call: Parameters<Run>) => Promise<unknown>): void {
  const { redis } = vault.opened;
  const run = redis.run.bind(redis);
  remember(
    spyOn(redis, 'run').mockImplementation((wanted, keys, args) =>
      wanted.name === name ? work(run, wanted, keys, args) : run(wanted, keys, args),
    ),
  );
}

/** The same script with another text, which Redis really runs. */
function insteadOf(name: string, lua: string): void {
  whenRun(name, (run, _, keys, args) => run(script('-- prelude\n', `-- ${name}\n${lua}`), keys, args));
}

function store(handle: Handle = vault.handle, passphrase = PASSPHRASE): Promise<Answer> {
  return item.account.via(handle).send('POST', '/vault', {
    query: { user: item.user, reference: CANARY },
    passphrase,
    headers: { 'User-Agent': CANARY },
    body: { card_number: '4111111111111111', note: CANARY },
  });
}

function remove(): Promise<Answer> {
  return item.account.send('DELETE', '/vault', {
    query: { user: item.user, token: item.token },
    headers: { 'User-Agent': CANARY },
  });
}

function charge(more: object = { synchronous: true }): Promise<Answer> {
  const request = requestTo(thirdParty.url('/charge'), { client_cert_id: certificate, body: CANARY });
  return proxyPost(item, { request, ...more }, {}, { headers: { 'User-Agent': CANARY } });
}

/** Sending fails where the certificate is about to be shown. */
function breakSending(): void {
  const check = spyOn(X509Certificate.prototype, 'checkPrivateKey').mockImplementation(() => {
    throw new RangeError(`cannot send: ${CANARY}`);
  });
  remember(check);
}

/** Lets a job run in a thread in which every job fails. */
function breakJob(name: 'storeItem'): void {
  const faulty = createCrypto(faultyPool, vault.opened.services.limiter);
  remember(spyOn(vault.opened.crypto, name).mockImplementation(faulty[name] as never));
}

const IN_THREAD = /^at faultyJob \(\/.+\/faulty-thread\.ts:\d+:\d+\)$/;

interface Fault {
  readonly layer: string;
  /** Puts the fault in place, and sends the request that meets it. */
  readonly meet: () => Promise<Answer>;
  readonly error: string;
  /** Each is found in one of the frames. */
  readonly places: readonly RegExp[];
  readonly code?: 'internal' | 'integrity_failed';
}

const FAULTS: readonly Fault[] = [
  {
    layer: 'route: a handler throws',
    meet: () => store(withFaultyRoute()),
    error: 'TypeError',
    places: [HERE, /server\/http\/request\.ts:\d+/],
  },
  {
    layer: 'worker, hot lane: a handler throws',
    meet: () => {
      breakJob('storeItem');
      return store();
    },
    error: 'TypeError',
    places: [IN_THREAD, /workers\/pool\/thread\.ts:\d+/],
  },
  {
    layer: 'store: a call throws',
    meet: () => {
      whenRun('write-items', faultyWork);
      return store();
    },
    error: 'TypeError',
    places: [HERE, /server\/vault\/store\/items\.ts:\d+/, /server\/vault\/writer\.ts:\d+/],
  },
  {
    layer: 'store: a reply that no script gives',
    meet: () => {
      whenRun('remove-items', async () => Buffer.from(CANARY));
      return remove();
    },
    error: 'VaultError',
    places: [/server\/vault\/store\/items\.ts:\d+/, /server\/vault\/remover\.ts:\d+/],
  },
  {
    layer: 'script: a name that it does not have',
    meet: () => {
      insteadOf('write-items', `local known = 1\nreturn ${CANARY.replaceAll('-', '_')}`);
      return store();
    },
    error: 'ReplyError',
    places: [/^at write-items \(lua:3\)$/, /server\/vault\/store\/items\.ts:\d+/],
  },
  {
    layer: 'script: an error that the data may have caused',
    meet: () => {
      insteadOf('write-items', `error('${CANARY}')`);
      return store();
    },
    error: 'ReplyError',
    places: [/^at write-items \(lua:2\)$/, /server\/vault\/store\/items\.ts:\d+/],
    code: 'integrity_failed',
  },
  {
    layer: 'outbound: sending throws',
    meet: () => {
      breakSending();
      return charge();
    },
    error: 'RangeError',
    places: [HERE, /server\/outbound\/https\.ts:\d+/],
  },
];

function expectPlaces(stack: readonly string[], places: readonly RegExp[]): void {
  for (const place of places) {
    expect(stack.filter((frame) => place.test(frame))).not.toBeEmpty();
  }
}

describe('a fault in our code is answered without a word of it, and found in the log', () => {
  test.each(FAULTS.map((fault) => [fault.layer, fault] as const))('%s', async (_, fault) => {
    const { code = 'internal', error, places, meet } = fault;
    vault.lines.length = 0;
    vault.events.length = 0;
    const answer = await meet();
    const requestId = answer.headers.get('x-request-id') ?? '';
    expect(answer.status).toBe(500);
    expect(answer.json).toEqual({ error: expect.any(String), code, request_id: requestId });
    const found = vault.lines.filter((line) => line.request_id === requestId && line.error !== undefined);
    expect(found).toHaveLength(1);
    const event = code === 'internal' ? 'unexpected_error' : 'record_damaged';
    expect(found[0]).toMatchObject({ level: 'error', event, code, error });
    expectPlaces(found[0]?.stack ?? [], places);
    const told = JSON.stringify([answer.text, [...answer.headers], vault.lines, vault.events]);
    expect(told).not.toContain(CANARY);
    expect(told).not.toContain(CANARY.replaceAll('-', '_'));
  });

  test('in a job: under the id of its request, and that of its own', async () => {
    vault.events.length = 0;
    breakSending();
    const receiver = createReceiver(thirdParty);
    const answer = await charge({ webhook: receiver.webhook });
    const job = acceptedId(answer);
    const failures = () => vault.events.filter(({ event }) => event === 'job_failed');
    while (failures().length === 0) {
      await Bun.sleep(5);
    }
    const [failure] = failures();
    expect(failure).toMatchObject({ job, code: 'internal', error: 'RangeError' });
    expectPlaces(failure?.['stack'] as string[], [HERE, /server\/outbound\/https\.ts:\d+/]);
    expect(JSON.stringify(vault.events)).not.toContain(CANARY);
  });
});

test('what the application throws instead of answering is answered, and told with the id of the reply', async () => {
  const told: unknown[] = [];
  // Of an application, only these are used.
  const server = listen({ fetch: faultyWork, routes: [] } as unknown as Elysia, {
    hostname: '127.0.0.1',
    port: 0,
    idleTimeoutSeconds: 30,
    onError: (error, requestId) => told.push({ ...causeOf(error), requestId }),
  });
  const answer = await answerOf(await fetch(`http://127.0.0.1:${server.port}/v1/${CANARY}`));
  await server.stop(true);
  expect(answer.outcome).toBe('500 internal');
  expect(told).toMatchObject([{ error: 'TypeError', requestId: answer.headers.get('x-request-id') }]);
  expect(answer.text + JSON.stringify(told)).not.toContain(CANARY);
});
