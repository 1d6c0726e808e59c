/** Answers of name servers that are used again: for how long, and which not. */
import { afterAll, expect, test } from 'bun:test';
import { createAddressPolicy } from '../../server/outbound/addresses.ts';
import { createOutbound } from '../../server/outbound/https.ts';
import { createSystemResolver, resolveVetted } from '../../server/outbound/resolve.ts';
import { startNameServer } from './name-server.ts';
import { postTo, startListener, stopTargets } from './target.ts';

const TTL = /^ttl(\d+)/;
let addresses = ['10.1.1.1'];
const server = await startNameServer(
  (_name, type) => (type === 'A' ? addresses : []),
  (name) => Number(TTL.exec(name)?.[1] ?? 0),
);
afterAll(() => {
  server.stop();
  stopTargets();
});
const policy = createAddressPolicy({ allow: ['10.0.0.0/8', '127.0.0.0/8'] });

/** A resolver with a clock of its own, and how many questions it has asked. */
function newResolver() {
  const clock = { ms: 0 };
  const before = server.questions.length;
  const resolve = createSystemResolver({
    ...{ servers: [server.address], hostsPath: '/nowhere/hosts', now: () => clock.ms },
  });
  const vet = (name: string) => resolveVetted(name, { resolve, policy, timeoutMs: 2_000 });
  // Each lookup asks for both families.
  return { resolve, vet, clock, asked: () => (server.questions.length - before) / 2 };
}

test.each([
  ['ttl0.example', 0],
  ['ttl2.example', 2_000],
  ['ttl200.example', 5_000],
])('%s is asked for again after %d ms', async (name, ms) => {
  const { resolve, clock, asked } = newResolver();
  await resolve(name);
  clock.ms += Math.max(0, ms - 1);
  expect(await resolve(name)).toEqual(['10.1.1.1']);
  expect(asked()).toBe(ms === 0 ? 2 : 1);
  clock.ms += 1;
  await resolve(name);
  expect(asked()).toBe(ms === 0 ? 3 : 2);
});

test('an answer with a refused address is never kept, nor is it refused for longer', async () => {
  const { vet, asked } = newResolver();
  for (const refused of [['192.168.1.1'], ['10.1.1.1', '192.168.1.1']]) {
    addresses = refused;
    expect(await vet('ttl200.example')).toMatchObject({ code: 'destination_refused' });
  }
  expect(asked()).toBe(2);
  addresses = ['10.1.1.1'];
  expect(await vet('ttl200.example')).toMatchObject({ kind: 'found' });
  addresses = ['192.168.1.1'];
  expect(await vet('ttl200.example')).toEqual({ kind: 'found', addresses: ['10.1.1.1'] });
  expect(asked()).toBe(3);
  addresses = ['10.1.1.1'];
});

test('the oldest of more than a thousand names is forgotten', async () => {
  const { resolve, asked } = newResolver();
  for (let at = 0; at <= 1_000; at += 1) {
    await resolve(`ttl200-${at}.example`);
  }
  await resolve('ttl200-1.example');
  expect(asked()).toBe(1_001);
  await resolve('ttl200-0.example');
  expect(asked()).toBe(1_002);
});

test('a target that cannot be reached is looked up again', async () => {
  const { resolve, asked } = newResolver();
  const { port } = await startListener();
  stopTargets();
  addresses = ['127.0.0.1'];
  const { send } = createOutbound({ policy, resolve });
  for (const lookups of [1, 2]) {
    const call = postTo(port, { url: `https://ttl200.example:${port}/` });
    expect(await send(call)).toMatchObject({ code: 'target_unreachable', sent: false });
    expect(asked()).toBe(lookups);
  }
  addresses = ['10.1.1.1'];
});
