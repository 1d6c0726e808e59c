/**
 * Commands to one Redis server in RESP2. The library opens the connection (address, TLS, credentials, back-off) and opens it
 * again; commands and replies are written and read here, with few objects per command and one write per tick.
 */
import type { Redis } from 'ioredis';
import { runAtTickEnd } from '../core/tick-end.ts';
import { isUnknownScript, type Script } from './client.ts';
import { type Argument, CommandWriter, INCOMPLETE, PassedReplies, ReplyError, ReplyReader } from './resp.ts';

/** A command whose reply is awaited, or several whose replies are passed on together. */
interface Call {
  /** The step of the timer in which it was sent. */
  readonly step: number;
  /** It has failed without a reply, which may still come. */
  isLate: boolean;
  /** The call of the script, which is sent in full if Redis does not have it; undefined without a script. */
  readonly parts: readonly Argument[] | undefined;
  /** The script that it calls by its digest. */
  readonly script: Script | undefined;
  readonly passed: PassedReplies | undefined;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Time is counted in steps of one timer, so that a busy event loop does not make Redis look silent. */
const STEP_MS = 250;
/** A call without a reply fails after as many steps; the connection, when none was answered in time for as many. */
const REPLY_STEPS_MAX = 8;
const CONNECTION_STEPS_MAX = 24;
/** Bounds of waiting commands: a Redis that stalls must not fill the memory. */
const CALLS_MAX = 65_536;
const BYTES_MAX = 128 * 1_024 * 1_024;
/** Calls that are done are dropped from the list in steps. */
const DONE_MAX = 4_096;
const MULTI = ['MULTI'];
const EXEC = ['EXEC'];

/** One connection. Commands without a connection fail at once. `client` must use RESP2 and send no command itself. */
export class Wire {
  private readonly output = new CommandWriter();
  /** Calls in the order of their replies; those before `first` are done, and undefined, to free their memory. */
  private readonly calls: (Call | undefined)[] = [];
  private first = 0;
  private stream: Redis['stream'] | undefined;
  private reader = new ReplyReader();
  private connections = 0;
  private isFlushDue = false;
  private step = 0;
  /** The step in which a call was last answered in time, or the first of the waiting calls was sent. */
  private timelyAt = 0;

  constructor(private readonly client: Redis) {
    const timer = setInterval(() => this.checkReplies(), STEP_MS);
    timer.unref();
    client.on('ready', () => this.start());
    client.on('close', () => this.lose());
    client.on('end', () => clearInterval(timer));
    if (client.status === 'ready') {
      this.start();
    }
  }

  /**
   * Sends the command `parts`; byte strings of the reply are `Buffer`s. A call of a script that Redis does not have is sent
   * again with its text. Rejects with a `ReplyError`, or with another error if the reply is missing: then the command may
   * have been executed.
   */
  send(parts: readonly Argument[], script?: Script): Promise<unknown> {
    return this.sendCall([parts], script, undefined);
  }

  /**
   * Sends commands whose replies are byte strings or lists of them; Redis executes them in one step. Resolves with the bytes of
   * the list of replies, undefined if they are more than `bytesMax`. Rejects as `send`, with the first error among them.
   */
  async sendTogether(
    commands: readonly (readonly Argument[])[],
    bytesMax: number,
  ): Promise<Buffer | undefined> {
    const passed = new PassedReplies(commands.length + 2, bytesMax);
    await this.sendCall([MULTI, ...commands, EXEC], undefined, passed);
    return passed.bytes;
  }

  /** Returns a number that differs for each connection that was opened. */
  epoch(): number {
    return this.connections;
  }

  private sendCall(
    commands: readonly (readonly Argument[])[],
    script: Script | undefined,
    passed: PassedReplies | undefined,
  ): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const call = {
      step: this.step,
      isLate: false,
      parts: script && commands[0],
      script,
      passed,
      resolve,
      reject,
    };
    if (this.stream === undefined) {
      fail(call, new Error('not connected'));
    } else if (
      this.calls.length - this.first >= CALLS_MAX ||
      this.output.size + this.stream.writableLength > BYTES_MAX
    ) {
      fail(call, new Error('too many commands wait'));
    } else {
      this.write(call, commands);
    }
    return promise;
  }

