/**
 * What proxied, relayed and inbound calls cost over calling their target directly, and a capture beside them, all over connections that
 * are kept.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newAuthority } from '../outbound/certificates.ts';
import { addressesOf, type Holding } from './cards.ts';
import { type CpuSplit, withCpu } from './cpu.ts';
import { call, makeKey, type Server, startProgram, startVault, type Vault } from './servers.ts';
import { type Figure, median, percentile } from './stats.ts';

const AT_ONCE = [1, 16, 64] as const;
/** As many calls at once as aims are about. */
export const AIM_AT_ONCE = 16;
/** What the target waits before it answers. */
const DELAYS_MS = [0, 20] as const;
/** Calls of a block for each that is made at once, beside those of every block. */
const CALLS_EACH = 12;
const CALLS_LEAST = 48;
/** Blocks before the first that counts: the runtime is still compiling after some thousand calls. */
const WARM_UP_BLOCKS = 3;
const WARM_UP_AT_ONCE = 64;
const NUMBER = '4111111111111111';
const CREATED = 201;

function bodyOf(number: string): string {
  return `{"amount":1000,"currency":"eur","number":"${number}"}`;
}

/** The target and the vault that may reach it. */
interface Setting {
  readonly vault: Vault;
  readonly url: string;
  readonly caPem: string;
}

/** Calls of one kind. */
type Calls = (url: string) => Promise<void>;

function requireCreated(status: number): void {
  if (status !== CREATED) {
    throw new Error(`the target answered ${status}`);
  }
}

function directCalls(caPem: string): Calls {
  const headers = { 'Content-Type': 'application/json' };
  return async (url) => {
    const reply = await fetch(url, { method: 'POST', headers, body: bodyOf(NUMBER), tls: { ca: caPem } });
    await reply.text();
    requireCreated(reply.status);
  };
}

/** A card, as the query of its address. */
async function storeCard(vault: Vault, { user, credentials }: Holding): Promise<string> {
  await makeKey(vault, credentials, user);
  await call(vault, credentials, `/v1/vault/?user=${user}&reference=order`, { card_number: NUMBER });
  const [address = ''] = await addressesOf(vault, { user, credentials });
  return address;
}

/** The same request through a connection, with a placeholder. */
async function relayedCalls(
  { vault, url: base_url }: Setting,
  { user, credentials }: Holding,
  address: string,
): Promise<Calls> {
  await call(vault, credentials, '/v1/connection', { id: 'target', base_url, inbound: true });
  const token = new URLSearchParams(address).get('token');
  const body = bodyOf(`{{vault:${token}:card_number:order}}`);
  const headers = { ...credentials, 'X-Vault-User': user, 'Content-Type': 'application/json' };
  const relay = `http://127.0.0.1:${vault.port}/v1/relay/target`;
  return async (url) => {
    const reply = await fetch(relay + url.slice(base_url.length), { method: 'POST', headers, body });
    await reply.text();
    requireCreated(reply.status);
  };
}

/** The same request by a partner: each call is an order with a card of its own. */
async function inboundCalls(
  { vault, url: base_url }: Setting,
  { user, credentials }: Holding,
): Promise<Calls> {
  const extract = [{ number: 'number', reference: 'order' }];
  const made = await call(vault, credentials, '/v1/inbound', { user, connection: 'target', extract });
  const { url: path, secret } = (await made.json()) as { readonly url: string; readonly secret: string };
  const headers = { 'X-Vault-Capture-Secret': secret, 'Content-Type': 'application/json' };
  const inbound = `http://127.0.0.1:${vault.port}${path}`;
  let orders = 0;
  return async (url) => {
    orders += 1;
    const body = `{"amount":1000,"currency":"eur","order":"i${orders}","number":"${NUMBER}"}`;
    const reply = await fetch(inbound + url.slice(base_url.length), { method: 'POST', headers, body });
    await reply.text();
    requireCreated(reply.status);
  };
}

