import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { vectorPath } from '../helpers/config.ts';
import { freePort } from '../helpers/free-port.ts';
import { scrape } from '../helpers/metrics.ts';
import { findLost, prepareLoad, startServingLoad } from './load.ts';
import {
  childrenOf,
  countEvents,
  endAll,
  newFolder,
  type ServerProcess,
  serversOf,
  startProcess,
  until,
} from './process.ts';

setDefaultTimeout(180_000);

const SIGN_INS = 24;
const LIVE = { route: '/health/live' };

afterAll(endAll);

function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));
  } catch {
    return false;
  }
}

function occurrences(text: string, part: string): number {
  return text.split(part).length - 1;
}

/** Sends a request on a connection of its own, which the kernel gives to any of the processes. */
function send(port: number, path: string, init: RequestInit = {}, scheme = 'http'): Promise<Response> {
  const tls = { rejectUnauthorized: false };
  return fetch(`${scheme}://127.0.0.1:${port}${path}`, { ...init, keepalive: false, tls });
}

function statuses(responses: readonly Response[]): readonly number[] {
  return [...new Set(responses.map(({ status }) => status))];
}

/** The metrics that the first of many connections gets, whichever process has it. */
async function readMetrics(port: number) {
  const controller = new AbortController();
  const { signal } = controller;
  const all = Array.from({ length: SIGN_INS }, () => scrape(() => send(port, '/metrics', { signal })));
  const first = await Promise.any(all);
  controller.abort();
  await Promise.allSettled(all);
  return first;
}

function start(settings: Record<string, string> = {}): ServerProcess {
  return startProcess({ VAULT_PROCESSES: '2', VAULT_DATA_DIR: join(newFolder(), 'data'), ...settings });
}

describe('two processes on one port', () => {
  let server: ServerProcess;
  let port = 0;
  beforeAll(async () => {
    server = start();
    port = await server.ready;
    await until(() => countEvents(server, 'started') === 2);
  });

  test('the operator is greeted once', () => {
    expect(serversOf(server)).toHaveLength(2);
    expect(occurrences(server.printed(), 'is ready.')).toBe(1);
    expect(server.printed()).toContain('2 processes share the port.');
    expect(server.printed()).not.toContain('Another server of this vault');
  });

  test('both serve, and either shows the sum, also while the other one hangs', async () => {
    const live = await Promise.all(Array.from({ length: 40 }, () => send(port, '/health/live')));
    expect(statuses(live)).toEqual([200]);
    const read = async () => (await readMetrics(port)).value(COUNT, LIVE);
    const COUNT = 'vault_http_request_duration_seconds_count';
    expect(await read()).toBe(40);
    for (const pid of serversOf(server)) {
      process.kill(pid, 'SIGSTOP');
      expect([pid, await read()]).toEqual([pid, 40]);
      process.kill(pid, 'SIGCONT');
    }
  });

  test('one that is killed is replaced while the other serves, with the same Redis, and no counter decreases', async () => {
    const before = await readMetrics(port);
    const [killed = 0, other = 0] = serversOf(server);
    const redis = childrenOf(server.pid, /redis-server|valkey-server/);
    process.kill(killed, 'SIGKILL');
    // What the killed one had not accepted is reset.
    await until(async () => (await send(port, '/health/ready').catch(() => ({ status: 0 }))).status === 200);
    await until(() => countEvents(server, 'started') === 3);
    expect(server.printed()).toMatch(/"event":"server_process_down".*"signal":"SIGKILL"/);
    expect(serversOf(server)).toContain(other);
    expect(serversOf(server)).toHaveLength(2);
    expect(childrenOf(server.pid, /redis-server|valkey-server/)).toEqual(redis);
    const after = await readMetrics(port);
    const isCounter = /_total$|_count$|_bucket$/;
    for (const { name, labels, value } of before.series.filter((one) => isCounter.test(one.name))) {
      expect([name, labels, after.value(name, labels) >= value]).toEqual([name, labels, true]);
    }
    expect(after.value('vault_events_total', { event: 'server_process_down' })).toBe(1);
    expect(after.value('vault_worker_threads_alive')).toBe(2);
  });

  test('SIGHUP replaces them one by one, and no request fails', async () => {
    const old = serversOf(server);
    const ready = new Set<number>();
    const load = startServingLoad(port, await prepareLoad(port), [0, 100, 'fresh'], { repeat: true });
    await until(() => load.tally().answered > 50);
    server.signal('SIGHUP');
    await until(async () => {
      ready.add((await send(port, '/health/ready').catch(() => ({ status: 200 }))).status);
      return countEvents(server, 'server_process_replaced') === 2;
    });
    const { failures, acknowledged } = await load.stop();
    expect(failures).toEqual([]);
    expect([...ready]).toEqual([200]);
    expect(await findLost(port, acknowledged)).toEqual([]);
    expect(serversOf(server)).toHaveLength(2);
    expect(serversOf(server).filter((pid) => old.includes(pid))).toEqual([]);
    expect(occurrences(server.printed(), 'is ready.')).toBe(1);
  });

  test('SIGTERM drains both, and leaves nothing', async () => {
    const load = startServingLoad(port, await prepareLoad(port), [0, 0, 0, 0], { repeat: true });
    await until(() => load.tally().answered > 50);
    const pids = [...serversOf(server), ...childrenOf(server.pid, /redis-server|valkey-server/)];
    expect(pids).toHaveLength(3);
    server.signal('SIGTERM');
    expect(await server.exited).toBe(0);
    expect(pids.filter(isRunning)).toEqual([]);
    const { failures } = await load.stop();
    // After the end nothing listens; before, every request was answered. The kernel resets connections that it has
    // completed and that nobody has accepted when the last socket closes: at most one for each caller.
    expect(failures.filter((line) => !/ECONNREFUSED|ECONNRESET/.test(line))).toEqual([]);
    expect(failures.filter((line) => /ECONNRESET/.test(line)).length).toBeLessThanOrEqual(4);
  });
});

