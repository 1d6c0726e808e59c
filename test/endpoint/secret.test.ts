/** Only the right secret learns anything of an endpoint: every other request is refused as if there were none. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import type { JobRequest } from '../../workers/pool/job.ts';
import { JOBS } from '../../workers/table.ts';
import { type AccountClient, type Answer, basicAuth, PASSPHRASE } from '../helpers/clients.ts';
import { type MadeEndpoint, type Use, useEndpoint } from '../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import {
  type Address,
  CARD,
  changePassphrase,
  GONE,
  KINDS,
  type Kind,
  make,
  OTHER_KIND,
  REFUSED,
  SECRET_PREFIX,
  use,
} from './kinds.ts';

const START = Date.parse('2026-03-01T12:00:00.000Z');
const HOUR = 3_600_000;
const YEAR = 365 * 24 * HOUR;
const METHOD = { capture: 'POST', retrieve: 'GET' } as const;

/** The endpoints of a kind that these tests are about. */
interface Stand {
  readonly live: MadeEndpoint;
  readonly twin: MadeEndpoint;
  readonly ruled: MadeEndpoint;
  readonly theirs: MadeEndpoint;
  readonly ended: MadeEndpoint;
  readonly stopped: MadeEndpoint;
  /** Deleted; another one has its id now. */
  readonly old: MadeEndpoint;
}

let clock = START;
let vault: TestVault;
let account: AccountClient;
let token: string;
const stands = new Map<Kind, Stand>();

beforeAll(async () => {
  vault = await openTestVault({ now: () => clock, authFailuresMax: 3 });
  account = await vault.account();
  const stranger = await vault.account();
  await Promise.all([account.key('u'), account.key('changed'), stranger.key('u')]);
  token = await account.store('u', { number: '1' });
  for (const kind of KINDS) {
    const anew = { unique_id: `anew-${kind}`, ttl: '0' };
    const old = await make(kind, account, 'u', anew);
    await account.send('DELETE', `/${kind}/${old.unique_id}`);
    await make(kind, account, 'u', anew);
    stands.set(kind, {
      live: await make(kind, account, 'u', { unique_id: `live-${kind}`, ttl: '0' }),
      twin: await make(kind, account, 'u', { ttl: '0' }),
      ruled: await make(kind, account, 'u', { rules: Array.from({ length: 20 }, (_, n) => `r${n}`).join() }),
      theirs: await make(kind, stranger),
      ended: await make(kind, account, 'u', { ttl: '1h' }),
      stopped: await make(kind, account, 'changed', { ttl: '0' }),
      old,
    });
    await vault.raw.hset(redisKeys.endpoint(`reserved-${kind}`), 'n', 'nonce');
  }
  expect((await changePassphrase(account, 'changed')).outcome).toBe('200');
});
beforeEach(() => {
  clock = START;
});
afterAll(() => vault.close());

function standOf(kind: Kind): Stand {
  const stand = stands.get(kind);
  if (stand === undefined) {
    throw new RangeError(kind);
  }
  return stand;
}

/** A request that must be refused. */
type Attempt = readonly [about: string, url: string, use: Use];

/** What may be wrong with the secret of an endpoint that is in use. */
function wrongSecrets(kind: Kind): readonly (readonly [string, string | undefined])[] {
  const { live, twin, theirs, old } = standOf(kind);
  const reader = standOf(OTHER_KIND[kind]).live;
  const [prefix, otherPrefix] = [SECRET_PREFIX[kind], SECRET_PREFIX[OTHER_KIND[kind]]];
  const { secret } = live;
  const characters = secret.slice(prefix.length);
  return [
    ['none', undefined],
    ['an empty one', ''],
    ['one of the right form', `${prefix}${'A'.repeat(43)}`],
    ['that of another endpoint', twin.secret],
    ['that of another account’s endpoint', theirs.secret],
    ['that of a deleted endpoint', old.secret],
    ['that of an endpoint of the other kind', reader.secret],
    ['that of the other kind with this prefix', `${prefix}${reader.secret.slice(prefix.length)}`],
    ['its own with the prefix of the other kind', `${otherPrefix}${characters}`],
    ['its own without a prefix', characters],
    ['its own with another version', secret.replace('1_', '2_')],
    ['its own in lower case', secret.replace(/./g, (each) => each.toLowerCase())],
    ['its own without the last character', secret.slice(0, -1)],
    ['its own with a character more', `${secret}A`],
    ['its own with padding', `${secret}=`],
    ['its own percent-encoded', secret.replace('v', '%76')],
    ['its own in a list', `${secret}, ${secret}`],
    ['its own beside another in a second header', `${secret}, ${prefix}x`],
    ['its own as a bearer token', `Bearer ${secret}`],
    ['a very long one', 'x'.repeat(10_000)],
    ['bytes that are no ASCII', `${secret.slice(0, -1)}ÿ`],
    ['the passphrase', encodeURIComponent(PASSPHRASE)],
  ];
}

