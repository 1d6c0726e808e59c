/** The connection to one server, against a server that does everything wrong. */
import { afterEach, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RedisLink, script } from '../../server/redis/client.ts';
import { connectServer } from '../../server/redis/connect.ts';
import { openRedis } from '../../server/redis/open.ts';
import { CommandWriter, INCOMPLETE, ReplyReader } from '../../server/redis/resp.ts';
import { Wire } from '../../server/redis/wire.ts';
import { withQuickTimers } from '../helpers/quick-timers.ts';

/** The step in which the connection counts time, and a quicker one, both in ms. */
const QUICK_STEPS = new Map([[250, 40]]);

type Answer = (parts: readonly string[], socket: Socket) => string | undefined;

interface Fake {
  readonly link: RedisLink;
  readonly path: string;
  readonly seen: string[][];
  readonly states: string[];
  readonly sockets: Set<Socket>;
}

const open: { server: Server; folder: string; link: RedisLink; sockets: Set<Socket> }[] = [];

afterEach(async () => {
  for (const { server, folder, link, sockets } of open.splice(0)) {
    await link.close();
    for (const socket of sockets) {
      socket.destroy();
    }
    server.close();
    rmSync(folder, { recursive: true });
  }
});

/** What the library asks when a connection is opened. */
const HANDSHAKE: Readonly<Record<string, string>> = {
  CLIENT: '+OK\r\n',
  INFO: '$26\r\nloading:0\r\nrole:master\r\n\r\n\r\n',
  PING: '+PONG\r\n',
};

