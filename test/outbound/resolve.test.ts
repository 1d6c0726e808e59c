import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAddressPolicy } from '../../server/outbound/addresses.ts';
import { createSystemResolver, resolveVetted } from '../../server/outbound/resolve.ts';
import { type NameAnswer, startNameServer } from './name-server.ts';

const SILENT = /^silent/;
const answers = new Map<string, NameAnswer>([
  ['A both.example', ['10.1.1.1', '10.1.1.2']],
  ['AAAA both.example', ['2001:db8:0:0:0:0:0:1']],
  ['A four.example', ['10.1.1.1']],
  ['AAAA four.example', []],
  ['A half.example', ['10.1.1.1']],
  ['AAAA half.example', 'silent'],
  ['A mute.example', []],
  ['AAAA mute.example', 'silent'],
  ['A odd.example', 'failure'],
  ['AAAA odd.example', ['2001:db8:0:0:0:0:0:2']],
  ['A many.example', { overTcp: Array.from({ length: 200 }, (_, at) => `10.1.2.${at}`) }],
  ['A empty.example', []],
  ['AAAA empty.example', []],
  ['A broken.example', 'failure'],
  ['AAAA broken.example', 'failure'],
]);
const server = await startNameServer(
  (name, type) => answers.get(`${type} ${name}`) ?? (SILENT.test(name) ? 'silent' : 'none'),
);
const folder = mkdtempSync(join(tmpdir(), 'hosts-'));
const hostsPath = join(folder, 'hosts');
let clock = 0;
function now(): number {
  return clock;
}
function resolver(options: Parameters<typeof createSystemResolver>[0] = {}) {
  return createSystemResolver({ servers: [server.address], hostsPath, now, ...options });
}
function codeOf(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    (found) => found,
    (error: { code?: unknown }) => error.code,
  );
}
/** How many of these have ended by then. */
function countEnds(asked: readonly Promise<unknown>[]): () => number {
  let ends = 0;
  for (const each of asked) {
    const end = () => {
      ends += 1;
    };
    each.then(end, end);
  }
  return () => ends;
}
/** Has the server answer what it was silent about, until all of these have ended. */
async function endSilent(asked: readonly Promise<unknown>[]): Promise<void> {
  const ended = countEnds(asked);
  while (ended() < asked.length) {
    server.answerSilent();
    await Bun.sleep(5);
  }
}
/** Settles when the server has heard of a name. */
async function heardOf(name: string): Promise<void> {
  while (!server.questions.some((question) => question.endsWith(` ${name}`))) {
    await new Promise(setImmediate);
  }
}

beforeEach(() => writeFileSync(hostsPath, ''));
afterAll(() => {
  server.stop();
  rmSync(folder, { recursive: true });
});

describe('a name is asked for', () => {
  test.each([
    ['both.example', ['10.1.1.1', '10.1.1.2', '2001:db8::1']],
    ['four.example', ['10.1.1.1']],
    ['odd.example', ['2001:db8::2']],
    ['many.example', Array.from({ length: 200 }, (_, at) => `10.1.2.${at}`)],
  ])('%s, in both families', async (name, found) => {
    expect(await resolver()(name)).toEqual(found);
  });
  test('and what one family has is enough when the other does not come', async () => {
    const startedAt = performance.now();
    expect(await resolver()('half.example')).toEqual(['10.1.1.1']);
    // Who waited for the other family would wait for two tries of two seconds.
    expect(performance.now() - startedAt).toBeLessThan(3_500);
  });
  test.each(['none.example', 'empty.example', 'broken.example'])('in vain: %s', async (name) => {
    expect(await codeOf(resolver()(name))).toBeOneOf(['ENOTFOUND', 'ENODATA', 'ESERVFAIL']);
  });
  test.each(['silent.example', 'mute.example'])('and given up in time: %s', async (name) => {
    const startedAt = performance.now();
    expect(await resolver({ timeoutMs: 100 })(name)).toBeUndefined();
    expect(performance.now() - startedAt).toBeWithin(95, 20_000);
  });
  test('as it is, without the domains that the system would try', async () => {
    expect(await codeOf(resolver()('single'))).toBe('ENOTFOUND');
    const asked = server.questions.filter((question) => question.includes('single'));
    expect(asked.toSorted()).toEqual(['udp A single', 'udp AAAA single']);
  });
  test('once for all who ask at the same time, and again later', async () => {
    const resolve = resolver();
    const before = server.questions.length;
    const found = await Promise.all(Array.from({ length: 20 }, () => resolve('four.example')));
    expect(found).toEqual(Array(20).fill(['10.1.1.1']));
    expect(server.questions.length - before).toBe(2);
    await resolve('four.example');
    expect(server.questions.length - before).toBe(4);
  });
});

