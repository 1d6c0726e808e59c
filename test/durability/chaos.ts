/** One run: requests that the vault accepts while everything around it fails and it is itself killed. */
import { CARD } from '../helpers/proxy.ts';
import { thirdPartyTrust } from '../helpers/third-party.ts';
import { chanceOf, pick } from './chance.ts';
import { jobsLeft, queueLeft, untilNone } from './left.ts';
import { isRefused, type Order, place, planOrders, receiverMove, targetMove } from './orders.ts';
import { type Arrival, type Bell, createBell, type Party, startParty } from './party.ts';
import { type MortalVault, newMortalVault } from './server.ts';
import { type Evidence, findViolations, type Job, tellingOf } from './verdict.ts';

/** How a run goes. */
export interface ChaosOptions {
  readonly seed: number;
  readonly requests: number;
  /** Over how long the requests are made. */
  readonly sendMs: number;
  /** How long there is killing; then everything may settle. */
  readonly killMs: number;
  /** The fewest kills, also where one and the start behind it take longer than that. */
  readonly killsMin?: number;
  /** The shortest and the longest time between two kills. */
  readonly betweenMs: readonly [number, number];
  /** Hears how it goes, a line at a time. */
  readonly say?: (line: string) => void;
}

/** The result of a run. */
export interface ChaosResult {
  readonly evidence: Evidence;
  readonly violations: readonly string[];
  readonly redisKills: number;
  readonly failedStarts: number;
  /** Calls of webhooks. */
  readonly calls: number;
  readonly seconds: number;
  /** Exit code of the server after SIGTERM. */
  readonly exitCode: number;
  /** All that the servers printed. */
  readonly printed: string;
}

const AGAIN_MS = 500;
/** How long an order is made again; a claim of a server that was killed holds it for half a minute. */
const PERSIST_MS = 90_000;
/** Of all kills: the Redis alone, and server and Redis together. */
const REDIS_ALONE = 0.25;
const BOTH = 0.2;

/** How long a kill waits for its moment, and how long behind that it comes at most. */
const MOMENT_MS_MAX = 1_000;
const BEHIND_MS_MAX = 12;

/** The vault, and the third parties around it. */
interface World {
  readonly vault: MortalVault;
  readonly target: Party;
  readonly receiver: Party;
  /** Rings when the vault is asked to accept a request. */
  readonly asking: Bell;
}

interface Sent {
  readonly order: Order;
  readonly since: number;
  readonly id: string | undefined;
}

function now(): number {
  return performance.now();
}

/** Makes an order; one with an Idempotency-Key until it is accepted, any other once. */
async function send(world: World, token: string, order: Order): Promise<Sent> {
  const { vault, target, receiver, asking } = world;
  const begun = now();
  for (let repeats = 0; ; repeats++) {
    const places = { target: target.url, receiver: receiver.url };
    const asked = place(vault.client, token, order, places);
    asking.ring();
    const answer = await asked.catch(() => undefined);
    if (answer?.status === 200) {
      // What is answered when it is asked again may have been accepted the first time, and been worked on since.
      return { order, since: repeats === 0 ? now() : begun, id: answer.as<{ id: string }>().id };
    }
    if (answer !== undefined && answer.status < 500 && answer.status !== 409) {
      throw new Error(`${order.label} was answered ${answer.status} ${answer.text}`);
    }
    if (order.idempotencyKey === undefined || now() - begun > PERSIST_MS) {
      return { order, since: begun, id: undefined };
    }
    await Bun.sleep(AGAIN_MS);
  }
}

async function killOnce(vault: MortalVault, chance: number): Promise<void> {
  if (chance < REDIS_ALONE) {
    await vault.killRedis();
    return;
  }
  await vault.kill(chance < REDIS_ALONE + BOTH);
  await vault.start();
}

/** The moments that a kill may wait for: most of what can go wrong lies close behind them. */
function momentOf(chance: number, { target, receiver, asking }: World): Promise<void> | undefined {
  return pick<() => Promise<void> | undefined>(chance, [
    [20, () => undefined],
    [20, asking.next],
    [20, () => target.next('request')],
    [20, () => target.next('reply')],
    [15, () => receiver.next('request')],
    [15, () => receiver.next('reply')],
  ])();
}

async function killAgainAndAgain(
  world: World,
  { seed, killMs, killsMin = 0, betweenMs: [least, most] }: ChaosOptions,
  isOver: () => Promise<boolean>,
): Promise<void> {
  const end = now() + killMs;
  for (let n = 1; ; n++) {
    const drawn = (what: string): number => chanceOf(seed, `${what} of kill ${n}`);
    await Bun.sleep(least + drawn('time') * (most - least));
    if (n > killsMin && (now() > end || (await isOver()))) {
      return;
    }
    const moment = momentOf(drawn('moment'), world);
    if (moment !== undefined) {
      await Promise.race([moment, Bun.sleep(MOMENT_MS_MAX)]);
      await Bun.sleep(drawn('delay') * BEHIND_MS_MAX);
    }
    await killOnce(world.vault, drawn('kind'));
  }
}

