/**
 * Commands to one Redis server in RESP2. The library opens the connection (address, TLS, credentials, back-off) and opens it
 * again; commands and replies are written and read here, with few objects per command and one write per tick.
 */
import type { Redis } from 'ioredis';
import { VaultError } from '../core/errors.ts';
import { inThisContext, runAtTickEnd } from '../core/tick-end.ts';
import { refusalOf, type WriteRefusal } from '../core/write-refusal.ts';
import { type Script, toVaultError } from './errors.ts';
import { asCount } from './reply.ts';
import { type Argument, CommandWriter, INCOMPLETE, PassedReplies, ReplyError, ReplyReader } from './resp.ts';

export interface LinkOptions {
  /** The number of replicas that must confirm a write before it is acknowledged; 0 = none. */
  readonly replicas: number;
  /** Called with the name of each command and script that has finished or failed. */
  readonly onCall?: (name: string, startedAt: number, hasFailed: boolean) => void;
  /** Called once when the connection is lost, and once when it is restored. */
  readonly onLink?: (state: 'disconnected' | 'reconnected') => void;
  /** Called once when writes begin to be refused, when the reason changes, and with undefined when they are accepted again. */
  readonly onRefusal?: (refusal: WriteRefusal | undefined) => void;
}

export type Command = readonly Argument[];

/** One command, or several that Redis executes together. */
export abstract class Call {
  /** The name of the command or script. */
  abstract readonly name: string;
  /** The reply waits until the replicas have the write. */
  readonly isDurable: boolean = false;
  /** The step of the timer in which it was sent. */
  step = 0;
  /** It has failed without a reply, which may still come. */
  isLate = false;
  /** How often a Cluster has had it sent again. */
  redirections = 0;
  /** It was sent to a node to which its slot is moving. */
  isAsking = false;
  onCall: LinkOptions['onCall'];
  readonly settle = Promise.withResolvers<unknown>();
  private readonly startedAt = performance.now();

  abstract write(output: CommandWriter): void;

  /** Returns the reply, a `ReplyError` or `INCOMPLETE`. */
  read(reader: ReplyReader): unknown {
    return reader.next();
  }

  report(hasFailed: boolean): void {
    this.onCall?.(this.name, this.startedAt, hasFailed);
  }

  fail(error: Error): void {
    this.report(true);
    this.settle.reject(toVaultError(error));
  }
}

export class CommandCall extends Call {
  constructor(
    readonly name: string,
    private readonly args: readonly Argument[],
    override readonly isDurable: boolean,
  ) {
    super();
  }

  write(output: CommandWriter): void {
    output.begin(this.args.length + 1);
    output.part(this.name);
    output.parts(this.args);
  }
}

/** A call of a script by its digest. It rejects with errors as they are: `toVaultError` needs the frames of the caller. */
export class ScriptCall extends Call {
  readonly name: string;
  /** Redis does not have the script. */
  isInFull = false;

  constructor(
    private readonly script: Script,
    private readonly keys: readonly string[],
    private readonly args: readonly Argument[],
    override readonly isDurable: boolean,
  ) {
    super();
    this.name = script.name;
  }

  write(output: CommandWriter): void {
    output.begin(this.keys.length + this.args.length + 3);
    output.part(this.isInFull ? 'EVAL' : 'EVALSHA');
    output.part(this.isInFull ? this.script.text : this.script.sha);
    output.part(this.keys.length);
    output.parts(this.keys);
    output.parts(this.args);
  }

  override fail(error: Error): void {
    this.report(true);
    this.settle.reject(error);
  }
}

const MULTI = ['MULTI'];
const EXEC = ['EXEC'];

/** Commands that Redis executes in one step; the reply is the bytes of the list of theirs, undefined for more than `bytesMax`. */
export class TogetherCall extends Call {
  readonly name = 'read-together';
  private passed: PassedReplies | undefined;

  constructor(
    private readonly commands: readonly Command[],
    private readonly bytesMax: number,
  ) {
    super();
  }

  write(output: CommandWriter): void {
    this.passed = new PassedReplies(this.commands.length + 2, this.bytesMax);
    output.add(MULTI);
    for (const command of this.commands) {
      output.add(command);
    }
    output.add(EXEC);
  }

  override read(reader: ReplyReader): unknown {
    const { passed } = this;
    return passed && reader.pass(passed) ? (passed.error ?? passed.bytes) : INCOMPLETE;
  }
}

