/**
 * The floor under the vault: HTTP, a thread of the vault's pool that does nothing, and the vault's own scripts on a Redis
 * that syncs every write; a reading is logged before its reply. No sign-in, no encryption, no counts.
 * Below `/scripts` the thread is left out, below `/unlogged` the log of a reading as well: what each of them costs.
 * Arguments: the socket of its Redis, the number of threads, and the sizes of what is stored as JSON. Prints its port.
 */
import { randomBytes } from 'node:crypto';
import { Elysia } from 'elysia';
import { openRedis } from '../../server/redis/open.ts';
import { ItemStore } from '../../server/vault/store/items.ts';
import { bytes, list } from '../../workers/jobs/codec.ts';
import { Pool } from '../../workers/pool/pool.ts';

/** Bytes of what the vault stores for a card, and of the text that a reading gives. */
export interface ItemSizes {
  readonly item: number;
  readonly meta: number;
  readonly refMember: number;
  readonly logEntry: number;
  readonly text: number;
}

const [path = '', threads = '', sizesText = ''] = process.argv.slice(2);
const sizes = JSON.parse(sizesText) as ItemSizes;
const KID = 'empty-pipeline-0000000';
const GEN = 1;
const BUCKETS = 16;
const DEADLINE_MS = 5_000;
const EMPTY = new Uint8Array(0);
const PASSPHRASE = new Uint8Array(32);
const JSON_TYPE = { headers: { 'Content-Type': 'application/json' } };

const itemStore = new ItemStore(await openRedis({ kind: 'socket', path }, { replicas: 0 }), BUCKETS);
const pool = new Pool({
  entry: new URL('empty-worker.ts', import.meta.url),
  threads: Number(threads),
  workerData: sizes,
  queueMax: 2_000,
  coldConcurrency: 1,
});
await pool.ready();

type Fields = readonly Uint8Array[];
const FIELDS = list(bytes);

/** The fields that a thread would make, made without one. */
const SEALED: Fields = [sizes.item, sizes.meta, sizes.refMember, sizes.logEntry].map(
  (size) => new Uint8Array(size),
);
const OPENED: Fields = [new Uint8Array(sizes.text).fill(0x20), new Uint8Array(sizes.logEntry)];

function run(kind: number, input: Fields): Promise<Fields> {
  const job = { kind, input: FIELDS, output: FIELDS };
  return pool.run({ job, input, lane: 'hot', deadlineMs: DEADLINE_MS });
}

function seal(reference: string, body: Uint8Array): Promise<Fields> {
  const params = Buffer.from(JSON.stringify({ kid: KID, reference, now: Date.now() }));
  return run(0, [params, PASSPHRASE, body]);
}

function open(token: string, item: Uint8Array, meta: Uint8Array): Promise<Fields> {
  const params = Buffer.from(JSON.stringify({ kid: KID, token, now: Date.now() }));
  return run(1, [params, PASSPHRASE, item, meta]);
}

async function store(
  reference: string,
  [item = EMPTY, meta = EMPTY, refMember = EMPTY, logEntry = EMPTY]: Fields,
) {
  const token = randomBytes(32).toString('hex');
  // Members of an index differ from each other.
  const member = Buffer.from(refMember);
  member.write(token);
  const write = { token, gen: GEN, item, meta, refMember: member, logEntry, sad: EMPTY, sadExpiresAt: 0 };
  const outcome = await itemStore.write(KID, { ...write, identity: EMPTY });
  if (outcome.kind !== 'ok') {
    throw new Error(outcome.kind);
  }
  return { token, user: 'empty', reference, stored_at: new Date(outcome.storedAt).toISOString() };
}

async function read(token: string) {
  const found = await itemStore.read(KID, token);
  if (found === undefined) {
    throw new Error('missing');
  }
  return found;
}

async function show(token: string, [text = EMPTY, logEntry = EMPTY]: Fields): Promise<Response> {
  const outcome = await itemStore.appendLog(itemStore.bucketOf(KID, token), [token], [logEntry], GEN);
  if (outcome.kind !== 'appended' || outcome.present[0] !== true) {
    throw new Error(outcome.kind);
  }
  return new Response(Buffer.from(text), JSON_TYPE);
}

const RAW = { parse: 'arrayBuffer' } as const;
const app = new Elysia()
  .post(
    '/v1/vault/',
    async ({ body, query: { reference = '' } }) =>
      store(reference, await seal(reference, new Uint8Array(body as ArrayBuffer))),
    RAW,
  )
  .post('/scripts/v1/vault/', ({ body, query: { reference = '' } }) => body && store(reference, SEALED), RAW)
  .get('/v1/vault/', async ({ query: { token = '' } }) => {
    const { item, meta } = await read(token);
    return show(token, await open(token, item, meta));
  })
  .get('/scripts/v1/vault/', async ({ query: { token = '' } }) => {
    await read(token);
    return show(token, OPENED);
  })
  .get('/unlogged/v1/vault/', async ({ query: { token = '' } }) => {
    await read(token);
    return new Response(Buffer.from(OPENED[0] ?? EMPTY), JSON_TYPE);
  })
  .listen({ port: 0, hostname: '127.0.0.1' });
process.stdout.write(`PORT ${app.server?.port}\n`);
