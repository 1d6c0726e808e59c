/** Callers who store, capture and decrypt all the time, each on a connection of its own, and miss nothing. */

import { OWNER } from '../helpers/server-process.ts';
import { type Caller, createCaller, type Reply } from './connection.ts';

const PASSPHRASE = 'a passphrase of the load alone';
const AUTHORIZATION = `Authorization: Basic ${btoa(`${OWNER.name}:${OWNER.password}`)}\r\n`;
const HEADERS = `${AUTHORIZATION}X-Vault-Passphrase: ${encodeURIComponent(PASSPHRASE)}\r\n`;
/** The pause before a retry after 503; shorter than Retry-After says. */
const RETRY_MS = 100;
/** The rest of a caller between two of its connections, so that the servers have more to do than to answer. */
const FRESH_PAUSE_MS = 20;
const PATIENCE_MS = 60_000;

/** What came of it. */
export interface Tally {
  /** Requests that were answered with 2xx. */
  readonly answered: number;
  /** 503 replies, all with Retry-After, whose requests were answered later. */
  readonly retried: number;
  /** Everything else, one line each. */
  readonly failures: readonly string[];
  /** Items whose storing was acknowledged: token to reference. */
  readonly acknowledged: ReadonlyMap<string, string>;
}

/** The endpoint that a load captures with. */
export interface Capture {
  readonly path: string;
  readonly headers: string;
}

/** A load that runs. */
export interface ServingLoad {
  readonly tally: () => Tally;
  /** Lets every caller finish its request; gives what came of all. */
  readonly stop: () => Promise<Tally>;
}

function cardOf(reference: string): string {
  return JSON.stringify({ card_number: '4111111111111111', card_holder: reference, expiry_month: '12' });
}

type Request = Parameters<Caller['send']>;

/** Sends a request, and again until a moment while the server asks for that; gives the last reply and the repeats. */
async function sendPatiently(
  caller: Caller,
  request: Request,
  untilMs = performance.now() + PATIENCE_MS,
): Promise<{ readonly reply: Reply; readonly retries: number }> {
  for (let retries = 0; ; retries++) {
    const reply = await caller.send(...request);
    if (reply.status !== 503 || !/^retry-after: \d/im.test(reply.head) || performance.now() > untilMs) {
      return { reply, retries };
    }
    await Bun.sleep(RETRY_MS);
  }
}

function json(reply: Reply): Record<string, string> {
  return JSON.parse(reply.body);
}

/** Makes the key, unless it is there, and a capture endpoint, which loads work with; gives that endpoint. */
export async function prepareLoad(port: number): Promise<Capture> {
  const caller = createCaller(port);
  const body = JSON.stringify({ user: 'load', passphrase: PASSPHRASE });
  const key = await caller.send('POST', '/v1/key/', HEADERS, body);
  const capture = await caller.send('POST', '/v1/capture/?user=load&ttl=0', HEADERS);
  caller.end();
  if (![200, 409].includes(key.status) || capture.status !== 200) {
    throw new Error(`the load could not be prepared: ${key.body} ${capture.body}`);
  }
  const { unique_id, secret } = json(capture);
  return { path: `/v1/capture/${unique_id}`, headers: `X-Vault-Capture-Secret: ${secret}\r\n` };
}

/** A load as it runs. */
interface Run {
  readonly capture: Capture;
  readonly repeat: boolean;
  readonly acknowledged: Map<string, string>;
  readonly failures: string[];
  answered: number;
  retried: number;
  isOver: boolean;
}

/** Sends a request; undefined, with the failure recorded, where the reply is not 200. */
async function send(run: Run, caller: Caller, ...request: Request): Promise<Reply | undefined> {
  const what = `${request[0]} ${request[1].split('?')[0]}`;
  const before = caller.connections();
  try {
    const { reply, retries } = await sendPatiently(caller, request).catch((error: unknown) => {
      if (!run.repeat || caller.connections() === before) {
        throw error;
      }
      caller.end();
      return sendPatiently(caller, request);
    });
    run.retried += retries;
    if (reply.status === 200) {
      run.answered += 1;
      return reply;
    }
    run.failures.push(`${what}: ${reply.status} ${reply.body}`);
  } catch (error) {
    run.failures.push(`${what}: ${error instanceof Error ? error.message : error}`);
    caller.end();
    await Bun.sleep(RETRY_MS);
  }
  return undefined;
}

/** Stores or captures an item, and opens it. */
async function act(run: Run, caller: Caller, reference: string, turn: number): Promise<void> {
  const { capture, repeat, acknowledged, failures } = run;
  const isCapture = turn % 3 === 0;
  const path = isCapture ? `${capture.path}?` : '/v1/vault/?user=load&';
  const key = repeat ? `Idempotency-Key: ${reference}\r\n` : '';
  const headers = `${isCapture ? capture.headers : HEADERS}${key}`;
  const stored = await send(run, caller, 'POST', `${path}reference=${reference}`, headers, cardOf(reference));
  if (stored === undefined) {
    return;
  }
  const token = json(stored)['token'] ?? '';
  acknowledged.set(token, reference);
  const opened = await send(run, caller, 'GET', itemPath(token, reference), HEADERS);
  if (opened !== undefined && json(opened)['card_holder'] !== reference) {
    failures.push(`GET ${reference}: holds something else`);
  }
}

function itemPath(token: string, reference: string): string {
  return `/v1/vault/?user=load&token=${token}&reference=${reference}`;
}

async function runCaller(run: Run, port: number, number: number, pauseMs: number | 'fresh'): Promise<void> {
  const caller = createCaller(port);
  for (let turn = 0; !run.isOver; turn++) {
    await act(run, caller, `c${number}t${turn}`, turn);
    if (pauseMs === 'fresh') {
      caller.end();
    }
    await Bun.sleep(pauseMs === 'fresh' ? FRESH_PAUSE_MS : pauseMs);
  }
  caller.end();
}

/**
 * Starts callers, each given as what it waits between two items with its connection open, in ms; `fresh` has a new
 * connection for every item. Callers that `repeat` send a request once more, under the same idempotency key, when the
 * connection that they opened for it is reset, as the SDK does.
 */
export function startServingLoad(
  port: number,
  capture: Capture,
  callers: readonly (number | 'fresh')[],
  { repeat = false }: { readonly repeat?: boolean } = {},
): ServingLoad {
  const own = { capture, repeat, acknowledged: new Map<string, string>(), failures: [] };
  const run: Run = { ...own, answered: 0, retried: 0, isOver: false };
  const runs = callers.map((pauseMs, number) => runCaller(run, port, number, pauseMs));
  return {
    tally: () => run,
    stop: async () => {
      run.isOver = true;
      await Promise.all(runs);
      return run;
    },
  };
}

/** Those acknowledged items that cannot be opened any more, or hold something else. */
export async function findLost(
  port: number,
  acknowledged: Tally['acknowledged'],
): Promise<readonly string[]> {
  const caller = createCaller(port);
  const lost: string[] = [];
  const untilMs = performance.now() + PATIENCE_MS;
  for (const [token, reference] of acknowledged) {
    const { reply } = await sendPatiently(caller, ['GET', itemPath(token, reference), HEADERS], untilMs);
    if (reply.status !== 200 || json(reply)['card_holder'] !== reference) {
      lost.push(`${reference}: ${reply.status}`);
    }
  }
  caller.end();
  return lost;
}