/** The Cluster of a server. */
interface Redirecting {
  /** Sends a call again if the error asks for that; false if it must fail. */
  redirect(call: Call, error: ReplyError, from: Wire): boolean;
  /** Looks for the servers again, since a call has failed. */
  refresh(): void;
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
/** The timeout of WAIT, which blocks the connection; it is shorter after a WAIT that timed out. */
const [WAIT_MS, WAIT_MS_SHORT] = [1_000, 50];
/** After as many steps, a server that has refused a write is asked whether it still does. */
const ASK_STEPS = 4;
/** A script that may write, which Redis therefore refuses as it would refuse a write. It writes nothing. */
export const WRITABLE = '#!lua\n-- check-writable\nreturn 1';

/**
 * One connection. Commands wait for the first connection; without a later one they fail at once. Commands of the library
 * itself, which must use RESP2, take the same way.
 */
export class Wire {
  private readonly output = new CommandWriter();
  /** Calls in the order of their replies; those before `first` are done, and undefined, to free their memory. */
  private readonly calls: (Call | undefined)[] = [];
  private first = 0;
  private stream: Redis['stream'] | undefined;
  private hadStream = false;
  private reader = new ReplyReader();
  private isFlushDue = false;
  private step = 0;
  /** The step in which a call was last answered in time, or the first of the waiting calls was sent. */
  private timelyAt = 0;
  /** The last WAIT, the one that follows it, and whether that must be short. */
  private lastWait: Promise<unknown> = Promise.resolve();
  private nextWait: Promise<boolean> | undefined;
  private isWaitShort = false;
  /** The reason of the last refused write, until the server would accept one. */
  private refused: WriteRefusal | undefined;

  constructor(
    private readonly client: Redis,
    private readonly options: LinkOptions,
    private readonly cluster?: Redirecting,
  ) {
    const timer = setInterval(() => this.checkReplies(), STEP_MS);
    timer.unref();
    client.on('ready', () => this.start());
    client.on('close', () => this.lose());
    client.on('end', () => {
      clearInterval(timer);
      this.lose();
      this.noteRefusal(undefined);
    });
    const { sendCommand } = client;
    client.sendCommand = (command, stream) => {
      if (client.status !== 'ready') {
        return sendCommand.call(client, command, stream);
      }
      // The library has made its arguments flat.
      this.command(command.name, command.args as Argument[]).then(command.resolve, command.reject);
      return command.promise;
    };
  }

  /** The address. */
  get name(): string {
    const { name, path, host, port } = this.client.options;
    return name ? `primary of ${name}` : (path ?? `${host}:${port}`);
  }

  get isReplica(): boolean {
    return this.client.options.readOnly === true;
  }

  get refusal(): WriteRefusal | undefined {
    return this.refused ?? (this.isWaitShort ? 'NOREPLICAS' : undefined);
  }

  /** Runs a command on this server; binary replies. */
  command(name: string, args: readonly Argument[]): Promise<unknown> {
    return this.send(new CommandCall(name, args, false));
  }

  /**
   * Sends a call; byte strings of its reply are `Buffer`s. A script that Redis does not have is sent again with its text.
   * Without a reply the command may have been executed.
   */
  send(call: Call): Promise<unknown> {
    const { onCall } = this.options;
    call.onCall = onCall && inThisContext(onCall);
    this.add(call);
    return call.settle.promise;
  }

  /** Sends a call for the first time, or once more. */
  add(call: Call): void {
    const { client, stream } = this;
    const isOpening = !this.hadStream && /^(?:wait|connecting|connect|ready)$/.test(client.status);
    if (stream === undefined && !isOpening) {
      this.fail(call, this.disconnected());
      return;
    }
    if (
      this.calls.length - this.first >= CALLS_MAX ||
      this.output.size + (stream?.writableLength ?? 0) > BYTES_MAX
    ) {
      this.fail(call, new Error('too many commands wait'));
      return;
    }
    if (client.status === 'wait') {
      client.connect().catch(() => undefined);
    }
    if (this.first === this.calls.length) {
      this.timelyAt = this.step;
    }
    call.step = this.step;
    call.write(this.output);
    this.calls.push(call);
    if (!this.isFlushDue) {
      this.isFlushDue = true;
      // One write is one fsync in Redis (group commit).
      runAtTickEnd(() => this.flush());
    }
  }