describe('names that nobody answers for', () => {
  test('hold up neither other names nor the files of the process', async () => {
    const resolve = resolver({ timeoutMs: 60_000 });
    const slow = Array.from({ length: 100 }, (_, at) => resolve(`silent${at}.example`));
    const ended = countEnds(slow);
    await heardOf('silent99.example');
    expect(await resolve('four.example')).toEqual(['10.1.1.1']);
    expect((await readFile(import.meta.path)).length).toBeGreaterThan(0);
    expect(ended()).toBe(0);
    await endSilent(slow);
  });
  test('are bounded: a new one is refused at once while those before it are young', async () => {
    const resolve = resolver({ lookupsMax: 3, timeoutMs: 60_000 });
    const slow = [1, 2, 3].map((at) => resolve(`silent-young${at}.example`));
    const ended = countEnds(slow);
    await heardOf('silent-young3.example');
    expect(await resolve('four.example')).toBeUndefined();
    expect(ended()).toBe(0);
    await endSilent(slow);
    expect(await resolve('four.example')).toEqual(['10.1.1.1']);
  });
  test('give their place to a new one when they have had time enough, the oldest first', async () => {
    const resolve = resolver({ lookupsMax: 3, timeoutMs: 1000 });
    const slow: Promise<unknown>[] = [];
    for (const at of [1, 2, 3]) {
      slow.push(resolve(`silent-old${at}.example`));
      await heardOf(`silent-old${at}.example`);
      clock += 1000;
    }
    expect(await resolve('four.example')).toEqual(['10.1.1.1']);
    expect(await slow[0]).toBeUndefined();
    expect(await resolve('both.example')).toBeArrayOfSize(3);
    expect(await Promise.race([slow[1], 'waiting'])).toBe('waiting');
    expect(await Promise.all(slow)).toEqual([undefined, undefined, undefined]);
  });
  test('are a time-out to who asked, not a name that does not exist', async () => {
    const policy = createAddressPolicy({ allow: [] });
    const resolve = resolver({ timeoutMs: 50 });
    const ask = (name: string) => resolveVetted(name, { resolve, policy, timeoutMs: 2000 });
    expect(await ask('silent.example')).toMatchObject({ code: 'target_timeout' });
    expect(await ask('none.example')).toMatchObject({ code: 'target_unreachable' });
    expect(await ask('four.example')).toMatchObject({ code: 'destination_refused' });
  });
});

describe('the hosts file', () => {
  const HOSTS = [
    '# 10.9.9.9 both.example',
    '127.0.0.1\tlocalhost Alias.Example   other.example#four.example',
    '::1 localhost',
    '10.2.2.2 both.example # odd.example',
    'nonsense four.example',
    'fe80::1%lo0 localhost',
    '\r',
  ].join('\n');
  test('comes before the name servers', async () => {
    writeFileSync(hostsPath, HOSTS);
    const resolve = resolver();
    expect(await resolve('localhost')).toEqual(['127.0.0.1', '::1']);
    expect(await resolve('alias.example')).toEqual(['127.0.0.1']);
    expect(await resolve('other.example')).toEqual(['127.0.0.1']);
    expect(await resolve('both.example')).toEqual(['10.2.2.2']);
    expect(await resolve('odd.example')).toEqual(['2001:db8::2']);
    expect(await resolve('four.example')).toEqual(['10.1.1.1']);
    expect(await codeOf(resolve('constructor'))).toBe('ENOTFOUND');
  });
  test('is read again some seconds after it changed', async () => {
    const resolve = resolver();
    expect(await resolve('four.example')).toEqual(['10.1.1.1']);
    writeFileSync(hostsPath, '10.3.3.3 four.example');
    expect(await resolve('four.example')).toEqual(['10.1.1.1']);
    clock += 6000;
    expect(await resolve('four.example')).toEqual(['10.3.3.3']);
    rmSync(hostsPath);
    clock += 6000;
    expect(await resolve('four.example')).toEqual(['10.1.1.1']);
  });
});
