import { expect, test } from 'bun:test';
import { ERRORS, isErrorCode, VaultError } from '../server/errors.ts';

const STATUSES = [400, 401, 403, 404, 405, 409, 410, 413, 429, 500, 502, 503, 504];
const entries = Object.entries(ERRORS);

test.each(entries)('%s is snake_case, has a status of the contract and a full sentence', (code, entry) => {
  expect(code).toMatch(/^[a-z]+(?:_[a-z]+)*$/);
  expect(STATUSES).toContain(entry.status);
  expect(entry.text).toMatch(/^(?:[A-Z]|next_token ).*\.$/s);
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

test('the generated files are what the code says', async () => {
  const child = Bun.spawn([process.execPath, 'scripts/gen.ts', '--check'], {
    cwd: new URL('..', import.meta.url).pathname,
    stdout: 'ignore',
    stderr: 'pipe',
  });
  expect(await child.stderr.text()).toBe('');
  expect(await child.exited).toBe(0);
}, 60_000);
