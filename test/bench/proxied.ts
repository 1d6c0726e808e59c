/** What a proxied call costs over calling its target directly, both over connections that are kept. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newAuthority } from '../outbound/certificates.ts';
import { addressesOf, type Holding } from './cards.ts';
import { type CpuSplit, withCpu } from './cpu.ts';
import { call, makeKey, type Server, startProgram, startVault, type Vault } from './servers.ts';
import { type Figure, median, percentile } from './stats.ts';

const AT_ONCE = [1, 16, 64] as const;
/** What the target waits before it answers. */
const DELAYS_MS = [0, 20] as const;
/** Calls of a block for each that is made at once, beside those of every block. */
const CALLS_EACH = 12;
const CALLS_LEAST = 48;
/** Blocks before the first that counts: the runtime is still compiling after some thousand calls. */
const WARM_UP_BLOCKS = 3;
const WARM_UP_AT_ONCE = 64;
/** The most that a proxied call should add at the median, with as many at once as the aim is about. */
const ADDED_AIM_MS = 3;
const AIM_AT_ONCE = 16;
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

async function proxiedCalls(vault: Vault, { user, credentials }: Holding): Promise<Calls> {
  await makeKey(vault, credentials, user);
  await call(vault, credentials, `/v1/vault/?user=${user}&reference=order`, { card_number: NUMBER });
  const [address] = await addressesOf(vault, { user, credentials });
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

/** Direct and proxied calls in turns, block by block, so that a disturbance meets both. */
async function measureSeries(
  { vault, url }: Setting,
  [direct, proxied]: readonly [Calls, Calls],
  { delayMs, atOnce, rounds }: { delayMs: number; atOnce: number; rounds: number },
): Promise<Figure[]> {
  const target = `${url}/after/${delayMs}`;
  const [ones, others, splits]: [Block[], Block[], CpuSplit[]] = [[], [], []];
  for (let round = 0; round < rounds; round++) {
    ones.push(await runBlock(direct, target, atOnce));
    const watched = { serverPid: vault.pid, redisPid: vault.redisPid };
    const { result, split } = await withCpu(watched, () => runBlock(proxied, target, atOnce));
    others.push(result);
    splits.push(split);
  }
  const middles = ones.map(({ latencies }, i) => [median(latencies), median(others[i]?.latencies ?? [])]);
  const added = middles.map(([one = 0, other = 0]) => other - one);
  const cpuSeconds = splits.flatMap((split) => Object.values(split)).reduce((sum, part) => sum + part, 0);
  const of = `${atOnce} at once, target ${delayMs} ms`;
  const ms = (name: string, value: number): Figure => ({ name: `${name}, ${of}`, value, unit: 'ms' });
  const aim = atOnce === AIM_AT_ONCE ? { aim: { most: ADDED_AIM_MS } } : {};
  return [
    ms('Direct call, p50', median(allOf(ones))),
    ms('Proxied call, p50', median(allOf(others))),
    ms('Proxied call, p99', percentile(allOf(others), 0.99)),
    { name: `Direct calls, ${of}`, value: rateOf(ones), unit: 'calls/s' },
    { name: `Proxied calls, ${of}`, value: rateOf(others), unit: 'calls/s' },
    { ...ms('Proxied over direct, p50 of the quietest block', Math.min(...added)), ...aim },
    { ...ms('Proxied over direct, p50', median(added)), ...aim },
    {
      name: `CPU of a proxied call, server and Redis, ${of}`,
      value: (1e6 * cpuSeconds) / allOf(others).length,
      unit: 'µs',
    },
  ];
}

async function measure(setting: Setting, holding: Holding, rounds: number): Promise<Figure[]> {
  const calls = [directCalls(setting.caPem), await proxiedCalls(setting.vault, holding)] as const;
  const warmUp = { delayMs: 0, atOnce: WARM_UP_AT_ONCE, rounds: WARM_UP_BLOCKS * rounds };
  await measureSeries(setting, calls, warmUp);
  const figures: Figure[] = [];
  for (const delayMs of DELAYS_MS) {
    for (const atOnce of AT_ONCE) {
      figures.push(...(await measureSeries(setting, calls, { delayMs, atOnce, rounds })));
    }
  }
  return figures;
}

/** Measures synchronous calls through a vault of its own to a target of its own, in `folder`. */
export async function measureProxied(folder: string, holding: Holding, rounds: number): Promise<Figure[]> {
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