/** The card of the request, stored by a page. */
async function captureCalls({ vault }: Setting, { user, credentials }: Holding): Promise<Calls> {
  const made = await call(vault, credentials, `/v1/capture?user=${user}`, {});
  const { url: path, secret } = (await made.json()) as { readonly url: string; readonly secret: string };
  const headers = { 'X-Vault-Capture-Secret': secret, 'Content-Type': 'application/json' };
  const capture = `http://127.0.0.1:${vault.port}${path}`;
  const body = `{"card_number":"${NUMBER}"}`;
  let orders = 0;
  return async () => {
    orders += 1;
    const reply = await fetch(`${capture}?reference=c${orders}`, { method: 'POST', headers, body });
    await reply.text();
    if (reply.status !== 200) {
      throw new Error(`the capture endpoint answered ${reply.status}`);
    }
  };
}

function proxiedCalls(vault: Vault, { user, credentials }: Holding, address: string): Calls {
  const headers = [{ 'Content-Type': 'application/json' }];
  return async (url) => {
    const request = { method: 'POST', url, headers, body: bodyOf('{{card_number}}') };
    const target = `/v1/proxy/post?user=${user}&${address}`;
    const reply = await call(vault, credentials, target, { synchronous: true, request });
    requireCreated(((await reply.json()) as { readonly status_code: number }).status_code);
  };
}

/** One block of calls. */
interface Block {
  readonly latencies: readonly number[];
  readonly seconds: number;
}

async function runBlock(calls: Calls, url: string, atOnce: number): Promise<Block> {
  const latencies: number[] = [];
  let left = CALLS_LEAST + CALLS_EACH * atOnce;
  const row = async (): Promise<void> => {
    while (left-- > 0) {
      const from = performance.now();
      await calls(url);
      latencies.push(performance.now() - from);
    }
  };
  const from = performance.now();
  await Promise.all(Array.from({ length: atOnce }, row));
  return { latencies, seconds: (performance.now() - from) / 1_000 };
}

function rateOf(blocks: readonly Block[]): number {
  const calls = blocks.reduce((sum, { latencies }) => sum + latencies.length, 0);
  return calls / blocks.reduce((sum, { seconds }) => sum + seconds, 0);
}

function allOf(blocks: readonly Block[]): number[] {
  return blocks.flatMap(({ latencies }) => latencies);
}

/** How calls through the vault are named. */
type Kind = 'proxied' | 'relayed' | 'captured' | 'inbound';

/** What calls through the vault cost, beside direct ones in the same turns. */
export interface ProxiedRow {
  readonly kind: Kind;
  readonly atOnce: number;
  /** What the target waits before it answers. */
  readonly delayMs: number;
  readonly directP50Ms: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** What a call takes more than a direct one at the median: the middle block, and the quietest one. */
  readonly addedMs: number;
  readonly addedLeastMs: number;
  /** Calls a second. */
  readonly rate: number;
  /** CPU time of server and Redis for one call. */
  readonly cpuUs: number;
}

interface Kinds {
  readonly direct: Calls;
  readonly through: Readonly<Record<Kind, Calls>>;
}

interface Series {
  readonly delayMs: number;
  readonly atOnce: number;
  readonly rounds: number;
}

