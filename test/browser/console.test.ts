/** What the console knows of the server by heart. */
import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { T } from '../../console/app/text.ts';
import { ARGUMENTS } from '../../console/screens/rule-arguments.ts';
import { compileOperation, OPERATION_NAMES } from '../../server/domain/rule/operations.ts';
import { ADDITIONAL_TYPES } from '../../server/form/schema.ts';
import { run } from '../helpers/packages.ts';

test('it offers the operations that there are, with their arguments', () => {
  expect(Object.keys(ARGUMENTS)).toEqual([...OPERATION_NAMES]);
  for (const name of OPERATION_NAMES) {
    let expected: unknown;
    try {
      compileOperation(name, { unknown: 1 }, 'arguments');
    } catch (error) {
      expected = Reflect.get(Object(error), 'expected');
    }
    const names = Object.keys(ARGUMENTS[name]).map((argument) => `\`${argument}\``);
    expect(expected).toBe(`is not known here${names.length === 0 ? '' : `, only ${names.join(', ')}`}`);
  }
});

test('it has a name for each type of additional field', () => {
  expect(Object.keys(T.forms.extra.types)).toEqual([...ADDITIONAL_TYPES]);
});

test('it stays small', async () => {
  const root = join(import.meta.dir, '..', '..');
  const folder = mkdtempSync(join(tmpdir(), 'vault-console-'));
  await run([process.execPath, join(root, 'scripts/build-console.ts'), folder], root);
  const sizes = await Promise.all(
    [...new Bun.Glob('*.{js,css,html}.gz').scanSync(folder)].map((name) => Bun.file(join(folder, name)).size),
  );
  rmSync(folder, { recursive: true });
  expect(sizes).toHaveLength(3);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(60_000);
}, 60_000);