/** A server that answers what `answer` says; undefined is silence, which the connection finds sooner where it is `silent`. */
async function fake(answer: Answer, silent = false): Promise<Fake> {
  const folder = mkdtempSync(join(tmpdir(), 'cv-wire-'));
  const path = join(folder, 's');
  const seen: string[][] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    const reader = new ReplyReader();
    socket.on('data', (chunk: Buffer) => {
      reader.add(chunk);
      for (let command = reader.next(); command !== INCOMPLETE; command = reader.next()) {
        const parts = (command as Buffer[]).map(String);
        const name = (parts[0] ?? '').toUpperCase();
        const fixed = HANDSHAKE[name];
        if (fixed !== undefined) {
          socket.write(fixed);
          continue;
        }
        seen.push(parts);
        const text = answer(parts, socket);
        if (text !== undefined) {
          socket.write(text);
        }
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const states: string[] = [];
  const target = { kind: 'socket', path } as const;
  const options = { replicas: 0, onLink: (state: string) => void states.push(state) };
  const link = await withQuickTimers(silent ? QUICK_STEPS : new Map(), () => openRedis(target, options));
  open.push({ server, folder, link, sockets });
  return { link, path, seen, states, sockets };
}

function outcome(sent: Promise<unknown>): Promise<unknown> {
  return sent.then(String, (error: unknown) =>
    error instanceof Error ? (Reflect.get(error, 'code') ?? error.name) : error,
  );
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition(); tries++) {
    expect(tries).toBeLessThan(1_000);
    await Bun.sleep(10);
  }
}

describe('a command', () => {
  test('gets its own reply among 50,000, in order, through a socket that takes little at once', async () => {
    const { link } = await fake(([, text = '']) => `$${text.length}\r\n${text}\r\n`);
    const texts = Array.from({ length: 50_000 }, (_, i) => `${i}`.padEnd(i % 97, '.'));
    const replies = await Promise.all(texts.map((text) => link.command('ECHO', [text])));
    expect(replies.map(String)).toEqual(texts);
  });

  /** A server that executes transactions of commands that reply with a list or a text; undefined for an unanswered command. */
  function transactions(answer: (parts: readonly string[]) => string | undefined): Answer {
    let queued: string[] | undefined;
    return (parts) => {
      const [name] = parts;
      if (name === 'MULTI') {
        queued = [];
        return '+OK\r\n';
      }
      if (name === 'EXEC') {
        const replies = queued ?? [];
        queued = undefined;
        return `*${replies.length}\r\n${replies.join('')}`;
      }
      const reply = answer(parts);
      if (queued === undefined || reply === undefined) {
        return reply;
      }
      queued.push(reply);
      return '+QUEUED\r\n';
    };
  }

  test('among those that are read together gets its own reply, and an error fails these alone', async () => {
    const { link, seen } = await fake(
      transactions(([name, key = '']) => {
        if (name !== 'HMGET') {
          return `$${key.length}\r\n${key}\r\n`;
        }
        return key === 'wrong' ? '-WRONGTYPE other\r\n' : `*2\r\n$-1\r\n$${key.length}\r\n${key}\r\n`;
      }),
    );
    const both = (first: string, second: string) =>
      link.readTogether(
        [
          ['HMGET', first, 'a', 'b'],
          ['GET', second],
        ],
        60,
      );
    const [before, good, failed, large, after] = await Promise.all([
      link.command('GET', ['1']),
      both('x', 'long'),
      both('wrong', 'y').catch((error: unknown) => error),
      both('x'.repeat(30), 'y'.repeat(30)),
      link.command('GET', ['2']),
    ]);
    expect([before, after].map(String)).toEqual(['1', '2']);
    expect(String(good)).toBe('*2\r\n*2\r\n$-1\r\n$1\r\nx\r\n$4\r\nlong\r\n');
    expect(failed).toMatchObject({ code: 'integrity_failed' });
    expect(large).toBeUndefined();
    // One step: nothing of others comes between.
    expect(seen.slice(1, 5).map(([name]) => name)).toEqual(['MULTI', 'HMGET', 'GET', 'EXEC']);
  });

  test('that Redis does not allow fails those that are read with it', async () => {
    const { link } = await fake(([name]) =>
      name === 'MULTI'
        ? '+OK\r\n'
        : name === 'EXEC'
          ? '-EXECABORT discarded\r\n'
          : '-NOPERM no permission\r\n',
    );
    expect(await outcome(link.readTogether([['GET', '1']], 60))).toBe('store_unavailable');
  });

  test('among those that are read together and late fails with them, and their replies are dropped', async () => {
    let late: Socket | undefined;
    const answer = transactions(([name, key = '']) => (key === 'slow' ? undefined : `+${name} ${key}\r\n`));
    const { link } = await fake((parts, socket) => {
      late = socket;
      return parts[0] === 'EXEC' ? undefined : answer(parts, socket);
    }, true);
    expect(
      await outcome(
        link.readTogether(
          [
            ['HMGET', 'k', 'f'],
            ['GET', 'slow'],
          ],
          100,
        ),
      ),
    ).toBe('store_unavailable');
    late?.write('+QUEUED\r\n*2\r\n*1\r\n$1\r\nf\r\n$4\r\nslow\r\n');
    answer(['EXEC'], late ?? new Socket());
    expect(await link.command('GET', ['3'])).toBe('GET 3');
  });

  test('with an error inside of its reply resolves, since its list says which part failed', async () => {
    const { link } = await fake(() => '*2\r\n-ERR part\r\n:1\r\n');
    const [first, second] = (await link.command('EXEC', [])) as [Error, number];
    expect(first.message).toBe('ERR part');
    expect(second).toBe(1);
  });

  test('that is called by a digest is sent in full where the server does not know it, once', async () => {
    const { link, seen } = await fake(([name]) =>
      name === 'EVALSHA' ? '-NOSCRIPT No matching script.\r\n' : ':5\r\n',
    );
    const five = script('-- five\nreturn 5');
    expect(await link.run(five, ['k'], ['a'])).toBe(5);
    expect(seen).toEqual([
      ['EVALSHA', five.sha, '1', 'k', 'a'],
      ['EVAL', five.text, '1', 'k', 'a'],
    ]);
    const never = await fake(() => '-NOSCRIPT No matching script.\r\n');
    expect(await outcome(never.link.run(five, ['k'], []))).toBe('internal');
    expect(never.seen.length).toBe(2);
  });

  test('beyond what may wait fails at once', async () => {
    const { link } = await fake(() => undefined);
    const sent = Array.from({ length: 70_000 }, () => outcome(link.command('GET', ['k'])));
    expect(await sent.at(-1)).toBe('store_unavailable');
  });
});

describe('a connection that', () => {
  test('is late fails a command, drops its reply, and goes on', async () => {
    let late: Socket | undefined;
    const { link, states } = await fake(([name], socket) => {
      if (name === 'SLOW') {
        late = socket;
        return undefined;
      }
      return late === undefined ? `+${name}\r\n` : undefined;
    }, true);
    const sent = [outcome(link.command('SLOW', ['a'])), outcome(link.write('SET', ['a', 'b']))];
    expect(await Promise.all(sent)).toEqual(['store_unavailable', 'store_unavailable']);
    late?.write('+SLOW\r\n+SET\r\n');
    late = undefined;
    expect(String(await link.command('GET', ['a']))).toBe('GET');
    expect(states).toEqual([]);
  });

  test('is silent is opened again', async () => {
    let isSilent = true;
    const { link, states } = await fake(() => (isSilent ? undefined : '+OK\r\n'), true);
    const sent = [outcome(link.command('GET', ['a'])), outcome(link.write('SET', ['a', 'b']))];
    expect(await Promise.all(sent)).toEqual(['store_unavailable', 'store_unavailable']);
    isSilent = false;
    await until(() => link.isConnected() && states.includes('reconnected'));
    expect(String(await link.command('GET', ['a']))).toBe('OK');
    expect(states).toEqual(['disconnected', 'reconnected']);
  });

  test('has lost a command is opened again, although it answers', async () => {
    let toLose = 1;
    const { link, states } = await fake(([name, key]) => {
      const isLost = name === 'GET' && toLose > 0;
      toLose -= isLost ? 1 : 0;
      return isLost ? undefined : `$${key?.length}\r\n${key}\r\n`;
    }, true);
    // One after the other: the reply to each is taken for that of the one before, which is late.
    for (let n = 1; n <= 20 && !states.includes('disconnected'); n++) {
      expect(await outcome(link.command('GET', [`key ${n}`]))).toBe('store_unavailable');
    }
    await until(() => link.isConnected() && states.includes('reconnected'));
    expect(String(await link.command('GET', ['after']))).toBe('after');
  });

  test('ends in the middle of a reply fails what is in flight, and nothing is sent again', async () => {
    let isBad = true;
    const { link, seen, states } = await fake((_, socket) => {
      if (isBad) {
        socket.end('$10\r\nhal');
        return undefined;
      }
      return '+OK\r\n';
    });
    const sent = ['a', 'b', 'c'].map((key) => outcome(link.write('INCR', [key])));
    expect(await Promise.all(sent)).toEqual(Array.from({ length: 3 }, () => 'store_unavailable'));
    expect(await outcome(link.command('GET', ['at once']))).toBe('store_unavailable');
    isBad = false;
    await until(() => states.includes('reconnected'));
    const before = seen.length;
    expect(String(await link.command('GET', ['d']))).toBe('OK');
    expect(seen.slice(before)).toEqual([['GET', 'd']]);
    expect(seen.filter(([name]) => name === 'INCR').length).toBeLessThanOrEqual(3);
  });

  test('speaks another protocol is ended', async () => {
    let isBad = true;
    const { link, states } = await fake(() => (isBad ? 'HTTP/1.1 400 Bad Request\r\n\r\n' : '+OK\r\n'));
    expect(await outcome(link.command('GET', ['a']))).toBe('store_unavailable');
    isBad = false;
    await until(() => states.includes('reconnected'));
    expect(String(await link.command('GET', ['a']))).toBe('OK');
  });

  test('sends a reply that nobody asked for is ended, so that no reply is ever one too early', async () => {
    const { link, sockets, states } = await fake(([name]) => `$${name?.length}\r\n${name}\r\n`);
    for (const socket of sockets) {
      socket.write('+ahead\r\n');
    }
    await until(() => states.includes('reconnected'));
    expect(String(await link.command('GET', ['a']))).toBe('GET');
  });

  test('is closed from this side ends what is in flight', async () => {
    const { link } = await fake(() => undefined);
    const sent = outcome(link.command('GET', ['a']));
    await Bun.sleep(20);
    await link.close();
    expect(await sent).toBe('store_unavailable');
    expect(await outcome(link.command('GET', ['a']))).toBe('store_unavailable');
  });
});

test('a connection that is announced twice in the middle of a reply is taken over once', async () => {
  const sockets: Socket[] = [];
  const { path } = await fake((_, socket) => {
    sockets.push(socket);
    return '$12\r\nhalf';
  });
  const client = connectServer({ kind: 'socket', path });
  try {
    const wire = new Wire(client, { replicas: 0 });
    await once(client, 'ready');
    const reply = wire.command('GET', ['a']);
    await until(() => sockets.length === 1);
    await Bun.sleep(50);
    client.emit('ready');
    sockets[0]?.write('\r\n:7\r\nxy\r\n');
    expect(String(await reply)).toBe('half\r\n:7\r\nxy');
  } finally {
    client.disconnect();
  }
});

test('what has failed before there was a connection is not sent when there is one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cv-wire-'));
  const path = join(folder, 's');
  const seen: string[] = [];
  const server = createServer((socket) => {
    const reader = new ReplyReader();
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      reader.add(chunk);
      for (let command = reader.next(); command !== INCOMPLETE; command = reader.next()) {
        const [name = ''] = (command as Buffer[]).map(String);
        const text = HANDSHAKE[name.toUpperCase()];
        seen.push(...(text === undefined ? [name] : []));
        setTimeout(() => socket.write(text ?? '+OK\r\n'), name.toUpperCase() === 'INFO' ? 700 : 0);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const client = connectServer({ kind: 'socket', path });
  try {
    const wire = await withQuickTimers(QUICK_STEPS, () => new Wire(client, { replicas: 0 }));
    expect(await outcome(wire.command('SET', ['a', '1']))).toBe('store_unavailable');
    expect(client.status).not.toBe('ready');
    await once(client, 'ready');
    expect(String(await wire.command('GET', ['a']))).toBe('OK');
    expect(seen).toEqual(['GET']);
  } finally {
    client.disconnect();
    server.close();
    rmSync(folder, { recursive: true });
  }
});

test('a connection that is never idle keeps nothing of what was answered', async () => {
  const waiting: Socket[] = [];
  const { path } = await fake((_, socket) => {
    waiting.push(socket);
    return undefined;
  });
  const client = connectServer({ kind: 'socket', path });
  try {
    const wire = new Wire(client, { replicas: 0 });
    await once(client, 'ready');
    const sent: WeakRef<Uint8Array>[] = [];
    const send = (): Promise<unknown> => {
      const bytes = new Uint8Array(1_000);
      sent.push(new WeakRef(bytes));
      return wire.command('SET', ['a', bytes]);
    };
    let last = send();
    for (let n = 0; n < 20; n++) {
      const before = last;
      last = send();
      await until(() => waiting.length > 0);
      waiting.shift()?.write('+OK\r\n');
      await before;
    }
    await until(() => {
      Bun.gc(true);
      return sent.filter((bytes) => bytes.deref() !== undefined).length <= 5;
    });
    await until(() => waiting.length > 0);
    waiting.shift()?.write('+OK\r\n');
    await last;
  } finally {
    client.disconnect();
  }
});

test('a writer and a reader agree on every byte', () => {
  const writer = new CommandWriter();
  writer.add(['SET', 'ключ', new Uint8Array(Array.from({ length: 256 }, (_, i) => i)), -1]);
  const reader = new ReplyReader();
  reader.add(writer.take());
  expect((reader.next() as Buffer[])[2]).toEqual(Buffer.from(Array.from({ length: 256 }, (_, i) => i)));
});
