/**
 * A way to a Redis that holds its replies back until the vault has nothing left to do without them, so that round trips
 * are counted by what waits for what, and not by the clock.
 */
import { connect, createServer, type Socket } from 'node:net';

/** Turns of the event loop without anything new, after which the vault counts as waiting. */
const QUIET_TURNS = 8;
const LINE_END = '\r\n';
const MARK = 'held-redis-mark';
const MARK_COMMAND = `*2\r\n$4\r\nECHO\r\n$${MARK.length}\r\n${MARK}\r\n`;
const MARK_REPLY = Buffer.from(`$${MARK.length}\r\n${MARK}\r\n`);

/** What was sent to Redis. */
export interface Sent {
  /** The names of the commands, in lower case and in their order. */
  readonly commands: readonly string[];
  /** How often the work could not go on without replies. */
  readonly roundTrips: number;
}

interface Connection {
  readonly client: Socket;
  readonly server: Socket;
  /** What came from the vault and is no whole command yet. */
  unread: Buffer;
  held: Buffer[];
  isWaiting: boolean;
}

interface State {
  readonly connections: Set<Connection>;
  readonly commands: string[];
  isHolding: boolean;
  /** Turns since the vault sent something. */
  quietTurns: number;
}

/** The way to the Redis. */
export interface HeldRedis {
  /** Runs `work` and tells what it sent; `isIdle` says whether the vault itself has nothing under way. */
  watch(isIdle: () => boolean, work: () => Promise<unknown>): Promise<Sent>;
  close(): void;
}

function lineAt(buffer: Buffer, at: number): { readonly value: number; readonly next: number } | undefined {
  const end = buffer.indexOf(LINE_END, at);
  return end < 0
    ? undefined
    : { value: Number(buffer.toString('latin1', at + 1, end)), next: end + LINE_END.length };
}

/** The name of the command that begins the buffer, and its length; undefined while it is not whole. */
export function readCommand(buffer: Buffer): { readonly name: string; readonly length: number } | undefined {
  const count = lineAt(buffer, 0);
  let at = count?.next ?? 0;
  let name = '';
  for (let i = 0; i < (count?.value ?? 1); i += 1) {
    const length = lineAt(buffer, at);
    if (length === undefined || buffer.length < length.next + length.value + LINE_END.length) {
      return undefined;
    }
    name ||= buffer.toString('latin1', length.next, length.next + length.value).toLowerCase();
    at = length.next + length.value + LINE_END.length;
  }
  return { name, length: at };
}

function takeCommands(state: State, connection: Connection, chunk: Buffer): void {
  connection.unread = Buffer.concat([connection.unread, chunk]);
  for (let found = readCommand(connection.unread); found; found = readCommand(connection.unread)) {
    connection.unread = connection.unread.subarray(found.length);
    connection.isWaiting = true;
    state.commands.push(found.name);
  }
}

function accept(state: State, client: Socket, socketPath: string): void {
  const server = connect(socketPath);
  const connection: Connection = { client, server, unread: Buffer.alloc(0), held: [], isWaiting: false };
  state.connections.add(connection);
  client.on('data', (chunk) => {
    state.quietTurns = 0;
    if (state.isHolding) {
      takeCommands(state, connection, chunk);
    }
    server.write(chunk);
  });
  server.on('data', (chunk) => {
    state.isHolding ? connection.held.push(chunk) : client.write(chunk);
  });
  for (const [end, other] of [
    [client, server],
    [server, client],
  ] as const) {
    end.on('error', () => other.destroy());
    end.on('close', () => {
      other.destroy();
      state.connections.delete(connection);
    });
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Gives the vault the replies to all that it has sent on a connection. */
async function release(connection: Connection): Promise<void> {
  connection.isWaiting = false;
  connection.server.write(MARK_COMMAND);
  let replies = Buffer.concat(connection.held);
  let end = replies.indexOf(MARK_REPLY);
  while (end < 0) {
    if (connection.client.destroyed || connection.server.destroyed) {
      return;
    }
    await turn();
    replies = Buffer.concat(connection.held);
    end = replies.indexOf(MARK_REPLY);
  }
  connection.client.write(replies.subarray(0, end));
  // What the vault has sent meanwhile is answered behind the mark.
  const later = replies.subarray(end + MARK_REPLY.length);
  connection.held = later.length === 0 ? [] : [later];
}

/** Whether the vault has sent something, or something from before the watch is answered. */
function awaitsReplies({ isWaiting, held }: Connection): boolean {
  return isWaiting || held.length > 0;
}

/** Gives the vault its replies once it has nothing left to do; whether it did. */
async function releaseWhenQuiet(state: State, isIdle: () => boolean): Promise<boolean> {
  state.quietTurns = isIdle() ? state.quietTurns + 1 : 0;
  const waiting = [...state.connections].filter(awaitsReplies);
  if (state.quietTurns <= QUIET_TURNS || waiting.length === 0) {
    return false;
  }
  await Promise.all(waiting.map(release));
  state.quietTurns = 0;
  return true;
}

async function watch(state: State, isIdle: () => boolean, work: () => Promise<unknown>): Promise<Sent> {
  state.commands.length = 0;
  state.quietTurns = 0;
  state.isHolding = true;
  let roundTrips = 0;
  let isDone = false;
  const end = work().finally(() => {
    isDone = true;
  });
  // What a request leaves to be sent behind its reply is part of its commands, but nobody waits for it.
  while (!isDone || state.quietTurns <= QUIET_TURNS) {
    const isAwaited = !isDone;
    roundTrips += (await releaseWhenQuiet(state, isIdle)) && isAwaited ? 1 : 0;
    await turn();
  }
  state.isHolding = false;
  await end;
  return { commands: [...state.commands], roundTrips };
}

/** Listens on `ownPath` and passes on to the Redis at `socketPath`; nothing is held back but during `watch`. */
export function openHeldRedis(socketPath: string, ownPath: string): Promise<HeldRedis> {
  const state: State = {
    connections: new Set(),
    commands: [],
    isHolding: false,
    quietTurns: 0,
  };
  const server = createServer((client) => accept(state, client, socketPath));
  const held: HeldRedis = {
    watch: (isIdle, work) => watch(state, isIdle, work),
    close: () => {
      server.close();
      for (const { client } of state.connections) {
        client.destroy();
      }
    },
  };
  return new Promise((resolve, reject) => {
    server.on('error', reject);
    server.listen(ownPath, () => resolve(held));
  });
}