  private write(call: Call, commands: readonly (readonly Argument[])[]): void {
    if (this.first === this.calls.length) {
      this.timelyAt = this.step;
    }
    for (const parts of commands) {
      this.output.add(parts);
    }
    this.calls.push(call);
    if (!this.isFlushDue) {
      this.isFlushDue = true;
      // After commands that other callbacks send at the end of this tick. One write is one fsync in Redis (group commit).
      runAtTickEnd(() => runAtTickEnd(() => this.flush()));
    }
  }

  private flush(): void {
    this.isFlushDue = false;
    if (this.output.size > 0) {
      this.stream?.write(this.output.take());
    }
  }

  /** Takes the connection over from the library, once; its commands of the handshake are all answered. */
  private start(): void {
    const { stream } = this.client;
    if (stream === this.stream) {
      return;
    }
    stream.removeAllListeners('data');
    stream.on('data', (chunk: Buffer) => this.receive(stream, chunk));
    this.stream = stream;
    this.reader = new ReplyReader();
    this.connections += 1;
  }

  private lose(): void {
    const lost = this.calls.splice(0);
    this.first = 0;
    this.stream = undefined;
    this.output.clear();
    for (const call of lost) {
      if (call !== undefined) {
        fail(call, new Error('the connection was lost'));
      }
    }
  }

  private receive(stream: Redis['stream'], chunk: Buffer): void {
    if (this.stream !== stream) {
      return;
    }
    try {
      this.reader.add(chunk);
      for (let reply = this.nextReply(); reply !== INCOMPLETE; reply = this.nextReply()) {
        this.answer(reply);
      }
    } catch (error) {
      // Nothing that follows could be told apart.
      stream.destroy(error instanceof Error ? error : undefined);
      this.lose();
    }
  }

  /** Returns the next reply; of commands whose replies are passed on, an error or nothing. */
  private nextReply(): unknown {
    const passed = this.calls[this.first]?.passed;
    if (passed === undefined) {
      return this.reader.next();
    }
    return this.reader.pass(passed) ? passed.error : INCOMPLETE;
  }

  private answer(reply: unknown): void {
    const call = this.calls[this.first];
    if (call === undefined) {
      throw new TypeError('a reply to no command');
    }
    this.calls[this.first] = undefined;
    this.first += 1;
    if (this.first === this.calls.length || this.first >= DONE_MAX) {
      this.calls.splice(0, this.first);
      this.first = 0;
    }
    const { isLate, parts, script } = call;
    if (isLate) {
      return;
    }
    this.timelyAt = this.step;
    if (reply instanceof ReplyError) {
      if (script !== undefined && parts?.[0] === 'EVALSHA' && isUnknownScript(reply)) {
        const inFull = ['EVAL', script.text, ...parts.slice(2)];
        this.write({ ...call, parts: inFull, step: this.step }, [inFull]);
      } else {
        fail(call, reply);
      }
      if (reply.message.startsWith('READONLY')) {
        // A failover has made it a replica: the next connection finds the primary.
        this.stream?.destroy();
      }
      return;
    }
    call.resolve(reply);
  }

  /**
   * Fails the calls that have waited too long, and ends a connection that is silent, or so slow that all its calls have
   * failed, or on which a command was lost, so that replies would be assigned to the wrong calls.
   */
  private checkReplies(): void {
    this.step += 1;
    for (let i = this.first; i < this.calls.length; i++) {
      const call = this.calls[i];
      if (call === undefined || this.step - call.step <= REPLY_STEPS_MAX) {
        break;
      }
      fail(call, new Error('no reply in time'));
      call.isLate = true;
    }
    if (this.first < this.calls.length && this.step - this.timelyAt > CONNECTION_STEPS_MAX) {
      this.stream?.destroy();
      this.lose();
    }
  }
}

function fail({ isLate, reject }: Call, error: Error): void {
  if (!isLate) {
    reject(error);
  }
}
