import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERRORS } from '../server/core/error-table.ts';
import { isErrorCode, VaultError } from '../server/core/errors.ts';

const STATUSES = [400, 401, 403, 404, 405, 409, 410, 413, 429, 500, 502, 503, 504];
const entries = Object.entries(ERRORS);

test.each(entries)('%s is snake_case, has a status of the contract and a full sentence', (code, entry) => {
  expect(code).toMatch(/^[a-z]+(?:_[a-z]+)*$/);
  expect(STATUSES).toContain(entry.status);
  expect(entry.text).toMatch(/^(?:[A-Z]|next_token ).*\.$/s);
  expect(entry.advice).toMatch(/^[A-Z].*\.$/);
  expect(entry.advice).not.toBe(entry.text);
  if (entry.status === 429 || entry.status === 503) {
    expect(entry.retryAfterSeconds).toBeGreaterThan(0);
  }
});

test('texts are unique', () => {
  const texts = entries.map(([, { text }]) => text);
  expect(texts).toEqual([...new Set(texts)]);
});

test('an error says its text and nothing else', () => {
  for (const [code, { text, status }] of entries) {
    if (!isErrorCode(code)) {
      throw new TypeError(code);
    }
    const error = new VaultError(code, { field: 'query.user' });
    expect(error.message).toBe(text);
    expect(error.status).toBe(status);
  }
  expect(isErrorCode('toString')).toBe(false);
});

describe('docs/errors.md', () => {
  const page = readFileSync(join(import.meta.dir, '..', 'docs', 'errors.md'), 'utf8');
  const sections = new Map(
    page
      .split(/^#{2,3} /m)
      .map((section) => [section.slice(0, section.indexOf('\n')), section] as const)
      .filter(([heading]) => isErrorCode(heading)),
  );

  test('has every code once, and no other', () => {
    expect([...page.matchAll(/^### (.*)$/gm)].map(([, code = '']) => code).sort()).toEqual(
      entries.map(([code]) => code).sort(),
    );
  });

  test.each(entries)(
    'says of %s what it means, what to do and where it occurs',
    (code, { status, text, advice }) => {
      const section = sections.get(code);
      expect(section).toContain(text);
      expect(section).toContain(`**What to do:** ${advice}`);
      expect(section).toMatch(/^\*\*Where:\*\* .+\.$/m);
      expect(page.slice(0, page.indexOf(`### ${code}\n`))).toMatch(new RegExp(`^## ${status}$`, 'm'));
    },
  );

  test('names so few places of each that they can be read', () => {
    for (const [code, section] of sections) {
      const places = /^\*\*Where:\*\* (.*)$/m.exec(section)?.[1]?.split(', ') ?? [];
      expect([code, places.length <= 14]).toEqual([code, true]);
    }
  });
});

test('the generated files are what the code says', async () => {
  const child = Bun.spawn([process.execPath, 'scripts/gen.ts', '--check'], {
    cwd: new URL('..', import.meta.url).pathname,
    stdout: 'ignore',
    stderr: 'pipe',
  });
  expect(await child.stderr.text()).toBe('');
  expect(await child.exited).toBe(0);
}, 60_000);
