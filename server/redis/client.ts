import { createHash } from 'node:crypto';
import { causeOf, ReportedError } from '../core/error-cause.ts';
import { VaultError } from '../core/errors.ts';
import type { Argument } from './resp.ts';

/** A Lua script. It is called by its SHA-1, and sent in full only if Redis does not have it yet. */
export interface Script {
  /** The name in the first line of its file. */
  readonly name: string;
  /** The number of lines of the preludes. */
  readonly linesBefore: number;
  readonly text: string;
  readonly sha: string;
}

/** Joins the parts of a script; its name is in the first line of the last part, after the flags. */
export function script(...parts: readonly string[]): Script {
  const text = parts.join('\n');
  const [, name = 'script'] = /^(?:#!.*\n)?-- ([a-z-]+)\n/.exec(parts.at(-1) ?? '') ?? [];
  const linesBefore = parts.slice(0, -1).join('\n').split('\n').length;
  return {
    name,
    linesBefore: parts.length > 1 ? linesBefore : 0,
    text,
    sha: createHash('sha1').update(text).digest('hex'),
  };
}

/** The connection of the stores to Redis: `ServerLink` or `ClusterLink`. It throws a VaultError for every failure that a request may cause. */
export interface RedisLink {
  /** Runs a read-only command; binary replies. */
  command(name: string, args: readonly Argument[]): Promise<unknown>;
  /**
   * Runs read-only commands on keys of one slot, which reply with byte strings or lists of them, in one step. Returns the bytes of
   * the list of replies in RESP2, undefined if they are more than `bytesMax`. Throws the first error among them.
   */
  readTogether(commands: readonly (readonly Argument[])[], bytesMax: number): Promise<Buffer | undefined>;
  /** Runs a script; binary replies. With replicas configured, it resolves when they have the write, else it throws. */
  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown>;
  /** Runs a script that only reads, or whose effects may be lost; binary replies. It does not wait for replicas. */
  runUnreplicated(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown>;
  /** Runs a writing command, with the guarantees of `run`. */
  write(name: string, args: readonly Argument[]): Promise<unknown>;
  /** All nodes of a Cluster, including replicas; otherwise the one server. */
  nodes(): readonly RedisNode[];
  /** `nodes` are those of a Cluster. */
  readonly isCluster: boolean;
  /** True if commands can be sent now. */
  isConnected(): boolean;
  /** Closes the connection; commands in flight reject. */
  close(): Promise<void>;
}

/** The nodes that accept writes: the masters of a Cluster, otherwise the one server. */
export function mastersOf(redis: RedisLink): readonly RedisNode[] {
  return redis.nodes().filter(({ isReplica }) => !isReplica);
}

/** One server, for commands that every node must answer. */
export interface RedisNode {
  /** Its address, for operators. */
  readonly name: string;
  /** It is a replica of another node of the Cluster. */
  readonly isReplica: boolean;
  /** Runs a command that names no key; binary replies. */
  command(name: string, args: readonly Argument[]): Promise<unknown>;
}

/** Errors that say nothing about the command: the server, its memory or its permissions are the reason. */
const UNAVAILABLE =
  /^(?:OOM|MISCONF|READONLY|LOADING|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|NOPERM|NOREPLICAS|BUSY|UNKILLABLE|NOAUTH|WRONGPASS)\b|ACL failure in script/;

/** Commands that Redis may forbid: their callers distinguish that from an unavailable Redis. */
const OPTIONAL_COMMANDS: ReadonlySet<string> = new Set(['SCAN', 'BGREWRITEAOF', 'INFO', 'EVAL']);

/** True if Redis forbids or does not know an optional command. */
export function isRefusal(name: string, error: unknown): boolean {
  return OPTIONAL_COMMANDS.has(name) && isForbiddenCommand(error);
}

/** True if Redis forbids or does not know the command. */
export function isForbiddenCommand(error: unknown): boolean {
  return error instanceof Error && /^(NOPERM|ERR unknown command)/.test(error.message);
}

/** The VaultError for a failure of Redis, with the place of a script's failure; an error that is a bug is returned unchanged. */
export function toVaultError(error: unknown, script?: Script): unknown {
  if (error instanceof VaultError || !(error instanceof Error)) {
    return error;
  }
  if (error.name !== 'ReplyError' || UNAVAILABLE.test(error.message)) {
    return new VaultError('store_unavailable');
  }
  const cause = script && scriptFault(error, script);
  // Scripts only read values that our scripts wrote. A value of another type was not written by this server.
  if (!OWN_FAULT.test(error.message) && /WRONGTYPE|not an integer|user_script/.test(error.message)) {
    return new VaultError('integrity_failed', { cause });
  }
  return cause === undefined ? error : new VaultError('internal', { cause });
}

const FRAMES_MAX = 12;

/** Errors that only the script itself can cause; all others may be caused by the data. */
const OWN_FAULT =
  /compiling script|nonexistent global|Unknown Redis command|Wrong number of args|non local key/i;

/**
 * The position of a failure in a script: its name and line, then the stack frames of its caller. Call it where the reply is
 * awaited, because the error of the client was created in its parser and has only frames of that.
 */
function scriptFault(error: Error, { name, linesBefore }: Script): ReportedError {
  const here = new Error();
  Error.captureStackTrace(here, scriptFault);
  const line = Number(/user_script:(\d+)/.exec(error.message)?.[1] ?? 0);
  const frame =
    line > linesBefore ? `at ${name} (lua:${line - linesBefore})` : `at prelude of ${name} (lua:${line})`;
  const frames = [frame, ...(causeOf(here).stack ?? [])];
  return new ReportedError({ error: error.name, stack: frames.slice(0, FRAMES_MAX) });
}

export interface LinkOptions {
  /** The number of replicas that must confirm a write before it is acknowledged; 0 = none. */
  readonly replicas: number;
  /** Called with the name of each command and script that has finished or failed. */
  readonly onCall?: (name: string, startedAt: number, hasFailed: boolean) => void;
  /** Called once when the connection is lost, and once when it is restored. */
  readonly onLink?: (state: 'disconnected' | 'reconnected') => void;
}

/** True if Redis does not have a script, which must be sent in full. */
export function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

/** The timeout of WAIT, which blocks the connection; it is shorter after a WAIT that timed out. */
const [WAIT_MS, WAIT_MS_SHORT] = [1_000, 50];

/**
 * Makes the wait of one connection: it resolves with true when `replicas` replicas have all writes that the connection was
 * answered before. `askCount` sends WAIT with a timeout, and gives the number of replicas. One WAIT is in flight at a time.
 */
export function createReplicaWait(
  replicas: number,
  askCount: (timeoutMs: number) => Promise<number>,
  onCall: LinkOptions['onCall'],
): () => Promise<boolean> {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<boolean> | undefined;
  let isShort = false;
  const ask = async (): Promise<boolean> => {
    next = undefined;
    const startedAt = performance.now();
    const count = await askCount(isShort ? WAIT_MS_SHORT : WAIT_MS);
    isShort = count < replicas;
    onCall?.('WAIT', startedAt, isShort);
    return !isShort;
  };
  return () => {
    if (next === undefined) {
      next = last.then(ask, ask);
      last = next;
    }
    return next;
  };
}
