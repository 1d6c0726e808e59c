/** What lies in Redis, in its files and in the server's log while accepted requests wait to be sent and told. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type Redis from 'ioredis';
import { type MortalVault, newMortalVault } from '../durability/server.ts';
import { type Canaries, canariesIn, dumpRedis } from '../helpers/canaries.ts';
import type { Sending } from '../helpers/clients.ts';
import { acceptedId, type OrderChanges, requestTo } from '../helpers/proxy.ts';
import {
  type Act,
  SILENT,
  startThirdParty,
  type ThirdParty,
  thirdPartyTrust,
} from '../helpers/third-party.ts';

const SIGNING = Buffer.from('canary bytes of a signing key 81');

/** Texts that may stand nowhere but in what third parties and webhooks get. */
const CANARIES = {
  number: '5204740009900014',
  cvv: 'cvv-canary-9417',
  holder: 'Canary Holder Qzvw',
  expiry: '11/2094',
  shortExpiry: '11/94',
  isoExpiry: '2094-11',
  yearMember: '"expiry_year":"2094"',
  passphrase: 'canary passphrase öf the key 71',
  bearer: 'canary-credential-of-the-target-72',
  path: 'canary-path-of-the-target-73',
  literal: 'canary-literal-of-a-body-74',
  webhookQuery: 'canary-query-of-the-webhook-75',
  webhookSecret: 'canary secret of the webhook 76',
  signingKey: SIGNING.toString('base64'),
  signingBytes: new Uint8Array(SIGNING),
  metadata: 'canary-metadata-77',
  idempotency: 'canary-idempotency-key-78',
  outgoingKey: 'canary-outgoing-idempotency-key-79',
  fetchedNumber: '6011000990139424',
  fetchedHolder: 'Fetched Canary Wvzq',
  echo: 'canary-echo-of-the-target-80',
  networkToken: '4917484589897107',
  cryptogram: 'CanaryCryptogramAAAAAAAB=',
  requester: 'canary-credential-of-the-operator-81',
} as const satisfies Canaries;

const CARD = {
  card_number: CANARIES.number,
  cvv: CANARIES.cvv,
  card_holder: CANARIES.holder,
  expiry_month: '11',
  expiry_year: '2094',
};
const CHARGE = [
  '{"pan":"{{card_number}}","cvc":"{{cvv}}","name":"{{card_holder}}","exp":"{{expiry_month}}/{{expiry_year}}",',
  `"short":"{{expiry_month}}/94","iso":"{{expiry_year}}-{{expiry_month}}","note":"${CANARIES.literal}"}`,
].join('');
const JSON_TYPE: readonly (readonly [string, string])[] = [['Content-Type', 'application/json']];
const ECHO = JSON.stringify({ ...CARD, exp: CANARIES.expiry, echo: CANARIES.echo });
const FETCHED = JSON.stringify({ number: CANARIES.fetchedNumber, name: CANARIES.fetchedHolder });
const GRANTED = JSON.stringify({
  token: CANARIES.networkToken,
  expiry_month: '11',
  expiry_year: '2094',
  status: 'active',
  cryptogram: CANARIES.cryptogram,
  eci: '05',
});

function LATER(body: string): Act {
  return {
    status: 429,
    headers: [['Retry-After', '60'], ...JSON_TYPE],
    body,
  };
}
function reply(body: string): Act {
  return { headers: JSON_TYPE, body };
}

/** How many of each kind wait in each place; all of them together are a hundred. */
const WAITING = { told: { post: 20, get: 10, token: 10 }, paused: { post: 15, get: 15 }, held: 30 } as const;
const START_MS_MAX = 60_000;
const POLL_MS = 10;

let folder: string;
let party: ThirdParty;
let vault: MortalVault;
let token: string;
let made = 0;

function found(text: string): string[] {
  return canariesIn(CANARIES, text);
}

function webhook(): object {
  made += 1;
  const secret = made % 2 === 0 ? CANARIES.webhookSecret : `whsec_${CANARIES.signingKey}`;
  const url = party.url(`/hook?q=${CANARIES.webhookQuery}`);
  return { url, secret, max_attempts: 8, metadata: { [CANARIES.metadata]: CANARIES.metadata } };
}

function request(path: string, changes: OrderChanges): object {
  return requestTo(party.url(`${path}?x=${CANARIES.path}`), {
    headers: [
      { Authorization: `Bearer ${CANARIES.bearer}` },
      { 'X-Card': '{{card_number}}' },
      { 'Idempotency-Key': CANARIES.outgoingKey },
    ],
    body: CHARGE,
    ...changes,
  });
}

const FETCH: OrderChanges = {
  method: 'GET',
  body: undefined,
  headers: [{ Authorization: `Bearer ${CANARIES.bearer}` }],
};

async function accept(route: string, query: Sending['query'], body: object): Promise<void> {
  const idempotencyKey = made % 2 === 0 ? undefined : `${CANARIES.idempotency} ${made}`;
  const { passphrase } = CANARIES;
  const sending: Sending = { query: { user: 'u', ...query }, body, passphrase };
  acceptedId(
    await vault.client.send(
      'POST',
      `/proxy/${route}`,
      idempotencyKey === undefined ? sending : { ...sending, idempotencyKey },
    ),
  );
}

function post(path: string): Promise<void> {
  return accept('post', { token }, { request: request(path, {}), webhook: webhook() });
}
function get(path: string): Promise<void> {
  return accept('get', { smart_parse: true }, { request: request(path, FETCH), webhook: webhook() });
}
function networkToken(): Promise<void> {
  return accept('network_token', { token, requester_id: 'psp' }, webhook());
}

async function times(count: number, work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: count }, work));
}

