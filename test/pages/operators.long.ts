/** Follows the guides for who runs a vault: from nothing to a production server, with a Redis of its own, and a new master key. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { findRedisBinary } from '../../server/boot/redis/process.ts';
import { loadConfig } from '../../server/config/config.ts';
import { freePort } from '../helpers/free-port.ts';
import { ALL_BLOCKS, type CodeBlock } from './code-blocks.ts';
import { inWordsOf } from './guide.ts';

const ROOT = join(import.meta.dir, '..', '..');
const PRODUCTION = 'docs/guides/production.md';
const MS_MAX = 120_000;
const MARK = '\x1e';

function blocksOf(page: string, info: string): readonly CodeBlock[] {
  return ALL_BLOCKS.filter((block) => block.page === page && block.info === info);
}

const BLOCKS = blocksOf(PRODUCTION, 'sh');
/** Ends what the page leaves running, the server first. */
const LEAVE = `trap 'if [ -n "\${!:-}" ]; then kill "$!"; wait "$!" || true; fi; kill "$(cat ~/cardvault/redis.pid)"' EXIT\n`;

const home = mkdtempSync(join(tmpdir(), 'cv-home-'));
const redisPort = String(freePort());
const port = String(freePort());
let printed: readonly string[] = [];
let errors = '';

/** A shell of somebody with an empty home, in the checkout, who has redis-server. */
function scriptOf(blocks: readonly CodeBlock[]): string {
  const scripts = blocks.map(
    ({ code }) => `${code.replaceAll('6390', redisPort).replaceAll('8443', port)}printf '\\036'\n`,
  );
  return [LEAVE, ...scripts].join('');
}

beforeAll(async () => {
  writeFileSync(join(home, 'page.sh'), scriptOf(BLOCKS));
  const shell = Bun.spawn(['sh', '-eu', join(home, 'page.sh')], {
    cwd: ROOT,
    env: {
      HOME: home,
      PATH: [dirname(process.execPath), dirname(findRedisBinary() ?? ''), process.env['PATH']].join(':'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, said] = await Promise.all([
    new Response(shell.stdout).text(),
    new Response(shell.stderr).text(),
  ]);
  printed = output.split(MARK).slice(0, -1);
  errors = said;
}, MS_MAX);
afterAll(() => rmSync(home, { recursive: true, force: true }));

test.each(BLOCKS.map(({ page, line }, at) => [`${page}:${line}`, at] as const))('%s works', (_name, at) => {
  expect(printed.length > at ? '' : errors).toBe('');
  expect(printed.length).toBeGreaterThan(at);
});

test('the server is ready, in production, with a Redis that keeps what it acknowledges', () => {
  const [shown] = blocksOf(PRODUCTION, 'json');
  const at = BLOCKS.findIndex(({ code }) => code.includes('/health/ready'));
  expect(shown?.after).toBe(BLOCKS[at]);
  // The server prints to the same terminal.
  const reply = /\{"status":[^{}]*\{[^{}]*\}[^{}]*\}/.exec(printed[at] ?? '')?.[0] ?? '';
  expect(inWordsOf(shown?.code ?? '', reply)).toBe(shown?.code ?? '');
});

test('nobody else may read what the page has created', () => {
  const folder = join(home, 'cardvault');
  const open = ['.', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })].filter(
    (name) => (statSync(join(folder, name)).mode & 0o077) !== 0,
  );
  expect(open).toEqual([]);
  expect(readFileSync(join(folder, 'users.acl'), 'utf8')).not.toContain('CHANGE-THIS-PASSWORD');
});

test('the guide to the master key makes one that a ring takes', async () => {
  const [block, ...others] = blocksOf('docs/guides/master-key.md', 'sh');
  expect(others).toEqual([]);
  const key = Bun.spawnSync(['sh', '-eu', '-c', block?.code ?? ''])
    .stdout.toString()
    .trim();
  expect(Buffer.from(key, 'base64')).toHaveLength(32);
  const old = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64');
  expect(() => loadConfig({ VAULT_MASTER_KEY: `old:${old},new:${key}` })).not.toThrow();
  expect(() => loadConfig({ VAULT_MASTER_KEY: `old:${old},new:${key.slice(4)}` })).toThrow(
    'VAULT_MASTER_KEY',
  );
});
