import type { System } from '../boot/assemble.ts';
import { type CommandCall, CommandError, defineCommand } from '../cli/command.ts';
import type { Config } from '../config/config.ts';
import { existingMasterKey } from '../config/master-key.ts';
import type { MasterKeyRing } from '../config/ring.ts';
import { eachOf, recover } from '../core/concurrency.ts';
import { InstallationStore } from '../installation/store.ts';
import { mastersOf, type RedisLink } from '../redis/client.ts';
import type { RedisTarget } from '../redis/connect.ts';
import { openRedis } from '../redis/open.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { asCount } from '../redis/reply.ts';
import { type BackupCounts, type OpenBackup, openBackup } from './file.ts';
import type { BackupRecord } from './record.ts';
import { BackupStore } from './store.ts';

/** The most records in flight, and the most bytes that they have together. */
const IN_FLIGHT_MAX = 256;
const IN_FLIGHT_BYTES = 8 * 1_024 * 1_024;
/** The most parts of one command, so that Redis is never blocked for long. */
const COMMAND_PARTS = 2_000;
/** Keys that are finished concurrently. */
const KEYS_AT_ONCE = 8;
/** The message for a Redis with data; a restore never mixes two vaults. */
const TAKEN = 'This Redis is not empty. A backup is restored into an empty one alone; nothing was changed.';
/** The message for a Redis with an unfinished restore of another backup. */
const OTHER =
  'This Redis holds a half-restored copy of another backup. Finish that one, or empty this Redis; nothing was changed.';

/** The name and arguments of a Redis command. */
type Command = readonly [string, readonly (string | number | Uint8Array)[]];

/** Returns the Redis commands that write a record. Running them again changes nothing. */
function commandsOf({ kind, key, expiresAt, parts }: BackupRecord): readonly Command[] {
  const write = (name: string, values: readonly Uint8Array[] = parts): Command[] =>
    Array.from({ length: Math.ceil(values.length / COMMAND_PARTS) }, (_, at) => [
      name,
      [key, ...values.slice(at * COMMAND_PARTS, (at + 1) * COMMAND_PARTS)],
    ]);
  // The absolute time of expiry, so that a restored key expires when the original one would have.
  const expiry: readonly Command[] = expiresAt === 0 ? [] : [['PEXPIREAT', [key, expiresAt]]];
  switch (kind) {
    case 'hash':
      return [...write('HSET'), ...expiry];
    case 'zset':
      // ZADD expects each score before its member.
      return [
        ...write(
          'ZADD',
          parts.map((part, at) => parts[at ^ 1] ?? part),
        ),
        ...expiry,
      ];
    case 'set':
      return [...write('SADD'), ...expiry];
    case 'list':
      // A list is one record; the elements of an earlier attempt are removed first.
      return [['DEL', [key]], ...write('RPUSH'), ...expiry];
    case 'string':
      return [['SET', [key, ...parts, ...(expiresAt === 0 ? [] : ['PXAT', expiresAt])]]];
    default:
      return [];
  }
}

async function writeRecord(redis: RedisLink, record: BackupRecord): Promise<void> {
  for (const [name, args] of commandsOf(record)) {
    await redis.write(name, args);
  }
}

/** Writes records to Redis, many at the same time. Rejects with the error of the first failed command. */
class RestoreWriter {
  private inFlight: Promise<void>[] = [];
  private bytes = 0;

  constructor(private readonly redis: RedisLink) {}

  /** Resolves when another record can be added. */
  async add(record: BackupRecord): Promise<void> {
    const { kind, key, parts } = record;
    if (kind === 'again') {
      // Removes items that were copied again, as earlier records have written them.
      await this.finish();
      const [kid, ...pairs] = parts;
      await new BackupStore(this.redis).forget({ kid: String(kid), number: Number(key) }, pairs);
      return;
    }
    this.inFlight.push(writeRecord(this.redis, record));
    this.bytes += parts.reduce((sum, part) => sum + part.length, 0);
    if (this.inFlight.length >= IN_FLIGHT_MAX || this.bytes >= IN_FLIGHT_BYTES) {
      await this.finish();
    }
  }