interface Places {
  readonly told: number;
  readonly paused: number;
  readonly held: number;
}

/** Where the jobs of the vault are, once each has got as far as it gets. */
async function places(): Promise<Places> {
  const counts = { told: 0, paused: 0, held: 0 };
  for (const name of await vault.raw.keys('{a:*}j:*')) {
    const [phase, attempts, flight] = await vault.raw.hmget(name, 'p', 'n', 'f');
    if (phase === 'tell') {
      counts.told += attempts === '0' ? 0 : 1;
    } else if (attempts === '1') {
      counts[flight === '' ? 'paused' : 'held'] += 1;
    }
  }
  return counts;
}

async function untilThere(wanted: Partial<Places>): Promise<void> {
  for (;;) {
    const now = await places();
    const { told = now.told, paused = now.paused, held = now.held } = wanted;
    if (now.told === told && now.paused === paused && now.held === held) {
      return;
    }
    await Bun.sleep(POLL_MS);
  }
}

/** A hundred requests of all kinds: those in a pause and those whose webhook fails first, then those in flight. */
async function fill(): Promise<void> {
  const { told, paused, held } = WAITING;
  party.script('/hook', { status: 500, body: ECHO });
  party.script('/told', reply(ECHO));
  party.script('/fetched', reply(FETCHED));
  party.script('/paused', LATER(ECHO));
  party.script('/fetched-later', LATER(FETCHED));
  party.script('/held', SILENT);
  party.script('/tokens', reply(GRANTED));
  await times(told.token, networkToken);
  await untilThere({ told: told.token });
  party.script('/tokens', SILENT);
  await times(told.post, () => post('/told'));
  await times(told.get, () => get('/fetched'));
  await times(paused.post, () => post('/paused'));
  await times(paused.get, () => get('/fetched-later'));
  await untilThere({ told: told.post + told.get + told.token, paused: paused.post + paused.get });
  await times(held / 3, networkToken);
  await times(held / 3, () => post('/held'));
  await times(held / 3, () => get('/held'));
  await untilThere({ held });
}

/** Lists and streams, whose names and dumps alone are not enough. */
async function listsAndStreams(raw: Redis): Promise<string> {
  const parts: string[] = [];
  for (const name of await raw.keysBuffer('*')) {
    const type = await raw.type(name);
    const command = type === 'list' ? 'LRANGE' : type === 'stream' ? 'XRANGE' : undefined;
    if (command !== undefined) {
      const range = command === 'LRANGE' ? ['0', '-1'] : ['-', '+'];
      const values = [await raw.callBuffer(command, name, ...range)].flat(9);
      parts.push(
        ...values.map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : String(value))),
      );
    }
  }
  return parts.join('\n');
}

async function everything(): Promise<string> {
  return `${await dumpRedis(vault.raw)}\n${await listsAndStreams(vault.raw)}`;
}

/** Every file of the data folder, as one text of latin1 characters. */
function files(): string {
  return readdirSync(vault.dataDir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(vault.dataDir, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n');
}

/** The files once all requests wait. Later ones keep what a test has planted. */
let written = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cv-requesters-'));
  party = await startThirdParty();
  const file = join(folder, 'requesters.json');
  const headers = { Authorization: `Bearer ${CANARIES.requester}` };
  writeFileSync(file, JSON.stringify([{ id: 'psp', url: party.url('/tokens'), headers }]), { mode: 0o600 });
  vault = newMortalVault((await thirdPartyTrust()).authority.pem, { VAULT_NETWORK_TOKEN_FILE: file });
  await vault.start();
  await vault.client.key('u', CANARIES.passphrase);
  const stored = await vault.client.send('POST', '/vault', {
    query: { user: 'u' },
    passphrase: CANARIES.passphrase,
    body: CARD,
  });
  token = stored.as<{ token: string }>().token;
  await fill();
  written = files();
}, START_MS_MAX);
afterAll(async () => {
  await vault.remove();
  party.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('while a hundred requests wait', () => {
  test('they wait in every place there is', async () => {
    const { told, paused, held } = WAITING;
    const total = [...Object.values(told), ...Object.values(paused), held].reduce(
      (sum: number, n) => sum + n,
      0,
    );
    expect([made, total]).toEqual([100, 100]);
    expect(await places()).toEqual({ told: 40, paused: 30, held: 30 });
  });

  test('the third parties and the webhooks have had all of it', () => {
    const paths = ['/hook', '/told', '/fetched', '/held', '/tokens'];
    const calls = paths.flatMap((path) => party.calls(path)).map(({ head, text }) => `${head}\n${text}`);
    const replies = [ECHO, FETCHED, GRANTED].join('\n');
    const elsewhere = ['passphrase', 'idempotency'];
    expect(found(`${calls.join('\n')}\n${replies}`)).toEqual(
      Object.keys(CANARIES).filter((name) => !elsewhere.includes(name)),
    );
  });

  test('Redis holds none of it, in no name and no value', async () => {
    const text = await everything();
    expect(text).toContain('{jobs}:run:');
    expect(text.length).toBeGreaterThan(50_000);
    expect(found(text)).toEqual([]);
  });

  test('nor do the files, in which everything stands that was ever written', () => {
    expect(written).toContain('{jobs}:run:');
    expect(written.length).toBeGreaterThan(100_000);
    expect(found(written)).toEqual([]);
  });

  test('nor does anything that the server has printed', async () => {
    const printed = vault.printed();
    expect(printed.split('"event":"proxy_attempt"').length).toBeGreaterThan(70);
    expect(printed.split('"event":"webhook_attempt"').length).toBeGreaterThan(40);
    expect(printed).not.toContain('"level":"error"');
    expect(found(printed)).toEqual([]);
  });
});