describe('a server of two processes', () => {
  test('that cannot start says so once, with exit code 1', async () => {
    const other = Bun.listen({
      hostname: '127.0.0.1',
      port: freePort(),
      socket: { data: () => undefined },
    });
    const server = start({ VAULT_PORT: String(other.port) });
    expect(await server.exited).toBe(1);
    await server.ready.catch(() => undefined);
    other.stop(true);
    expect(occurrences(server.printed(), 'is already in use')).toBe(1);
    expect(server.printed()).not.toContain('is ready.');
  });

  test('ends with its supervisor', async () => {
    const server = start();
    await server.ready;
    await until(() => serversOf(server).length === 2);
    const pids = [...serversOf(server), ...childrenOf(server.pid, /redis-server|valkey-server/)];
    server.signal('SIGKILL');
    await server.exited;
    await until(() => !pids.some(isRunning));
  });

  test('ends with exit code 0, and leaves nothing, when SIGTERM comes during a rolling restart', async () => {
    const server = start();
    await server.ready;
    await until(() => serversOf(server).length === 2);
    server.signal('SIGHUP');
    await until(() => countEvents(server, 'draining') === 1);
    const pids = serversOf(server);
    server.signal('SIGTERM');
    expect(await server.exited).toBe(0);
    expect(pids.filter(isRunning)).toEqual([]);
    expect(server.printed()).not.toContain('stop_failed');
  });

  test('speaks TLS, and keeps the old processes when a new certificate is wrong', async () => {
    const folder = newFolder();
    const copyOf = (name: string): string => {
      const path = join(folder, name);
      writeFileSync(path, readFileSync(vectorPath(name)), { mode: 0o600 });
      return path;
    };
    const [cert, key] = [copyOf('tls-cert.pem'), copyOf('tls-key.pem')];
    const server = start({ VAULT_TLS_CERT_FILE: cert, VAULT_TLS_KEY_FILE: key });
    const port = await server.ready;
    await until(() => countEvents(server, 'started') === 2);
    const pids = serversOf(server);
    const get = () => send(port, '/health/ready', {}, 'https');
    expect(statuses(await Promise.all(Array.from({ length: SIGN_INS }, get)))).toEqual([200]);
    writeFileSync(cert, 'not a certificate');
    server.signal('SIGHUP');
    await until(() => server.printed().includes('"event":"rolling_restart_failed"'));
    expect(server.printed()).toContain('VAULT_TLS_CERT_FILE');
    expect(serversOf(server)).toEqual(pids);
    expect(statuses(await Promise.all(Array.from({ length: SIGN_INS }, get)))).toEqual([200]);
    server.signal('SIGINT');
    expect(await server.exited).toBe(0);
  });
});
