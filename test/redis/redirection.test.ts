/** Redirections of a Cluster, against two nodes that send commands to each other. */
import { afterEach, expect, test } from 'bun:test';
import { createServer, type Server, type Socket } from 'node:net';
import { type RedisLink, script } from '../../server/redis/client.ts';
import { openRedis } from '../../server/redis/open.ts';
import { INCOMPLETE, ReplyReader } from '../../server/redis/resp.ts';

const LAST_SLOT = 16_383;
/** The slot of `{a}`. */
const SLOT = 15_495;

interface Node {
  readonly server: Server;
  readonly port: number;
  readonly sockets: Set<Socket>;
  /** Commands other than those of a new connection. */
  readonly seen: string[];
}

const nodes: Node[] = [];
/** The node that has all slots, by what the nodes say. */
let owner = 0;
let link: RedisLink | undefined;

afterEach(async () => {
  owner = 0;
  await link?.close();
  for (const { server, sockets } of nodes.splice(0)) {
    for (const socket of sockets) {
      socket.destroy();
    }
    server.close();
  }
});

function bulk(text: string): string {
  return `$${text.length}\r\n${text}\r\n`;
}

/** The reply to what the library asks; undefined for any other command. */
function replyToLibrary(name: string): string | undefined {
  switch (name) {
    case 'CLUSTER SLOTS':
      return `*1\r\n*3\r\n:0\r\n:${LAST_SLOT}\r\n*2\r\n${bulk('127.0.0.1')}:${nodes[owner]?.port}\r\n`;
    case 'CLUSTER INFO':
      return bulk('cluster_state:ok\r\n');
    case 'INFO':
      return bulk('loading:0\r\nrole:master\r\n');
    default:
      return /^(?:CLIENT|PING|READONLY|READWRITE)/.test(name) ? '+OK\r\n' : undefined;
  }
}

async function startNode(answer: (command: string, node: Node) => string): Promise<void> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    const reader = new ReplyReader();
    socket.on('data', (chunk: Buffer) => {
      reader.add(chunk);
      for (let parts = reader.next(); parts !== INCOMPLETE; parts = reader.next()) {
        const command = (parts as Buffer[]).map(String).join(' ');
        const known = replyToLibrary(command.replace(/^\w+(?: SLOTS| INFO)?/i, (name) => name.toUpperCase()));
        if (known === undefined) {
          node.seen.push(command);
        }
        socket.write(known ?? answer(command, node));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const node: Node = { server, port, sockets, seen: [] };
  nodes.push(node);
}

/** Opens a Cluster whose first node has all slots and answers as given; the second answers `there`. */
async function open(
  answer: (other: Node, node: Node, command: string) => string,
): Promise<readonly [Node, Node, RedisLink]> {
  await startNode((command, node) => answer(nodes[1] ?? node, node, command));
  await startNode((command) => (command === 'EXEC' ? '*1\r\n$5\r\nthere\r\n' : '+there\r\n'));
  const [one, two] = nodes;
  if (one === undefined || two === undefined) {
    throw new Error('two nodes');
  }
  const target = { kind: 'cluster', urls: [`redis://127.0.0.1:${one.port}`] } as const;
  link = await openRedis(target, { replicas: 0 });
  return [one, two, link];
}

test('a command whose slot has moved is sent to the node that the error names, and later ones go there at once', async () => {
  const [one, two, redis] = await open(({ port }) => {
    owner = 1;
    return `-MOVED ${SLOT} 127.0.0.1:${port}\r\n`;
  });
  const read = script('-- read\nreturn 1');
  expect(await redis.command('GET', ['{a}'])).toBe('there');
  expect(await redis.run(read, ['{a}'], ['1'])).toBe('there');
  expect(one.seen).toEqual(['GET {a}']);
  expect(two.seen).toEqual(['GET {a}', `EVALSHA ${read.sha} 1 {a} 1`]);
});

test('a command whose slot is moving asks the other node for this once', async () => {
  const [one, two, redis] = await open(({ port }) => `-ASK ${SLOT} 127.0.0.1:${port}\r\n`);
  const both = await Promise.all([redis.command('GET', ['{a}1']), redis.command('GET', ['{a}2'])]);
  expect(both).toEqual(['there', 'there']);
  expect(one.seen).toEqual(['GET {a}1', 'GET {a}2']);
  expect(two.seen).toEqual(['ASKING', 'GET {a}1', 'ASKING', 'GET {a}2']);
});

test('commands in one step follow their slot together', async () => {
  const [one, two, redis] = await open(({ port }, _, command) =>
    command === 'MULTI'
      ? '+OK\r\n'
      : command === 'EXEC'
        ? '-EXECABORT discarded\r\n'
        : `-ASK ${SLOT} 127.0.0.1:${port}\r\n`,
  );
  expect(String(await redis.readTogether([['GET', '{a}']], 100))).toBe('*1\r\n$5\r\nthere\r\n');
  const step = ['MULTI', 'GET {a}', 'EXEC'];
  expect([one.seen, two.seen]).toEqual([step, ['ASKING', ...step]]);
});

test('a script whose keys are on two nodes for a while is sent again', async () => {
  let times = 0;
  const [one, , redis] = await open(() => (++times < 3 ? '-TRYAGAIN keys are moving\r\n' : '+here\r\n'));
  expect(await redis.run(script('-- write\nreturn 1'), ['{a}1', '{a}2'], [])).toBe('here');
  expect(one.seen).toHaveLength(3);
});

test('a command that is sent from node to node without an end fails', async () => {
  const [one, , redis] = await open((_, { port }) => `-MOVED ${SLOT} 127.0.0.1:${port}\r\n`);
  await expect(redis.write('SET', ['{a}', '1'])).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(one.seen.length).toBeLessThan(20);
});
