import { createHash } from 'node:crypto';
import { VaultError } from '../core/errors.ts';
import type { Argument } from './resp.ts';
import { isOwnFault, type ScriptPlace, scriptFault } from './script-fault.ts';

/** A Lua script. It is called by its SHA-1, and sent in full only if Redis does not have it yet. */
export interface Script extends ScriptPlace {
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

/** The connection of the stores to Redis. It throws a VaultError for every failure that a request may cause. */
export interface RedisLink {
  /** Runs a read-only command; binary replies. */
  command(name: string, args: readonly Argument[]): Promise<unknown>;
  /** Runs read-only commands on keys of one slot; their binary replies in order. Throws the first error among them. */
  readEach(commands: readonly (readonly Argument[])[]): Promise<readonly unknown[]>;
  /**
   * Runs read-only commands that reply with lists of byte strings, and gives these replies in RESP2, one behind the other, for
   * a thread to read; undefined when they are more than `bytesMax`. A missing string may be given as an empty one.
   */
  readLists(commands: readonly (readonly Argument[])[], bytesMax: number): Promise<Buffer | undefined>;
  /** Runs a script; binary replies. With replicas configured, it resolves when they have the write, else it throws. */
  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown>;
  /** Runs a script that only reads, or whose effects may be lost; binary replies. It does not wait for replicas. */
  runUnreplicated(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown>;
  /** Runs a writing command, with the guarantees of `run`. */
  write(name: string, args: readonly Argument[]): Promise<unknown>;
  /** All nodes of a Cluster, including replicas; otherwise the one server. */
  nodes(): readonly RedisNode[];
  /** Whether `nodes` are those of a Cluster. */
  readonly isCluster: boolean;
  /** Whether commands can be sent now. */
  isConnected(): boolean;
  /** Closes the connection; commands in flight reject. */
  close(): Promise<void>;
}

/** The nodes that accept writes: the masters of a Cluster, otherwise the one server. */
export function mastersOf(redis: Pick<RedisLink, 'nodes'>): readonly RedisNode[] {
  return redis.nodes().filter(({ isReplica }) => !isReplica);
}

/** One server, for commands that every node must answer. */
export interface RedisNode {
  /** Its address, for operators. */
  readonly name: string;
  /** Whether it is a replica of another node of the Cluster. */
  readonly isReplica: boolean;
  /** Runs a command that names no key; binary replies. */
  command(name: string, args: readonly Argument[]): Promise<unknown>;
}

/** Errors that say nothing about the command: the server, its memory or its permissions are the reason. */
const UNAVAILABLE =
  /^(?:OOM|MISCONF|READONLY|LOADING|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|NOPERM|NOREPLICAS|BUSY|UNKILLABLE|NOAUTH|WRONGPASS)\b|ACL failure in script/;

/** Commands whose refusal callers tell from a Redis that is away: they do without, or say so. */
const OPTIONAL_COMMANDS: ReadonlySet<string> = new Set(['SCAN', 'BGREWRITEAOF', 'INFO', 'EVAL']);

/** Whether Redis forbids or does not know a command whose callers are prepared for that. */
export function isRefusal(name: string, error: unknown): boolean {
  return OPTIONAL_COMMANDS.has(name) && isForbiddenCommand(error);
}

/** Whether Redis forbids or does not know the command. */
export function isForbiddenCommand(error: unknown): boolean {
  return error instanceof Error && /^(NOPERM|ERR unknown command)/.test(error.message);
}

/** The VaultError for a failure of Redis, with the place of a script's failure; an error that is a bug is returned unchanged. */
export function toVaultError(error: unknown, script?: ScriptPlace): unknown {
  if (error instanceof VaultError || !(error instanceof Error)) {
    return error;
  }
  if (error.name !== 'ReplyError') {
    return new VaultError('store_unavailable');
  }
  if (UNAVAILABLE.test(error.message)) {
    return new VaultError('store_unavailable');
  }
  const cause = script && scriptFault(error, script);
  // Scripts only read what our scripts wrote. A value of another type was written by somebody else.
  if (!isOwnFault(error.message) && /WRONGTYPE|not an integer|user_script/.test(error.message)) {
    return new VaultError('integrity_failed', { cause });
  }
  return cause === undefined ? error : new VaultError('internal', { cause });
}

/** Options of a connection. */
export interface LinkOptions {
  /** How many replicas must confirm a write before it counts as done; 0 = none. */
  readonly replicas: number;
  /** Called with the name of each command and script that has finished or failed. */
  readonly onCall?: (name: string, startedAt: number, hasFailed: boolean) => void;
  /** Called once when the connection is lost, and once when it is restored. */
  readonly onLink?: (state: 'disconnected' | 'reconnected') => void;
}

/** Whether Redis does not have a script, which must be sent in full. */
export function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}
