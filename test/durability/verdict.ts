/** Invariants of a run, checked against the records of the third parties and not against the vault's replies. */
import { signatureOf } from '../helpers/webhook.ts';
import { isRepeatable, type Order } from './orders.ts';
import type { Arrival } from './party.ts';

/** One job: an order under the id that the vault gave it, or that the third parties saw where no answer came. */
export interface Job {
  readonly order: Order;
  readonly id: string;
  /** When its first answer was there; when the order was made, for one that was asked again or never answered. */
  readonly since: number;
  readonly accepted: boolean;
  readonly sent: readonly Arrival[];
  readonly told: readonly Arrival[];
}

/** Everything that is known at the end. */
export interface Evidence {
  readonly jobs: readonly Job[];
  /** When servers were killed. */
  readonly kills: readonly number[];
  /** Connections that the target cut before anything was said. */
  readonly refused: number;
  /** Billed operations of the account. */
  readonly billed: { readonly proxy_attempt: number; readonly network_token: number };
  /** Jobs of the account and ids of the queue that are still there. */
  readonly left: { readonly jobs: number; readonly queued: number };
  /** Tokens that webhooks told of and that open. */
  readonly stored: ReadonlySet<string>;
}

/** The members of a webhook body that a run checks. */
export interface Told {
  readonly label?: string;
  readonly code?: string;
  readonly status_code?: number;
  readonly body?: string;
  readonly token_info?: { readonly token: string };
}

const JOBS_OF_ACCOUNT_AT_ONCE = 32;
const CODES = new Set(['outcome_unknown', 'target_unreachable', 'target_timeout']);

function bodyOf({ request }: Arrival): string {
  return request.body.toString();
}

/** Parses a webhook call. */
export function tellingOf(arrival: Arrival): Told {
  return JSON.parse(bodyOf(arrival)) as Told;
}

/** Whether a request got a whole reply. */
function isReplied({ repliedAt }: Arrival): boolean {
  return repliedAt !== undefined;
}

function asksForMore({ move: { status = 0 } }: Arrival): boolean {
  return status === 429 || status >= 500;
}

function pairsOf<T>(things: readonly T[]): [T, T][] {
  return things.slice(1).map((thing, n) => [things[n] as T, thing]);
}

type Finding = string | false;

/** The shortest pause before another attempt, less what clocks may differ by; `Retry-After` is one second here. */
function leastPauseMs({ move: { status } }: Arrival): number {
  return status === 429 ? 990 : 490;
}

/** The rules for how often and when a target gets a request. */
function judgeSending({ order, sent }: Job, wasKilled: (from?: number, to?: number) => boolean): Finding[] {
  return [
    sent.length > order.attempts && `${sent.length} requests of at most ${order.attempts}`,
    sent.some(({ path }) => path !== `/target/${order.label}`) && 'went to the target of another request',
    new Set(sent.map(bodyOf)).size > 1 && 'its requests differ',
    ...pairsOf(sent).map(([before, after]): Finding => {
      if (before.repliedAt !== undefined && asksForMore(before)) {
        const ms = Math.round(after.at - before.repliedAt);
        return ms < leastPauseMs(before) && `sent again ${ms} ms after a ${before.move.status}`;
      }
      return isRepeatable(order)
        ? isReplied(before) && !wasKilled(before.repliedAt, after.at) && 'sent again behind a final reply'
        : `sent again after ${isReplied(before) ? 'a final reply' : 'an unknown outcome'}`;
    }),
  ];
}

/** The rules for how often and when a webhook is called. */
function judgeCalls(
  { order, id, told, accepted }: Job,
  wasKilled: (from?: number, to?: number) => boolean,
  kills: number,
): Finding[] {
  return [
    accepted && told.length === 0 && 'its webhook was never called',
    told.length > order.maxAttempts && `${told.length} calls of at most ${order.maxAttempts}`,
    told.some(({ path }) => path !== `/hook/${order.label}`) && 'told to the webhook of another request',
    told.some((call) => tellingOf(call).label !== order.label) && 'told with other metadata',
    new Set(told.map(bodyOf)).size > 1 && 'its webhook was told different things',
    told.some(({ header, request }) => {
      const signed = signatureOf(order.secret, id, header('webhook-timestamp') ?? '', request.body);
      return header('webhook-signature') !== signed;
    }) && 'a call is not signed',
    // A call that was noted and then killed was never seen.
    told.length > 0 &&
      !told.some(isDelivered) &&
      told.length + kills < order.maxAttempts &&
      `given up after ${told.length} calls of ${order.maxAttempts}`,
    ...pairsOf(told).map(
      ([before, after]): Finding =>
        isDelivered(before) && !wasKilled(before.repliedAt, after.at) && 'told again behind a 200',
    ),
  ];
}