/** Everything that may be wrong with a request to an endpoint. */
function attemptsOf(kind: Kind): readonly Attempt[] {
  const { live, ruled, ended, stopped, old } = standOf(kind);
  const other = standOf(OTHER_KIND[kind]).live;
  const { url, secret } = live;
  const wrong = `${SECRET_PREFIX[kind]}${Buffer.alloc(32, 1).toString('base64url')}`;
  const to = (id: string): string => `/v1/${kind}/${id}`;
  const unusable = [ended.url, stopped.url, to(`reserved-${kind}`)];
  return [
    ['an unknown id', to('nobody-has-this'), { secret: wrong }],
    ['an unknown id, with a secret that is right elsewhere', to('nor-this'), { secret }],
    ...wrongSecrets(kind).map(([about, given]): Attempt => [about, url, { secret: given }]),
    ['in the other header', url, { headers: { [`x-vault-${OTHER_KIND[kind]}-secret`]: secret } }],
    ['as a passphrase', url, { headers: { 'x-vault-passphrase': secret } }],
    ['in the query', url, { query: { secret, 'X-Vault-Capture-Secret': secret } }],
    ['a wrong one as a bearer token', url, { headers: { authorization: `Bearer ${wrong}` } }],
    ['after another scheme', url, { headers: { authorization: `Token ${secret}` } }],
    ['as the name of Basic', url, { headers: { authorization: basicAuth(secret, 'x') } }],
    ['the account instead', url, { headers: { authorization: basicAuth(account.name, account.password) } }],
    ['a wrong secret for one with rules', ruled.url, { secret: wrong }],
    ['the secret of the endpoint that had its id before', old.url, { secret: old.secret }],
    ['an endpoint of the other kind, with its own secret', to(other.unique_id), { secret: other.secret }],
    ['an endpoint of the other kind, with this secret', to(other.unique_id), { secret }],
    ...unusable.flatMap((address) =>
      [undefined, '', 'x', wrong, secret, other.secret].map(
        (given): Attempt => ['a wrong secret for one that is not in use', address, { secret: given }],
      ),
    ),
  ];
}

/** Ids that nothing can have, or nobody has. */
const ODD_IDS = [
  '%69frame',
  '%00',
  '%7Be:live%7D',
  'live%2F',
  'LIVE',
  '%ff',
  '%zz',
  '__proto__',
  'x'.repeat(10_000),
];

function attempt(kind: Kind, [, url, { headers, ...sent }]: Attempt, server = vault): Promise<Answer> {
  return useEndpoint(server, METHOD[kind], url, {
    ...(kind === 'capture' ? { body: CARD, idempotencyKey: 'tried' } : { query: { token } }),
    ...sent,
    headers: { 'x-request-id': 'request-of-a-stranger', ...headers },
  });
}
/** All that a caller sees of an answer. */
function shownOf({ status, text, headers }: Answer): unknown {
  return [status, text, [...headers].sort()];
}
async function expectSame(kind: Kind, attempts: readonly Attempt[]): Promise<void> {
  const unknown = await attempt(kind, ['unknown', `/v1/${kind}/never-was`, { secret: 'x' }]);
  expect([unknown.outcome, Object.keys(unknown.as<object>())]).toEqual([
    REFUSED,
    ['error', 'code', 'request_id'],
  ]);
  for (const each of attempts) {
    const answer = await attempt(kind, each);
    expect([each[0], each[1], shownOf(answer)]).toEqual([each[0], each[1], shownOf(unknown)]);
  }
}

