import { afterEach, describe, expect, test } from 'bun:test';
import { connect, type TLSSocket } from 'node:tls';
import { Elysia } from 'elysia';
import { type Listener, openListener } from '../../server/http/listen/listen.ts';
import { findFreePort, probePort } from '../../server/http/listen/port.ts';
import { newAuthority } from '../outbound/certificates.ts';
import { createCaller } from './connection.ts';

const HOST = { hostname: '127.0.0.1', idleTimeoutSeconds: 30 } as const;

const listeners: Listener[] = [];
afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.close()));
});

/** An application that says its name, and one request of which waits until it is let go. */
function open(name: string, port = 0, tls?: Bun.TLSOptions) {
  const held = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const app = new Elysia();
  app.get('/', ({ server, request }) => new Response(`${name} ${server?.requestIP(request)?.address}`));
  app.get('/held', async () => {
    reached.resolve();
    await held.promise;
    return new Response(name);
  });
  const listener = openListener(app, { ...HOST, port, ...(tls === undefined ? {} : { tls }) });
  listeners.push(listener);
  return { listener, reached: reached.promise, letGo: held.resolve };
}

describe('a listener that closes', () => {
  test('accepts no new connection once it is closed; a server on the same port does', async () => {
    const { listener } = open('old');
    open('new', listener.port);
    await listener.close();
    const callers = Array.from({ length: 40 }, () => createCaller(listener.port));
    const replies = await Promise.all(callers.map((caller) => caller.send('GET', '/', '')));
    expect(new Set(replies.map(({ body }) => body))).toEqual(new Set(['new 127.0.0.1']));
    for (const caller of callers) {
      caller.end();
    }
  });

  test('answers what comes on connections that it has, and ends them with it', async () => {
    const { listener } = open('old');
    const kept = createCaller(listener.port);
    const fresh = await Bun.connect({
      hostname: '127.0.0.1',
      port: listener.port,
      socket: { data: () => undefined },
    });
    expect((await kept.send('GET', '/', '')).head).not.toMatch(/^connection: close/im);
    const isClosed = listener.close();
    const replies = await Promise.all([kept.send('GET', '/', ''), createCallerOn(fresh)]);
    expect(replies[0].head).toMatch(/^connection: close/im);
    expect(replies[1]).toMatch(/^connection: close/im);
    await isClosed;
    await expect(createCaller(listener.port).send('GET', '/', '')).rejects.toThrow('ECONNREFUSED');
  });

  test('waits for what is being answered, however long that takes', async () => {
    const { listener, reached, letGo } = open('old');
    const reply = createCaller(listener.port).send('GET', '/held', '');
    await reached;
    let isClosed = false;
    const closing = listener.close().then(() => {
      isClosed = true;
    });
    await Bun.sleep(800);
    expect(isClosed).toBe(false);
    letGo();
    const { status, head } = await reply;
    expect(status).toBe(200);
    expect(head).toMatch(/^connection: close/im);
    await closing;
  });

  test('accepts connections for as long as it only drains', async () => {
    const { listener } = open('old');
    listener.startDraining();
    for (let turn = 0; turn < 3; turn++) {
      const { status, head } = await createCaller(listener.port).send('GET', '/', '');
      expect(status).toBe(200);
      expect(head).toMatch(/^connection: close/im);
    }
  });
});

/** Sends a request on a connection that has had none. */
function createCallerOn(socket: Bun.Socket<undefined>): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.reload({
      socket: {
        data: (_socket, chunk) => {
          text += chunk.toString();
        },
        close: () => resolve(text),
      },
    });
    socket.write('GET / HTTP/1.1\r\nHost: vault.test\r\n\r\n');
  });
}

/** Connects with TLS, and gives the socket when the handshake is done. */
function greet(port: number, options: object = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options }, () =>
      resolve(socket),
    );
    socket.on('error', reject);
  });
}

function ask(socket: TLSSocket, path = '/'): Promise<string> {
  return new Promise((resolve) => {
    socket.setEncoding('latin1');
    socket.once('data', (chunk) => resolve(String(chunk)));
    socket.write(`GET ${path} HTTP/1.1\r\nHost: vault.test\r\n\r\n`);
  });
}

describe('TLS', () => {
  const newPair = async (subject: string) => {
    const { certPem, keyPem } = await (await newAuthority()).issue({ subject });
    return { cert: certPem, key: keyPem };
  };

  test('is 1.2 or newer, and says so for the next year; plain HTTP does not', async () => {
    const { listener } = open('tls', 0, await newPair('CN=first'));
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const socket = await greet(listener.port, { minVersion: version, maxVersion: version });
      expect(socket.getProtocol()).toBe(version);
      expect(await ask(socket)).toContain('Strict-Transport-Security: max-age=31536000\r\n');
      socket.destroy();
    }
    for (const version of ['TLSv1', 'TLSv1.1'] as const) {
      await expect(greet(listener.port, { minVersion: version, maxVersion: version })).rejects.toThrow();
    }
    const { head } = await createCaller(open('plain').listener.port).send('GET', '/', '');
    expect(head).not.toMatch(/strict-transport/i);
  });

  test('a renewed certificate comes with a server that takes the port over', async () => {
    const { listener, reached, letGo } = open('old', 0, await newPair('CN=first'));
    const old = await greet(listener.port);
    expect(old.getPeerCertificate().subject.CN).toBe('first');
    const reply = ask(old, '/held');
    await reached;
    open('new', listener.port, await newPair('CN=second'));
    const isClosed = listener.close();
    letGo();
    expect(await reply).toContain('Connection: close');
    await isClosed;
    for (let turn = 0; turn < 5; turn++) {
      const socket = await greet(listener.port);
      expect(socket.getPeerCertificate().subject.CN).toBe('second');
      expect(await ask(socket)).toContain('new 127.0.0.1');
      socket.destroy();
    }
  });
});

describe('a port', () => {
  const never = async (): Promise<boolean> => false;

  test('is free, shared with a sibling, or taken by somebody else, even one who would share it', async () => {
    expect(await probePort('127.0.0.1', findFreePort('127.0.0.1'), never)).toBe('free');
    const { listener } = open('other');
    expect(await probePort('127.0.0.1', listener.port, async () => true)).toBe('shared');
    expect(await probePort('127.0.0.1', listener.port, never)).toBe('taken');
  });

  test('of an address that is not here is an error of the system', async () => {
    await expect(probePort('192.0.2.1', 8080, never)).rejects.toThrow(/EADDRNOTAVAIL|listen/);
  });
});