function isDelivered(call: Arrival): boolean {
  return isReplied(call) && call.move.status === 200;
}

/** Checks that the reported outcome is the actual one. */
function judgeOutcome(
  { order, sent, told, since }: Job,
  wasKilled: (from?: number) => boolean,
  stored: ReadonlySet<string>,
): Finding[] {
  const first = told[0];
  if (first === undefined) {
    return [];
  }
  const { code, status_code: status, body, token_info } = tellingOf(first);
  const last = sent.at(-1);
  const isUnknown = last !== undefined && !isReplied(last);
  if (code !== undefined) {
    return [
      !CODES.has(code) && `told as ${code}`,
      isUnknown && !isRepeatable(order) && code !== 'outcome_unknown' && `an unknown outcome told as ${code}`,
      code === 'outcome_unknown' &&
        !isUnknown &&
        // A reply that is written to a server that has just been killed is read by nobody.
        !wasKilled(last?.at ?? since) &&
        'told as unknown though nothing was killed',
      code !== 'outcome_unknown' &&
        last !== undefined &&
        isReplied(last) &&
        !asksForMore(last) &&
        `a final reply told as ${code}`,
    ];
  }
  return [
    (order.kind === 'get' ? status === 200 : order.kind === 'token') &&
      !stored.has(token_info?.token ?? '') &&
      'what it stored cannot be opened',
    order.kind !== 'token' && last === undefined && 'a reply that no target gave',
    isUnknown && `status ${status} told where the target gave no reply`,
    last !== undefined && last.move.status !== status && `status ${status} told of ${last.move.status}`,
    ['post', 'keyed', 'put'].includes(order.kind) &&
      last !== undefined &&
      last.move.body !== body &&
      'another reply told than the target gave',
  ];
}

function judgeTotals({ jobs, kills, refused, billed, left }: Evidence): Finding[] {
  const tokens = jobs.filter(({ order }) => order.kind === 'token');
  const others = jobs.filter(({ order }) => order.kind !== 'token');
  const seen = others.reduce((sum, { sent }) => sum + sent.length, 0);
  const bound = others.reduce((sum, { order }) => sum + order.attempts, 0);
  // What was noted and killed before it left: no more at each kill than one server works on.
  const explained = seen + refused + kills.length * JOBS_OF_ACCOUNT_AT_ONCE;
  const attempts = billed.proxy_attempt;
  return [
    attempts < seen && `${attempts} attempts billed, ${seen} seen`,
    attempts > Math.min(bound, explained) &&
      `${attempts} attempts billed of at most ${Math.min(bound, explained)}`,
    billed.network_token < tokens.length && `${billed.network_token} billed of ${tokens.length} tokens`,
    left.jobs > 0 && `${left.jobs} jobs left`,
    left.queued > 0 && `${left.queued} ids left in the queue`,
  ];
}

function repeatedLabels(jobs: readonly Job[]): Finding[] {
  const labels = jobs.map(({ order }) => order.label);
  return labels.filter((label, n) => labels.indexOf(label) !== n).map((label) => `${label}: has two ids`);
}

/** Everything that should not have happened, in words; empty when all is well. */
export function findViolations(evidence: Evidence): string[] {
  const { jobs, kills, stored } = evidence;
  const wasKilled = (from = 0, to = Number.POSITIVE_INFINITY): boolean =>
    kills.some((at) => at >= from && at <= to);
  const ofJobs = jobs.flatMap((job) => {
    const killsSince = kills.filter((at) => at >= job.since).length;
    return [
      ...judgeSending(job, wasKilled),
      ...judgeCalls(job, wasKilled, killsSince),
      ...judgeOutcome(job, wasKilled, stored),
    ].map((finding) => finding && `${job.order.label} (${job.order.kind}, ${job.id}): ${finding}`);
  });
  return [...ofJobs, ...repeatedLabels(jobs), ...judgeTotals(evidence)].filter(
    (finding) => finding !== false,
  );
}