describe.each(KINDS)('a refused request to a %s endpoint', (kind) => {
  test('is answered with one and the same status, headers and body, whatever is wrong', async () => {
    clock = START + 2 * HOUR;
    await expectSame(kind, attemptsOf(kind));
    expect((await use(vault, standOf(kind).live)).outcome).toBe('200');
  });

  test('so is an id that nothing can have, with a secret and without', async () => {
    const { secret } = standOf(kind).live;
    await expectSame(
      kind,
      ODD_IDS.flatMap((id) =>
        [secret, undefined].map((given): Attempt => [id, `/v1/${kind}/${id}`, { secret: given }]),
      ),
    );
  });

  /** The commands that Redis has been sent since they were last counted, by name. */
  const countCommands = async (): Promise<Record<string, number>> => {
    const stats = await vault.raw.info('commandstats');
    const counts = [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)]
      .map(([, name = '', calls]) => [name, Number(calls)] as const)
      .filter(([name]) => !/^(config|info|ping)/.test(name));
    await vault.raw.config('RESETSTAT');
    return Object.fromEntries(counts);
  };

  test('costs the same work, in jobs and in commands to Redis, for the first time and again', async () => {
    const server = await vault.secondServer();
    const { pool } = server.opened;
    const run = pool.run.bind(pool);
    let jobs: number[] = [];
    Reflect.set(pool, 'run', (request: JobRequest) => {
      jobs.push(request.job.kind);
      return run(request);
    });
    await attempt(kind, ['the first of all', `/v1/${kind}/first-of-all`, { secret: 'x' }], server);
    await countCommands();
    clock = START + 2 * HOUR;
    for (const each of attemptsOf(kind)) {
      for (const time of [1, 2]) {
        jobs = [];
        await attempt(kind, each, server);
        expect([each[0], time, jobs, await countCommands()]).toEqual([
          ...[each[0], time, [JOBS.checkEndpoint.kind], { hmget: 1 }],
        ]);
      }
    }
    await server.close();
  });

  test('locks nobody out, leaves nothing behind and is not counted, however often it comes', async () => {
    const { live } = standOf(kind);
    expect((await use(vault, live)).outcome).toBe('200');
    // A right use may make a fence of its key, which stays, and counts.
    const keys = async () => (await vault.raw.keys('*')).filter((key) => !/\}(f|n|uf)$/.test(key)).sort();
    const counted = async () => (await vault.usage(account))['api_requests'] ?? 0;
    const [keysBefore, countedBefore] = [await keys(), await counted()];
    const outcomes: string[] = [];
    for (let round = 0; round < 10; round++) {
      const guesses = Array.from({ length: 50 }, (_, n) => {
        const guess = Buffer.alloc(32, `${round} ${n}`).toString('base64url');
        return use(vault, { ...live, secret: `${SECRET_PREFIX[kind]}${guess}` });
      });
      const answers = await Promise.all([...guesses, use(vault, live), use(vault, live)]);
      outcomes.push(...answers.map(({ outcome }) => outcome));
    }
    expect(outcomes.filter((outcome) => outcome === REFUSED)).toHaveLength(500);
    expect(outcomes.filter((outcome) => outcome === '200')).toHaveLength(20);
    expect([await keys(), await counted()]).toEqual([keysBefore, countedBefore + 20]);
    // Nor is the account locked.
    await account.store('u', { number: '2' });
  });
});

describe.each(KINDS)('the right secret of a %s endpoint', (kind) => {
  const USES: readonly Use[] =
    kind === 'capture' ? [{}] : [{ query: { token: 'x' } }, {}, { query: { decrypt_all: true } }];
  const outcomeOf = async (address: Address): Promise<string> => (await use(vault, address)).outcome;

  test('may have spaces around it, and the path an encoded id and a slash at its end', async () => {
    const { url, secret, unique_id } = standOf(kind).live;
    expect(await outcomeOf({ url, secret: ` \t${secret} ` })).toBe('200');
    for (const path of [`${url}/`, `/v1/${kind}/%6c${unique_id.slice(1)}`, `${url}?`]) {
      expect([path, await outcomeOf({ url: path, secret })]).toEqual([path, '200']);
    }
    // Without an id it is the creation, which needs an account.
    for (const path of [`/v1/${kind}`, `/v1/${kind}/`]) {
      expect((await useEndpoint(vault, 'POST', path, { secret, body: CARD })).outcome).toBe(
        '401 unauthenticated',
      );
    }
  });

  test('is told of its end from the exact millisecond, on every server and for every use', async () => {
    const { ended } = standOf(kind);
    const end = Date.parse(ended.expires_at ?? '');
    expect(end).toBe(START + HOUR);
    const second = await vault.secondServer();
    const before = await vault.usage(account);
    for (const [at, gone] of [
      [end - 1, false],
      [end, true],
      [end + 1, true],
      // The clock may be put back.
      [end - 1, false],
      [end + HOUR, true],
      [end + YEAR, true],
    ] as const) {
      clock = at;
      for (const server of [vault, second]) {
        for (const sending of USES) {
          const { outcome } = await use(server, ended, sending);
          expect([at - end, outcome === GONE]).toEqual([at - end, gone]);
        }
      }
      expect((await use(second, { ...ended, secret: `${ended.secret}x` })).outcome).toBe(REFUSED);
    }
    clock = START;
    const used = (await vault.usage(account))['api_requests'] ?? 0;
    // Of the uses before the end, the one of an unknown token counts as nothing.
    expect(used - (before['api_requests'] ?? 0)).toBe(kind === 'capture' ? 4 : 8);
    await second.close();
  });

  test('is told so after a passphrase change, also to the same passphrase', async () => {
    expect(await outcomeOf(standOf(kind).stopped)).toBe(GONE);
    await account.key(`same-${kind}`);
    const made = await make(kind, account, `same-${kind}`);
    expect((await changePassphrase(account, `same-${kind}`, PASSPHRASE)).outcome).toBe('200');
    expect(await outcomeOf(made)).toBe(GONE);
    expect(await outcomeOf(await make(kind, account, `same-${kind}`))).toBe('200');
  });
});

test('the secret of a capture endpoint is looked at before the body', async () => {
  const { live, ended } = standOf('capture');
  const bodies = ['{', '[]', '{}', `{"number":"1","a":${'['.repeat(70)}`];
  await expectSame(
    'capture',
    bodies.map((body) => ['a malformed body', live.url, { secret: 'x', body }]),
  );
  clock = START + HOUR;
  const answer = await use(vault, ended, { body: '{' });
  expect(answer.outcome).toBe(GONE);
  expect(answer.headers.get('access-control-allow-origin')).toBe('*');
});
