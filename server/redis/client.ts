import { createHash } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import { VaultError } from '../core/errors.ts';
import { refusalOf, type WriteRefusal } from '../core/write-refusal.ts';
import { type RedisTarget, waitUntilReady } from './connect.ts';
import { type Script, toVaultError } from './errors.ts';
import type { Argument } from './resp.ts';
import {
  type Call,
  type Command,
  CommandCall,
  type LinkOptions,
  ScriptCall,
  TogetherCall,
  type Wire,
} from './wire.ts';

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

/** One server, for commands that every node must answer. */
export interface RedisNode {
  /** Its address, for operators. */
  readonly name: string;
  /** It is a replica of another node of the Cluster. */
  readonly isReplica: boolean;
  /** The reason why it refuses writes; undefined if it has accepted the last one, or would accept one. */
  readonly refusal: WriteRefusal | undefined;
  /** Runs a command that names no key; binary replies. */
  command(name: string, args: readonly Argument[]): Promise<unknown>;
}

/** The nodes that accept writes: the masters of a Cluster, otherwise the one server. */
export function mastersOf(redis: RedisLink): readonly RedisNode[] {
  return redis.nodes().filter(({ isReplica }) => !isReplica);
}

/** The connection of the stores to Redis. It throws a VaultError for every failure that a request may cause. */
export abstract class RedisLink {
  /** `nodes` are those of a Cluster. */
  abstract readonly isCluster: boolean;
  private state: 'opening' | 'reconnected' | 'disconnected' | 'closed' = 'opening';
  private reported: WriteRefusal | undefined;
  /** The options of connections to single servers. */
  protected readonly wireOptions: LinkOptions;

  constructor(
    private readonly client: Redis | Cluster,
    private readonly options: LinkOptions,
  ) {
    this.wireOptions = { ...options, onRefusal: () => this.reportRefusal() };
    client.on('close', () => this.change('disconnected'));
    client.on('ready', () => this.change('reconnected'));
  }

  /** All nodes of a Cluster, including replicas; otherwise the one server. */
  abstract nodes(): readonly RedisNode[];

  /** The connection to the server of a key. */
  protected abstract wireOf(key: Argument | undefined): Wire | undefined;

  /** Waits until Redis answers. Throws a `StartError` if it does not in time. */
  async open(target: RedisTarget): Promise<this> {
    await waitUntilReady(this.client, () => this.ping(), target);
    this.state = 'reconnected';
    return this;
  }

  /** Runs a read-only command; binary replies. */
  command(name: string, args: readonly Argument[]): Promise<unknown> {
    return this.send(args[0], new CommandCall(name, args, false));
  }

  /** Runs a writing command, with the guarantees of `run`. */
  write(name: string, args: readonly Argument[]): Promise<unknown> {
    return this.send(args[0], new CommandCall(name, args, true));
  }

  /**
   * Runs read-only commands on keys of one slot, which reply with byte strings or lists of them, in one step. Returns the bytes of
   * the list of replies in RESP2, undefined if they are more than `bytesMax`. Throws the first error among them.
   */
  readTogether(commands: readonly Command[], bytesMax: number): Promise<Buffer | undefined> {
    // The reply to this call is its bytes.
    return this.send(commands[0]?.[1], new TogetherCall(commands, bytesMax)) as Promise<Buffer | undefined>;
  }

  /** Runs a script; binary replies. With replicas configured, it resolves when they have the write, else it throws. */
  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    return explained(this.send(keys[0], new ScriptCall(script, keys, args, true)), script);
  }

  /** Runs a script that only reads, or whose effects may be lost; binary replies. It does not wait for replicas. */
  runUnreplicated(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    return explained(this.send(keys[0], new ScriptCall(script, keys, args, false)), script);
  }

  /** True if commands can be sent now. */
  isConnected(): boolean {
    return this.client.status === 'ready';
  }

  /** Closes the connection; commands in flight reject. */
  async close(): Promise<void> {
    this.state = 'closed';
    this.client.disconnect();
  }

  private send(key: Argument | undefined, call: Call): Promise<unknown> {
    return this.wireOf(key)?.send(call) ?? Promise.reject(new VaultError('store_unavailable'));
  }

  private async ping(): Promise<void> {
    if (!this.isConnected()) {
      throw new Error('no server is connected');
    }
    // Otherwise the first requests would wait for the connections to their nodes.
    const replies = await Promise.allSettled(mastersOf(this).map((node) => node.command('PING', [])));
    // A Redis that refuses writes also refuses PING, and answers all the same.
    const failed = replies.filter(
      (reply) => reply.status === 'rejected' && refusalOf(reply.reason) === undefined,
    );
    const [first] = failed;
    if (first?.status === 'rejected' && failed.length === replies.length) {
      throw first.reason;
    }
  }

  /** Reports the reason why a server refuses writes, once for each change. */
  private reportRefusal(): void {
    const refusal = this.nodes().find((node) => node.refusal !== undefined)?.refusal;
    if (this.reported !== refusal && this.state !== 'closed') {
      this.reported = refusal;
      this.options.onRefusal?.(refusal);
    }
  }

  /** Reports changes of the connection, once each, however many errors belong to one change. */
  private change(to: 'disconnected' | 'reconnected'): void {
    if (this.state !== to && (this.state === 'disconnected' || this.state === 'reconnected')) {
      this.state = to;
      this.options.onLink?.(to);
    }
  }
}

/** Awaits the reply to a script: a failure has the stack frames of the caller. */
async function explained(sent: Promise<unknown>, script: Script): Promise<unknown> {
  try {
    return await sent;
  } catch (error) {
    throw toVaultError(error, script);
  }
}