  /** Resolves when all records are written. */
  async finish(): Promise<void> {
    const writes = this.inFlight;
    [this.inFlight, this.bytes] = [[], 0];
    await Promise.all(writes);
  }
}

/** Deletions during the backup, as far as the file contains them. */
interface Leftovers {
  /** Deleted keys with their accounts. */
  readonly keys: readonly { readonly aid: string; readonly kid: string }[];
  /** Ids of deleted accounts. */
  readonly accounts: readonly string[];
}

/** Ignores events: a restore reports to its terminal only. */
function silent(): void {
  // There is no log.
}

/** Reads the whole file once before anything is written, so that a damaged file changes nothing. */
async function verify(file: OpenBackup, { progress, signal }: CommandCall): Promise<BackupCounts> {
  const shown = progress('Verifying', 'bytes', file.bytes);
  let records = 0;
  let counts: BackupCounts | undefined;
  for await (const { kind, parts } of file.records(shown.at)) {
    signal.throwIfAborted();
    if (kind === 'end') {
      counts = JSON.parse(String(parts[0])) as BackupCounts;
    } else {
      records += 1;
    }
  }
  shown.end();
  if (counts === undefined || counts.records !== records) {
    throw new CommandError('The records of FILE do not match its counts.', 1);
  }
  return counts;
}

/** Returns true if no master has a key. */
async function isEmpty(redis: RedisLink): Promise<boolean> {
  const sizes = await Promise.all(mastersOf(redis).map((node) => node.command('DBSIZE', [])));
  return sizes.every((size) => asCount(size) === 0);
}

/** Writes all records; resolves with what was deleted during the backup. */
async function write(
  file: OpenBackup,
  target: RedisTarget,
  { progress, signal }: CommandCall,
  check: (redis: RedisLink) => Promise<unknown>,
): Promise<Leftovers> {
  const redis = await openRedis(target, { replicas: 0 });
  try {
    await check(redis);
    // Identifies the backup, so that only the same one can continue.
    const id = file.header.salt;
    // Records that an interrupted restore of the same file has written are overwritten.
    const state = await new InstallationStore(redis).claimRestore(id, await isEmpty(redis));
    if (state === 'other' || state === 'taken') {
      throw new CommandError(state === 'other' ? OTHER : TAKEN, 1);
    }
    const shown = progress('Restoring', 'bytes', file.bytes);
    const writer = new RestoreWriter(redis);
    const keys: { aid: string; kid: string }[] = [];
    const accounts: string[] = [];
    for await (const record of file.records(shown.at)) {
      signal.throwIfAborted();
      if (record.kind === 'orphan') {
        keys.push({ aid: record.key, kid: String(record.parts[0]) });
      } else if (record.kind === 'gone') {
        accounts.push(record.key);
      } else if (record.kind !== 'end') {
        await writer.add(record);
      }
    }
    await writer.finish();
    shown.end();
    return { keys, accounts };
  } finally {
    await redis.close();
  }
}

/** Makes a restored vault consistent, before any server may use it. Can be repeated after an interruption. */
async function finish(
  system: System,
  { keys, accounts }: Leftovers,
  seen: (keys: number) => void,
): Promise<void> {
  const { endpointStore, keyStore, recordStore } = system.stores;
  for (const { aid, kid } of keys) {
    await endpointStore.removeOfKey(aid, kid);
    await keyStore.purge(aid, kid);
  }
  if (accounts.length > 0) {
    // The sweep of the first server that starts removes the rest of them.
    await system.redis.write('SADD', [redisKeys.goneAccounts, ...accounts]);
  }
  // The operator's.
  await removeEnded(system, '');
  let done = 0;
  for (const { aid } of await system.services.accounts.list()) {
    await removeEnded(system, aid);
    for await (const entries of recordStore.entries(recordStore.kinds.keyRecord, aid)) {
      await eachOf(entries, ({ id: user }) => finishChange(system, aid, user), KEYS_AT_ONCE);
      done += entries.length;
      seen(done);
    }
  }
}

