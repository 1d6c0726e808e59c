/** What a proxied call costs over calling its target directly, each call over a connection of its own. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { newAuthority } from '../outbound/certificates.ts';
import { addressesOf, type Holding } from './cards.ts';
import { call, makeKey, type Server, startProgram, startVault, type Vault } from './servers.ts';
import { type Figure, median, percentile } from './stats.ts';

/** Pairs of calls for each repeat that the options ask for. */
const PAIRS = 50;
const AT_ONCE = 16;
function bodyOf(number: string): string {
  return `{"amount":1000,"currency":"eur","number":"${number}"}`;
}
const NUMBER = '4111111111111111';
const CREATED = 201;

/** The target and the vault that may reach it. */
interface Setting {
  readonly vault: Vault;
  readonly url: string;
  readonly caPem: string;
}

function callDirectly({ url, caPem }: Setting): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const body = bodyOf(NUMBER);
  const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length };
  const sent = request(url, { method: 'POST', headers, ca: caPem, agent: false }, (reply) => {
    reply.resume();
    reply.on('end', () =>
      reply.statusCode === CREATED ? resolve() : reject(new Error(`the target answered ${reply.statusCode}`)),
    );
  });
  sent.on('error', reject);
  sent.end(body);
  return promise;
}

async function timed(work: () => Promise<void>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

/** Direct and proxied calls in turns, so that a disturbance meets both; sixteen of such rows side by side. */
async function measurePairs(
  setting: Setting,
  proxied: () => Promise<void>,
  pairs: number,
): Promise<Figure[]> {
  const [direct, through, more]: [number[], number[], number[]] = [[], [], []];
  let left = pairs;
  const row = async (): Promise<void> => {
    while (left-- > 0) {
      const [one, other] = [await timed(() => callDirectly(setting)), await timed(proxied)];
      direct.push(one);
      through.push(other);
      more.push(other - one);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, row));
  const figure = (name: string, value: number): Figure => ({ name, value, unit: 'ms' });
  return [
    figure(`Direct call, ${AT_ONCE} at once, p50`, median(direct)),
    figure(`Proxied call, ${AT_ONCE} at once, p50`, median(through)),
    figure(`Proxied call, ${AT_ONCE} at once, p99`, percentile(through, 0.99)),
    figure(`Proxied over direct, ${AT_ONCE} at once, p50`, median(more)),
  ];
}

async function measure(setting: Setting, { user, credentials }: Holding, repeats: number): Promise<Figure[]> {
  const { vault, url } = setting;
  await makeKey(vault, credentials, user);
  await call(vault, credentials, `/v1/vault/?user=${user}&reference=order`, { card_number: NUMBER });
  const [address] = await addressesOf(vault, { user, credentials });
  const order = {
    synchronous: true,
    request: {
      method: 'POST',
      url,
      headers: [{ 'Content-Type': 'application/json' }],
      body: bodyOf('{{card_number}}'),
    },
  };
  const proxied = async (): Promise<void> => {
    const reply = await call(vault, credentials, `/v1/proxy/post?user=${user}&${address}`, order);
    const { status_code: status } = (await reply.json()) as { readonly status_code: number };
    if (status !== CREATED) {
      throw new Error(`the target answered ${status}`);
    }
  };
  await measurePairs(setting, proxied, PAIRS);
  return measurePairs(setting, proxied, repeats * PAIRS);
}

/** Measures synchronous calls through a vault of its own to a target of its own, in `folder`. */
export async function measureProxied(folder: string, holding: Holding, repeats: number): Promise<Figure[]> {
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
      const url = `https://127.0.0.1:${target.port}/charges`;
      return await measure({ vault, url, caPem: authority.pem }, holding, repeats);
    } finally {
      await vault.stop();
    }
  } finally {
    await target.stop();
  }
}
