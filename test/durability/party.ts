/** A third party that mostly fails, in predetermined ways, and records the outcome of each request. */
import { type Act, type PartyReply, type Received, SILENT, startThirdParty } from '../helpers/third-party.ts';
import type { WireRequest } from '../helpers/wire.ts';

/** Reaction of the third party to one request. */
export interface Move extends Pick<PartyReply, 'status' | 'headers'> {
  /** `reset` and `cut` break off, without a reply and inside one; `hold` never says anything. */
  readonly kind: 'reply' | 'reset' | 'cut' | 'hold';
  readonly body?: string;
  /** How long it takes before it does that. */
  readonly afterMs?: number;
}

/** One request that was read whole, and its end as the third party knows it. */
export interface Arrival {
  readonly path: string;
  /** Counts the requests to this path, from 1. */
  readonly n: number;
  readonly request: WireRequest;
  readonly header: (name: string) => string | undefined;
  /** Milliseconds on the clock of `performance.now`, like every time here. */
  readonly at: number;
  readonly move: Move;
  /** When a whole reply had been written; undefined when there was none. */
  repliedAt?: number;
}

/** A third party on 127.0.0.1. */
export interface Party {
  readonly url: (path: string) => string;
  readonly arrivals: readonly Arrival[];
  /** Connections that it cut before anything was said. */
  readonly refused: () => number;
  /** Resolves with the next request that is read whole, or with the next reply that is written. */
  readonly next: (what: 'request' | 'reply') => Promise<void>;
  readonly stop: () => void;
}

/** Has others wait for the next time that something happens. */
export interface Bell {
  readonly next: () => Promise<void>;
  readonly ring: () => void;
}

/** A bell that has not rung yet. */
export function createBell(): Bell {
  let bell = Promise.withResolvers<void>();
  return {
    next: () => bell.promise,
    ring: () => {
      bell.resolve();
      bell = Promise.withResolvers();
    },
  };
}

/** Converts a move to an action of the third party. */
function actOf({ move }: Arrival, onWritten: () => void): Act {
  const { kind, status = 200, headers = [], body = '' } = move;
  if (kind === 'reset') {
    return 'reset';
  }
  const reply = { status, headers, body };
  return kind === 'hold'
    ? SILENT
    : kind === 'cut'
      ? { ...reply, unfinished: 'cut' }
      : { ...reply, onWritten };
}

/** Starts a third party that does as `decide` says, and cuts each connection that `refuses` says so of. */
export async function startParty(
  decide: (path: string, n: number) => Move,
  refuses: () => boolean = () => false,
): Promise<Party> {
  const arrivals: Arrival[] = [];
  const counts = new Map<string, number>();
  const bells = { request: createBell(), reply: createBell() };
  let refused = 0;

  const receive = async (request: Received): Promise<Act> => {
    const { path, header, at } = request;
    const n = (counts.get(path) ?? 0) + 1;
    counts.set(path, n);
    const arrival: Arrival = { path, n, request, header, at, move: decide(path, n) };
    arrivals.push(arrival);
    bells.request.ring();
    await Bun.sleep(arrival.move.afterMs ?? 0);
    return actOf(arrival, () => {
      arrival.repliedAt = performance.now();
      bells.reply.ring();
    });
  };
  const { url, stop } = await startThirdParty({
    otherwise: receive,
    refuses: () => {
      const isRefused = refuses();
      refused += isRefused ? 1 : 0;
      return isRefused;
    },
  });
  return { url, stop, arrivals, refused: () => refused, next: (what) => bells[what].next() };
}
