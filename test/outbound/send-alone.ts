/** A process of its own that sends one request, for what only another environment can show. */
import { connect } from 'node:tls';
import type { OutboundResult } from '../../server/outbound/call.ts';
import { localOutbound, postTo } from './target.ts';

interface Alone {
  readonly outcome: OutboundResult;
  /** Whether this process, asked for nothing special, would take a certificate that nobody signed. */
  readonly careless: boolean;
}

async function isCareless(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host: '127.0.0.1', port }, () => resolve(true));
  socket.on('error', () => resolve(false));
  return await promise.finally(() => socket.destroy());
}

/** Sends to a target from a new process with these variables, trusting this authority besides the known ones. */
export async function sendAlone(
  port: number,
  caPem: string,
  variables: Record<string, string>,
): Promise<Alone> {
  const child = Bun.spawn([process.execPath, import.meta.path, String(port)], {
    env: { ...process.env, ...variables },
    stdin: Buffer.from(caPem),
    stdout: 'pipe',
    stderr: 'ignore',
  });
  return JSON.parse(await child.stdout.text());
}

if (import.meta.main) {
  const port = Number(process.argv[2]);
  const careless = await isCareless(port);
  const outcome = await localOutbound({ caPem: await Bun.stdin.text() }).send(postTo(port));
  process.stdout.write(JSON.stringify({ outcome, careless }));
}