  private flush(): void {
    this.isFlushDue = false;
    if (this.output.size > 0 && this.stream !== undefined) {
      this.stream.write(this.output.take());
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
    this.hadStream = true;
    this.reader = new ReplyReader();
    this.dropLate();
    runAtTickEnd(() => this.flush());
  }

  /** Drops calls that have failed before the first connection. */
  private dropLate(): void {
    const waiting = this.calls.splice(0);
    this.output.clear();
    for (const call of waiting) {
      if (call !== undefined && !call.isLate) {
        call.write(this.output);
        this.calls.push(call);
      }
    }
  }

  private lose(): void {
    const lost = this.calls.splice(0);
    this.first = 0;
    this.stream = undefined;
    this.output.clear();
    this.lastWait = Promise.resolve();
    this.nextWait = undefined;
    for (const call of lost) {
      if (call !== undefined) {
        this.fail(call, this.disconnected());
      }
    }
  }

  /** The error of a call without a connection: the library accepts no replica in place of the primary that it had. */
  private disconnected(): Error {
    return new Error(this.refused === 'READONLY' ? this.refused : 'not connected');
  }

  private fail(call: Call, error: Error): void {
    if (!call.isLate) {
      call.fail(error);
      this.cluster?.refresh();
    }
  }

  private receive(stream: Redis['stream'], chunk: Buffer): void {
    if (this.stream !== stream) {
      return;
    }
    try {
      this.reader.add(chunk);
      for (;;) {
        const call = this.calls[this.first];
        const reply = call === undefined ? this.reader.next() : call.read(this.reader);
        if (reply === INCOMPLETE) {
          return;
        }
        if (call === undefined) {
          throw new TypeError('a reply to no command');
        }
        this.answer(call, reply);
      }
    } catch (error) {
      // Nothing that follows could be told apart.
      stream.destroy(error instanceof Error ? error : undefined);
      this.lose();
    }
  }

  private answer(call: Call, reply: unknown): void {
    this.calls[this.first] = undefined;
    this.first += 1;
    if (this.first === this.calls.length || this.first >= DONE_MAX) {
      this.calls.splice(0, this.first);
      this.first = 0;
    }
    if (call.isLate) {
      return;
    }
    this.timelyAt = this.step;
    if (reply instanceof ReplyError) {
      this.reject(call, reply);
      return;
    }
    call.report(false);
    const { settle } = call;
    if (call.isDurable && this.options.replicas > 0) {
      const fail = (cause?: Error): void => settle.reject(new VaultError('store_unavailable', { cause }));
      this.untilReplicated().then(
        (isDone) => (isDone ? settle.resolve(reply) : fail(new Error('NOREPLICAS'))),
        () => fail(),
      );
    } else {
      settle.resolve(reply);
    }
  }

  private noteRefusal(refusal: WriteRefusal | undefined): void {
    this.refused = refusal;
    this.options.onRefusal?.(this.refusal);
  }

  private reject(call: Call, error: ReplyError): void {
    const refusal = refusalOf(error);
    if (refusal !== undefined) {
      this.noteRefusal(refusal);
    }
    if (error.message.startsWith('NOSCRIPT') && call instanceof ScriptCall && !call.isInFull) {
      call.isInFull = true;
      this.add(call);
    } else if (!this.cluster?.redirect(call, error, this)) {
      this.fail(call, error);
    }
    if (error.message.startsWith('READONLY')) {
      // A failover has made it a replica: the next connection finds the primary.
      this.stream?.destroy();
    }
  }

  /** Returns whether the replicas have all writes that this connection was answered before. One WAIT is in flight at a time. */
  private untilReplicated(): Promise<boolean> {
    const { replicas } = this.options;
    const { stream } = this;
    const ask = async (): Promise<boolean> => {
      if (this.stream !== stream) {
        throw new Error('the connection was lost');
      }
      this.nextWait = undefined;
      const startedAt = performance.now();
      const timeoutMs = this.isWaitShort ? WAIT_MS_SHORT : WAIT_MS;
      const count = asCount(await this.command('WAIT', [replicas, timeoutMs]));
      if (count < replicas !== this.isWaitShort) {
        this.isWaitShort = count < replicas;
        this.options.onRefusal?.(this.refusal);
      }
      if (this.isWaitShort) {
        this.options.onCall?.('WAIT', startedAt, true);
      }
      return !this.isWaitShort;
    };
    if (this.nextWait === undefined) {
      this.nextWait = this.lastWait.then(ask, ask);
      this.lastWait = this.nextWait;
    }
    return this.nextWait;
  }

  /**
   * Fails the calls that have waited too long, and ends a connection that is silent, or so slow that all its calls have
   * failed, or on which a command was lost, so that replies would be assigned to the wrong calls.
   */
  private checkReplies(): void {
    this.step += 1;
    if (this.refused !== undefined && this.step % ASK_STEPS === 0) {
      this.command('EVAL', [WRITABLE, 0]).then(
        () => this.noteRefusal(undefined),
        () => undefined,
      );
    }
    for (let i = this.first; i < this.calls.length; i++) {
      const call = this.calls[i];
      if (call === undefined || this.step - call.step <= REPLY_STEPS_MAX) {
        break;
      }
      this.fail(call, new Error('no reply in time'));
      call.isLate = true;
    }
    if (this.first < this.calls.length && this.step - this.timelyAt > CONNECTION_STEPS_MAX) {
      this.stream?.destroy();
      this.lose();
    }
  }
}
