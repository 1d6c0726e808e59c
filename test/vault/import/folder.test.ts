/** `vault import` in a folder that others may write to. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { runCommand } from '../../helpers/command.ts';
import { openImports } from './files.ts';

let imports: Awaited<ReturnType<typeof openImports>>;
beforeAll(async () => {
  imports = await openImports();
});
afterAll(() => imports.close());

async function run(path: string) {
  const { line } = await imports.into(path);
  return runCommand(line, { vault: imports.vault });
}

test('a link beside the file leads to no other file', async () => {
  const other = imports.fileOf('precious', 'txt');
  const path = imports.fileOf('number\n881\n');
  symlinkSync(other, `${path}.import.part`);
  expect((await run(path)).out).toBe('Imported 1 item.\n');
  expect(readFileSync(other, 'utf8')).toBe('precious');

  const missing = imports.place('txt');
  const faulty = imports.fileOf('number\nx\n');
  symlinkSync(missing, `${faulty}.errors`);
  expect((await run(faulty)).err).toContain('is there already');
  expect(existsSync(missing)).toBe(false);
});

test('what another has written as the state of an import does not reach the terminal', async () => {
  const path = imports.fileOf('number\n881\n');
  const counts = { rows: 0, items: 0, replaced: 0, refused: 0, error_bytes: 0 };
  const state = { version: 1, id: 'i', asked: 'a', layout: '', ...counts, ended_at: '\u001b[2J' };
  writeFileSync(`${path}.import`, JSON.stringify(state));
  expect((await run(path)).err).toEndWith('is not the state of an import.\n');
});
