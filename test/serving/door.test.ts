import { afterEach, describe, expect, test } from 'bun:test';
import { connect, type TLSSocket } from 'node:tls';
import { Elysia } from 'elysia';
import { type Door, openDoor } from '../../server/http/listen/door.ts';
import { listeningDescriptors } from '../../server/http/listen/gate.ts';
import { findFreePort, judgePort } from '../../server/http/listen/port.ts';
import { newAuthority } from '../outbound/certificates.ts';
import { createCaller } from './connection.ts';

const HOST = { hostname: '127.0.0.1', idleTimeoutSeconds: 30 } as const;

const doors: Door[] = [];
afterEach(async () => {
  await Promise.all(doors.splice(0).map((door) => door.close()));
});

/** An application that says its name, and one request of which waits until it is let go. */
const open = (name: string, port = 0, tls?: Bun.TLSOptions) => {
  const held = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const app = new Elysia();
  app.get('/', ({ server, request }) => new Response(`${name} ${server?.requestIP(request)?.address}`));
  app.get('/held', async () => {
    reached.resolve();
    await held.promise;
    return new Response(name);
  });
  const door = openDoor(app, { ...HOST, port, ...(tls === undefined ? {} : { tls }) }, 50);
  doors.push(door);
  return { door, reached: reached.promise, letGo: held.resolve };
};

describe('a door that closes', () => {
  test('takes no new connection from then on; a server beside it does', async () => {
    const { door } = open('old');
    open('new', door.port);
    const isClosed = door.close();
    const callers = Array.from({ length: 40 }, () => createCaller(door.port));
    const replies = await Promise.all(callers.map((caller) => caller.send('GET', '/', '')));
    expect(new Set(replies.map(({ body }) => body))).toEqual(new Set(['new 127.0.0.1']));
    await isClosed;
    for (const caller of callers) {
      caller.end();
    }
  });

  test('answers what comes on connections that it has, and ends them with it', async () => {
    const { door } = open('old');
    const kept = createCaller(door.port);
    const fresh = await Bun.connect({
      hostname: '127.0.0.1',
      port: door.port,
      socket: { data: () => undefined },
    });
    expect((await kept.send('GET', '/', '')).head).not.toMatch(/^connection: close/im);
    const isClosed = door.close();
    const replies = await Promise.all([kept.send('GET', '/', ''), createCallerOn(fresh)]);
    expect(replies[0].head).toMatch(/^connection: close/im);
    expect(replies[1]).toMatch(/^connection: close/im);
    await isClosed;
    await expect(createCaller(door.port).send('GET', '/', '')).rejects.toThrow('ECONNREFUSED');
  });

  test('waits for what is being answered, however long that takes', async () => {
    const { door, reached, letGo } = open('old');
    const reply = createCaller(door.port).send('GET', '/held', '');
    await reached;
    let isClosed = false;
    const closing = door.close().then(() => {
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

  test('takes connections for as long as it only leaves', async () => {
    const { door } = open('old');
    door.leave();
    for (let turn = 0; turn < 3; turn++) {
      const { status, head } = await createCaller(door.port).send('GET', '/', '');
      expect(status).toBe(200);
      expect(head).toMatch(/^connection: close/im);
    }
  });
});

/** Sends a request on a connection that has had none. */
const createCallerOn = (socket: Bun.Socket<undefined>): Promise<string> =>
  new Promise((resolve) => {
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

/** Begins TLS with the door, and gives the socket when that is done. */
const greet = (port: number, options: object = {}): Promise<TLSSocket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options }, () =>
      resolve(socket),
    );
    socket.on('error', reject);
  });

const ask = (socket: TLSSocket): Promise<string> =>
  new Promise((resolve) => {
    socket.setEncoding('latin1');
    socket.once('data', (chunk) => resolve(String(chunk)));
    socket.write('GET / HTTP/1.1\r\nHost: vault.test\r\n\r\n');
  });

describe('TLS', () => {
  const newPair = async (subject: string) => {
    const { certPem, keyPem } = await (await newAuthority()).issue({ subject });
    return { cert: certPem, key: keyPem };
  };

  test('is 1.2 or newer, and says so for the next year; plain HTTP does not', async () => {
    const { door } = open('tls', 0, await newPair('CN=first'));
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const socket = await greet(door.port, { minVersion: version, maxVersion: version });
      expect(socket.getProtocol()).toBe(version);
      expect(await ask(socket)).toContain('Strict-Transport-Security: max-age=31536000\r\n');
      socket.destroy();
    }
    for (const version of ['TLSv1', 'TLSv1.1'] as const) {
      await expect(greet(door.port, { minVersion: version, maxVersion: version })).rejects.toThrow();
    }
    const { head } = await createCaller(open('plain').door.port).send('GET', '/', '');
    expect(head).not.toMatch(/strict-transport/i);
  });

  test('a renewed certificate is shown to new connections, and old ones are answered', async () => {
    const { door } = open('tls', 0, await newPair('CN=first'));
    const old = await greet(door.port, { localAddress: '127.0.0.9' });
    expect(old.getPeerCertificate().subject.CN).toBe('first');
    expect(await ask(old)).toContain('tls 127.0.0.9');
    door.renew(await newPair('CN=second'));
    const ended = new Promise((resolve) => old.once('close', resolve));
    const reply = await ask(old);
    expect(reply).toContain('tls 127.0.0.9');
    expect(reply).toContain('Connection: close');
    await ended;
    while (listeningDescriptors(door.port).length > 1) {
      await Bun.sleep(20);
    }
    for (let turn = 0; turn < 5; turn++) {
      const socket = await greet(door.port);
      expect(socket.getPeerCertificate().subject.CN).toBe('second');
      socket.destroy();
    }
  });
});

describe('a port', () => {
  const never = async (): Promise<boolean> => false;

  test('is free, shared with a sibling, or taken by somebody else, even one who would share it', async () => {
    expect(await judgePort('127.0.0.1', findFreePort('127.0.0.1'), never)).toBe('free');
    const { door } = open('other');
    expect(await judgePort('127.0.0.1', door.port, async () => true)).toBe('shared');
    expect(await judgePort('127.0.0.1', door.port, never)).toBe('taken');
  });

  test('of an address that is not here is an error of the system', async () => {
    await expect(judgePort('192.0.2.1', 8080, never)).rejects.toThrow(/EADDRNOTAVAIL|listen/);
  });
});
