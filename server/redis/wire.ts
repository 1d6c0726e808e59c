/**
 * Commands to one Redis server in RESP2. The library opens the connection (address, TLS, credentials, back-off) and opens it
 * again; what goes over it is written and read here, with few objects per command and one write per tick.
 */
import type { Redis } from 'ioredis';
import { runAtTickEnd } from '../core/tick-end.ts';
import { isUnknownScript, type Script } from './client.ts';
import { type Argument, CommandWriter, INCOMPLETE, PassedReplies, ReplyError, ReplyReader } from './resp.ts';

/** Replies of several commands, as far as they have come. */
interface Gathered {
  readonly replies: unknown[];
  readonly length: number;
}

/** A command whose reply is awaited, or several whose replies are gathered, or passed on together. */
interface Call {
  /** The step of the timer in which it was sent. */
  readonly step: number;
  /** Whether it has failed without a reply, which may still come. */
  isLate: boolean;
  /** What is sent in full if Redis does not have the script; undefined without one. */
  readonly parts: readonly Argument[] | undefined;
  /** The script that it calls by its digest. */
  readonly script: Script | undefined;
  readonly passed: PassedReplies | undefined;
  readonly gathered: Gathered | undefined;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** One connection. A command while there is none fails at once; none is ever sent again after its connection was lost. */
export interface Wire {
  /**
   * Sends the command `parts`; byte strings of the reply are `Buffer`s. A call of a script that Redis does not have is sent
   * again with its text. Rejects with a `ReplyError`, or with another error where the reply is missing: then the command may
   * have been executed.
   */
  readonly send: (parts: readonly Argument[], script?: Script) => Promise<unknown>;
  /** Sends commands that are no scripts. Resolves with all replies in order; rejects as `send`, with the first error among them. */
  readonly sendEach: (commands: readonly (readonly Argument[])[]) => Promise<readonly unknown[]>;
  /**
   * Sends commands whose replies are byte strings or lists of them. Resolves with the bytes of all replies, undefined when
   * they are more than `bytesMax`. Rejects as `send`, with the first error among them.
   */
  readonly sendAll: (
    commands: readonly (readonly Argument[])[],
    bytesMax: number,
  ) => Promise<Buffer | undefined>;
  /** A number that differs for each connection that was opened. */
  readonly epoch: () => number;
}

interface WireState {
  readonly client: Redis;
  readonly output: CommandWriter;
  /** Calls in the order of their replies; those before `first` are done, and undefined: they would keep what they sent. */
  readonly calls: (Call | undefined)[];
  first: number;
  stream: Redis['stream'] | undefined;
  reader: ReplyReader;
  epoch: number;
  isFlushDue: boolean;
  /** Counts the steps of the timer. */
  step: number;
  /** The step in which a call was last answered in time, or the first of those that wait was sent. */
  timelyAt: number;
}

/** Time is counted in steps of one timer, so that a busy event loop does not make Redis look silent. */
const STEP_MS = 250;
/** A call without a reply fails after as many steps; the connection, when none was answered in time for as many. */
const REPLY_STEPS_MAX = 8;
const CONNECTION_STEPS_MAX = 24;
/** Bounds of what may wait: a Redis that stalls must not fill the memory. */
const CALLS_MAX = 65_536;
const BYTES_MAX = 128 * 1_024 * 1_024;
/** Calls that are done are dropped from the list in steps. */
const DONE_MAX = 4_096;

/** Speaks on the connections of `client`, which must use RESP2 and send no command of its own. */
export function openWire(client: Redis): Wire {
  const state: WireState = {
    ...{ client, output: new CommandWriter(), calls: [], first: 0, stream: undefined },
    ...{ reader: new ReplyReader(), epoch: 0, isFlushDue: false, step: 0, timelyAt: 0 },
  };
  const timer = setInterval(() => checkReplies(state), STEP_MS);
  timer.unref();
  client.on('ready', () => start(state));
  client.on('close', () => lose(state));
  client.on('end', () => clearInterval(timer));
  if (client.status === 'ready') {
    start(state);
  }
  return {
    send: (parts, script) => send(state, [parts], { script }),
    sendEach: (commands) => {
      const gathered = { replies: [], length: commands.length };
      // Gathered replies are such a list.
      return send(state, commands, { gathered }) as Promise<readonly unknown[]>;
    },
    sendAll: async (commands, bytesMax) => {
      const passed = new PassedReplies(commands.length, bytesMax);
      await send(state, commands, { passed });
      return passed.bytes;
    },
    epoch: () => state.epoch,
  };
}

/** Takes the connection over from the library, once; its commands of the handshake are all answered. */
function start(state: WireState): void {
  const { stream } = state.client;
  if (stream === state.stream) {
    return;
  }
  stream.removeAllListeners('data');
  stream.on('data', (chunk: Buffer) => receive(state, stream, chunk));
  state.stream = stream;
  state.reader = new ReplyReader();
  state.epoch += 1;
}

function lose(state: WireState): void {
  const lost = state.calls.splice(0);
  state.first = 0;
  state.stream = undefined;
  state.output.clear();
  for (const call of lost) {
    if (call !== undefined) {
      fail(call, new Error('the connection was lost'));
    }
  }
}

function fail({ isLate, reject }: Call, error: Error): void {
  if (!isLate) {
    reject(error);
  }
}

function send(
  state: WireState,
  commands: readonly (readonly Argument[])[],
  { script, gathered, passed }: Partial<Pick<Call, 'script' | 'gathered' | 'passed'>>,
): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const { step, stream, output, calls, first } = state;
  const call = {
    step,
    isLate: false,
    parts: script && commands[0],
    script,
    passed,
    gathered,
    resolve,
    reject,
  };
  if (commands.length === 0) {
    // Without a command there is no reply: the call would take that to the next one.
    resolve([]);
  } else if (stream === undefined) {
    fail(call, new Error('not connected'));
  } else if (calls.length - first >= CALLS_MAX || output.size + stream.writableLength > BYTES_MAX) {
    fail(call, new Error('too many commands wait'));
  } else {
    write(state, call, commands);
  }
  return promise;
}