/**
 * Removes endpoints, credentials and people that were deleted during the backup: they were copied before, and the security log,
 * which is copied after them, contains their end.
 */
async function removeEnded({ crypto, services, stores }: System, aid: string): Promise<void> {
  const { endpointStore } = stores;
  const { gone } = await services.rollbacks.readLoggedStates(aid);
  await services.credentials.removeStates(aid, gone);
  await services.persons.removeStates(aid, gone);
  for (const entry of gone.size === 0 ? [] : await endpointStore.entries(aid)) {
    const stored = await endpointStore.read(entry.id);
    const place = { aid, id: entry.id };
    const digest = stored && crypto.endpointDigest({ place, policy: stored.policy });
    if (digest && gone.has(await recover(digest, 'integrity_failed', ''))) {
      await endpointStore.remove(aid, entry);
    }
  }
}

/**
 * Completes a passphrase change that may be only half in the copy: endpoints of an older generation are stopped, and older
 * generations stay invalid.
 */
async function finishChange({ crypto, stores }: System, aid: string, user: string): Promise<void> {
  const record = await stores.keyStore.read(aid, user);
  // A damaged record stays as it is; `vault verify` reports it.
  const facts = record && (await crypto.describeKey({ place: { aid, user }, record }).catch(() => undefined));
  // A key of the first generation was never changed.
  if (facts !== undefined && facts.gen > 1) {
    await stores.keyStore.moveFences(facts.kid, facts.gen);
    await stores.endpointStore.stopBefore(aid, facts.kid, facts.gen);
  }
}

/** Writes the records, then opens the vault to finish it. Servers can start only after that. */
async function restoreInto(
  target: RedisTarget,
  { config, ring, file, call }: { config: Config; ring: MasterKeyRing; file: OpenBackup; call: CommandCall },
): Promise<void> {
  const { checkSafety } = await import('../boot/redis/target.ts');
  const leftovers = await write(file, target, call, (redis) => checkSafety(redis, config, silent));
  const { assemble } = await import('../boot/assemble.ts');
  const { settingsOf } = await import('../boot/options.ts');
  const settings = settingsOf(config);
  const vault = await assemble({ ...config, workers: 1, redis: target, ring, settings, restoring: true });
  try {
    const shown = call.progress('Finishing', 'keys');
    await finish(vault, leftovers, shown.at);
    shown.end();
    call.signal.throwIfAborted();
    await vault.installationStore.finishRestore();
  } finally {
    await vault.close();
  }
}

/** `vault restore FILE`. It can be repeated after an interruption, with the same file. */
export const restoreCommand = defineCommand({
  words: ['restore'],
  argument: 'FILE',
  options: {},
  summary: 'Puts a backup into an empty Redis, with the master key of the vault that it was made of.',
  opens: 'config',
  async run(call, config) {
    const ring = (await existingMasterKey(config)).expose();
    const file = await openBackup(call.argument, ring, config.env);
    const counts = await verify(file, call);
    // Loaded on demand: other commands start faster without it.
    const { openTarget } = await import('../boot/redis/target.ts');
    const redis = await openTarget(config, silent);
    try {
      await restoreInto(redis.target, { config, ring, file, call });
    } finally {
      await redis.stop();
    }
    const { made_at } = file.header;
    return {
      data: { file: call.argument, made_at, ...counts },
      shown: {
        heading: `The vault is as it was at ${made_at}. Servers may start.`,
        columns: ['Accounts', 'Keys', 'Items', 'Records'],
        rows: [[counts.accounts, counts.keys, counts.items, counts.records].map(String)],
      },
    };
  },
});