/** Direct calls and those of one kind in turns, block by block, so that a disturbance meets both. */
async function measureSeries(
  { vault, url }: Setting,
  { direct, through }: Kinds,
  kind: Kind,
  { delayMs, atOnce, rounds }: Series,
): Promise<ProxiedRow> {
  const target = `${url}/after/${delayMs}`;
  const [ones, others, splits]: [Block[], Block[], CpuSplit[]] = [[], [], []];
  for (let round = 0; round < rounds; round++) {
    ones.push(await runBlock(direct, target, atOnce));
    const watched = { serverPid: vault.pid, redisPid: vault.redisPid };
    const { result, split } = await withCpu(watched, () => runBlock(through[kind], target, atOnce));
    others.push(result);
    splits.push(split);
  }
  const middles = ones.map(({ latencies }, i) => [median(latencies), median(others[i]?.latencies ?? [])]);
  const added = middles.map(([one = 0, other = 0]) => other - one);
  const cpuSeconds = splits.flatMap((split) => Object.values(split)).reduce((sum, part) => sum + part, 0);
  return {
    ...{ kind, atOnce, delayMs },
    directP50Ms: median(allOf(ones)),
    p50Ms: median(allOf(others)),
    p99Ms: percentile(allOf(others), 0.99),
    addedMs: median(added),
    addedLeastMs: Math.min(...added),
    rate: rateOf(others),
    cpuUs: (1e6 * cpuSeconds) / allOf(others).length,
  };
}

async function measure(setting: Setting, holding: Holding, rounds: number): Promise<ProxiedRow[]> {
  const address = await storeCard(setting.vault, holding);
  const kinds: Kinds = {
    direct: directCalls(setting.caPem),
    through: {
      proxied: proxiedCalls(setting.vault, holding, address),
      relayed: await relayedCalls(setting, holding, address),
      captured: await captureCalls(setting, holding),
      inbound: await inboundCalls(setting, holding),
    },
  };
  const names = Object.keys(kinds.through) as Kind[];
  const rows: ProxiedRow[] = [];
  for (const kind of names) {
    const warmUp = { delayMs: 0, atOnce: WARM_UP_AT_ONCE, rounds: WARM_UP_BLOCKS * rounds };
    await measureSeries(setting, kinds, kind, warmUp);
  }
  for (const delayMs of DELAYS_MS) {
    for (const atOnce of AT_ONCE) {
      for (const kind of names) {
        rows.push(await measureSeries(setting, kinds, kind, { delayMs, atOnce, rounds }));
      }
    }
  }
  return rows;
}

/** An inbound stores a card and sends it on. */
const INBOUND_AIM = { most: 1.3 };

/** What an inbound costs over a capture and a relayed call together. */
export function inboundFigure(rows: readonly ProxiedRow[]): Figure {
  const cpuOf = (kind: Kind): number =>
    rows.find((row) => row.kind === kind && row.atOnce === AIM_AT_ONCE && row.delayMs === 0)?.cpuUs ??
    Number.NaN;
  return {
    name: 'CPU time of an inbound call, over a capture and a relayed call together',
    value: cpuOf('inbound') / (cpuOf('captured') + cpuOf('relayed')),
    unit: 'times',
    aim: INBOUND_AIM,
  };
}

/** Measures synchronous calls through a vault of its own to a target of its own, in `folder`. */
export async function measureProxied(
  folder: string,
  holding: Holding,
  rounds: number,
): Promise<ProxiedRow[]> {
  mkdirSync(folder, { mode: 0o700 });
  const authority = await newAuthority();
  const { certPem, keyPem } = await authority.issue({ names: [{ type: 'ip', value: '127.0.0.1' }] });
  const files = { ca: authority.pem, cert: certPem, key: keyPem };
  const fileOf = (name: keyof typeof files): string => join(folder, `target-${name}.pem`);
  for (const name of ['ca', 'cert', 'key'] as const) {
    writeFileSync(fileOf(name), files[name], { mode: 0o600 });
  }
  const target: Server = await startProgram('target.ts', [fileOf('cert'), fileOf('key')]);
  try {
    const settings = { VAULT_PROXY_ALLOW: '127.0.0.1/32', VAULT_PROXY_CA_FILE: fileOf('ca') };
    const vault = await startVault(folder, settings);
    try {
      const url = `https://127.0.0.1:${target.port}`;
      return await measure({ vault, url, caPem: authority.pem }, holding, rounds);
    } finally {
      await vault.stop();
    }
  } finally {
    await target.stop();
  }
}