function write(state: WireState, call: Call, commands: readonly (readonly Argument[])[]): void {
  if (state.first === state.calls.length) {
    state.timelyAt = state.step;
  }
  for (const parts of commands) {
    state.output.add(parts);
  }
  state.calls.push(call);
  if (!state.isFlushDue) {
    state.isFlushDue = true;
    // After commands that other callbacks send at the end of this tick. One write is one fsync in Redis (group commit).
    runAtTickEnd(() => runAtTickEnd(() => flush(state)));
  }
}

function flush(state: WireState): void {
  state.isFlushDue = false;
  if (state.output.size > 0) {
    state.stream?.write(state.output.take());
  }
}

function receive(state: WireState, stream: Redis['stream'], chunk: Buffer): void {
  if (state.stream !== stream) {
    return;
  }
  try {
    state.reader.add(chunk);
    for (let reply = nextReply(state); reply !== INCOMPLETE; reply = nextReply(state)) {
      answer(state, reply);
    }
  } catch (error) {
    // Nothing that follows could be told apart.
    stream.destroy(error instanceof Error ? error : undefined);
    lose(state);
  }
}

/** The next reply; of commands whose replies are passed on, an error or nothing. */
function nextReply({ reader, calls, first }: WireState): unknown {
  const passed = calls[first]?.passed;
  if (passed === undefined) {
    return reader.next();
  }
  return reader.pass(passed) ? passed.error : INCOMPLETE;
}

/** Adds a reply to those of its call: all of them, the first error among them, or `INCOMPLETE`. */
function gather({ replies, length }: Gathered, reply: unknown): unknown {
  replies.push(reply);
  return replies.length < length
    ? INCOMPLETE
    : (replies.find((each) => each instanceof ReplyError) ?? replies);
}

function answer(state: WireState, given: unknown): void {
  const call = state.calls[state.first];
  if (call === undefined) {
    throw new TypeError('a reply to no command');
  }
  const reply = call.gathered === undefined ? given : gather(call.gathered, given);
  if (reply === INCOMPLETE) {
    return;
  }
  state.calls[state.first] = undefined;
  state.first += 1;
  if (state.first === state.calls.length || state.first >= DONE_MAX) {
    state.calls.splice(0, state.first);
    state.first = 0;
  }
  const { isLate, parts, script } = call;
  if (isLate) {
    return;
  }
  state.timelyAt = state.step;
  if (reply instanceof ReplyError) {
    if (script !== undefined && parts?.[0] === 'EVALSHA' && isUnknownScript(reply)) {
      const inFull = ['EVAL', script.text, ...parts.slice(2)];
      write(state, { ...call, parts: inFull, step: state.step }, [inFull]);
    } else {
      fail(call, reply);
    }
    if (reply.message.startsWith('READONLY')) {
      // A failover has made it a replica: the next connection finds the primary.
      state.stream?.destroy();
    }
    return;
  }
  call.resolve(reply);
}

/**
 * Fails the calls that have waited too long, and ends a connection that is of no use any more: it is silent, or so far
 * behind that nobody waits for its replies, or a command was lost on the way, and each reply is taken for another one.
 */
function checkReplies(state: WireState): void {
  state.step += 1;
  const { calls, first, step, timelyAt, stream } = state;
  for (let i = first; i < calls.length; i++) {
    const call = calls[i];
    if (call === undefined || step - call.step <= REPLY_STEPS_MAX) {
      break;
    }
    fail(call, new Error('no reply in time'));
    call.isLate = true;
  }
  if (first < calls.length && step - timelyAt > CONNECTION_STEPS_MAX) {
    stream?.destroy();
    lose(state);
  }
}
