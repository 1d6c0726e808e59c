import { afterEach, expect, test } from 'bun:test';
import { findFreePort } from '../../server/http/listen/port.ts';
import { endAll, newFolder, startProcess } from './process.ts';

afterEach(endAll);

async function statusOf(port: number, path: string): Promise<number> {
  return (await fetch(`http://127.0.0.1:${port}${path}`)).status;
}

test.each([1, 2])(
  '%d processes with two listeners: each has what belongs to it, and both drain',
  async (processes) => {
    const port = findFreePort('127.0.0.1');
    const server = startProcess({
      VAULT_DATA_DIR: newFolder(),
      VAULT_PORT: String(port),
      VAULT_ADMIN_PORT: '0',
      VAULT_PROCESSES: String(processes),
      VAULT_WORKERS: '1',
    });
    // The banner names the listener that has everything.
    const adminPort = await server.ready;
    for (const path of ['/metrics', '/openapi.json', '/v1/whoami']) {
      expect(await statusOf(port, path)).toBe(404);
      expect([200, 401]).toContain(await statusOf(adminPort, path));
    }
    for (const each of [port, adminPort]) {
      expect(await statusOf(each, '/health/ready')).toBe(200);
      expect(await statusOf(each, '/v1/retrieve/unknown')).toBe(403);
    }
    expect(server.printed()).toContain(`http://127.0.0.1:${adminPort}/docs`);
    server.signal('SIGTERM');
    expect(await server.exited).toBe(0);
    for (const each of [port, adminPort]) {
      await expect(statusOf(each, '/health/live')).rejects.toThrow();
    }
  },
);

test('a port that another program has stops the start, and names its setting', async () => {
  const taken = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } });
  const server = startProcess({ VAULT_DATA_DIR: newFolder(), VAULT_ADMIN_PORT: String(taken.port) });
  expect(await server.exited).toBe(1);
  expect(server.printed()).toContain(`127.0.0.1:${taken.port} is already in use; set VAULT_ADMIN_PORT`);
  taken.stop(true);
});