async function billedOf({ raw }: MortalVault): Promise<Evidence['billed']> {
  const counts = { proxy_attempt: 0, network_token: 0 };
  // Of accounts, and those of buckets that are not added to them yet.
  for (const pattern of ['{a:*}u:*', '{*.*}n', '{*.*}nt']) {
    for (const name of await raw.keys(pattern)) {
      for (const [field, n] of Object.entries(await raw.hgetall(name))) {
        const operation = field.split(' ').at(-1) ?? '';
        if (operation === 'proxy_attempt' || operation === 'network_token') {
          counts[operation] += Number(n);
        }
      }
    }
  }
  return counts;
}

function labelOf({ path }: Arrival): string {
  return path.split('/').at(-1) ?? '';
}

/** Everything by the ids under which it happened. */
function jobsOf(sent: readonly Sent[], target: Party, receiver: Party): Job[] {
  const [byTarget, byReceiver] = [
    Map.groupBy(target.arrivals, ({ header }) => header('x-vault-request-id') ?? ''),
    Map.groupBy(receiver.arrivals, ({ header }) => header('webhook-id') ?? ''),
  ];
  const byLabel = new Map(sent.map((one) => [one.order.label, one]));
  const byId = new Map(sent.flatMap((one) => (one.id === undefined ? [] : [[one.id, one]])));
  for (const [id, arrivals] of [...byTarget, ...byReceiver]) {
    const one = arrivals[0] && byLabel.get(labelOf(arrivals[0]));
    if (one !== undefined && !byId.has(id)) {
      byId.set(id, { ...one, id: undefined });
    }
  }
  return [...byId].map(([id, { order, since, id: given }]) => ({
    ...{ order, id, since },
    accepted: given !== undefined,
    sent: byTarget.get(id) ?? [],
    told: byReceiver.get(id) ?? [],
  }));
}

/** Tokens that webhooks told of, as far as they open. */
async function openedOf({ client }: MortalVault, { arrivals }: Party): Promise<Set<string>> {
  const told = new Set(arrivals.flatMap((call) => tellingOf(call).token_info?.token ?? []));
  const opened = new Set<string>();
  for (const token of told) {
    if (await client.open('u', token).then(Boolean, () => false)) {
      opened.add(token);
    }
  }
  return opened;
}

async function runIn(world: World, options: ChaosOptions): Promise<ChaosResult> {
  const { vault, target, receiver } = world;
  const begun = now();
  const { seed, requests, sendMs, say = () => undefined } = options;
  await vault.start();
  await vault.client.key('u');
  const token = await vault.client.store('u', CARD);
  say('The vault is up; requests are being made, and processes killed.');
  let making = true;
  const sending = Promise.all(
    planOrders(seed, requests, sendMs).map(async (order) => {
      await Bun.sleep(order.atMs);
      return send(world, token, order);
    }),
  ).finally(() => {
    making = false;
  });
  const killing = killAgainAndAgain(world, options, async () => !making && (await jobsLeft(vault)) === 0);
  const [sent] = await Promise.all([sending, killing]);
  say(`No more killing; ${await jobsLeft(vault)} requests are still to be settled.`);
  const left = { jobs: await untilNone(() => jobsLeft(vault)), queued: 0 };
  left.queued = await untilNone(() => queueLeft(vault));
  const evidence: Evidence = {
    jobs: jobsOf(sent, target, receiver),
    kills: vault.kills,
    refused: target.refused(),
    billed: await billedOf(vault),
    left,
    stored: await openedOf(vault, receiver),
  };
  return {
    evidence,
    violations: findViolations(evidence),
    redisKills: vault.redisKills.length,
    failedStarts: vault.failedStarts(),
    calls: receiver.arrivals.length,
    exitCode: await vault.terminate(),
    seconds: (now() - begun) / 1_000,
    printed: vault.printed(),
  };
}

/** Does one run, with a vault and third parties of its own. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { seed } = options;
  let connections = 0;
  const target = await startParty(
    (path, n) => targetMove(seed, path, n),
    () => {
      connections += 1;
      return isRefused(seed, connections);
    },
  );
  const receiver = await startParty((path, n) => receiverMove(seed, path, n));
  const vault = newMortalVault((await thirdPartyTrust()).authority.pem);
  try {
    return await runIn({ vault, target, receiver, asking: createBell() }, options);
  } finally {
    await vault.remove();
    target.stop();
    receiver.stop();
  }
}
