import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERRORS } from '../server/core/error-table.ts';
import { isErrorCode, VaultError } from '../server/core/errors.ts';

const STATUSES = [400, 401, 403, 404, 405, 409, 410, 412, 413, 429, 500, 502, 503, 504];
const entries = Object.entries(ERRORS);

test('every code is snake_case, has a status of the contract and full sentences', () => {
  for (const [code, { status, text, advice, ...entry }] of entries) {
    expect(code).toMatch(/^[a-z]+(?:_[a-z]+)*$/);
    expect(STATUSES).toContain(status);
    expect(text).toMatch(/^(?:[A-Z]|next_token ).*\.$/s);
    expect(advice).toMatch(/^[A-Z].*\.$/);
    expect(advice).not.toBe(text);
    if (status === 429 || status === 503) {
      expect(entry.retryAfterSeconds).toBeGreaterThan(0);
    }
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

  test('says of each what it means, what to do and where it occurs', () => {
    for (const [code, { status, text, advice }] of entries) {
      const section = sections.get(code);
      expect(section).toContain(text);
      expect(section).toContain(`**What to do:** ${advice}`);
      expect(section).toMatch(/^\*\*Where:\*\* .+\.$/m);
      expect(page.slice(0, page.indexOf(`### ${code}\n`))).toMatch(new RegExp(`^## ${status}$`, 'm'));
    }
  });

  test('names so few places of each that they can be read', () => {
    for (const [code, section] of sections) {
      const places = /^\*\*Where:\*\* (.*)$/m.exec(section)?.[1]?.split(', ') ?? [];
      expect([code, places.length <= 14]).toEqual([code, true]);
    }
  });
});
