/** The table of scopes in the guide of credentials is the table of routes. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROUTES } from '../../server/boot/routes.ts';
import { SCOPES } from '../../server/core/scopes.ts';
import { scopesOf } from '../../server/http/route.ts';

const markdown = readFileSync(join(import.meta.dir, '../../docs/guides/least-privilege.md'), 'utf8');
const [, section = ''] = markdown.split(/^## Scopes$/m);
const rows = section.split(/^## /m)[0] ?? '';

function operationsOf(scope: string): string[] {
  const needing = ROUTES.filter((route) => scopesOf(route.scope).some((each) => each === scope));
  return needing.map(({ operationId }) => operationId);
}

function namesOf(cell: string): string[] {
  return [...cell.matchAll(/`([\w:]+)`/g)].map(([, name = '']) => name);
}

const DOCUMENTED = new Map(
  [...rows.matchAll(/^\| `([\w:]+)` \| (.*) \|$/gm)].map(
    ([, scope = '', cell = '']) => [scope, namesOf(cell)] as const,
  ),
);
const [UNUSED = ''] = /^`connection:read`.*$/m.exec(rows) ?? [];

describe('the table of scopes', () => {
  test('has every scope that an operation needs, in the order of the documents', () => {
    expect([...DOCUMENTED.keys()]).toEqual(SCOPES.filter((scope) => operationsOf(scope).length > 0));
  });

  test('is followed by those that none needs', () => {
    expect(namesOf(UNUSED).sort()).toEqual(SCOPES.filter((scope) => operationsOf(scope).length === 0).sort());
  });

  test.each(SCOPES.filter((scope) => operationsOf(scope).length > 0))(
    'names the operations of %s',
    (scope) => {
      expect([...(DOCUMENTED.get(scope) ?? [])].sort()).toEqual(operationsOf(scope).sort());
    },
  );
});

test('the scopes of the table of programs are scopes', () => {
  const [, programs = ''] = /^## Who needs what$(.*?)^## /ms.exec(markdown) ?? [];
  const named = [...programs.matchAll(/`(\w+:\w+)`/g)].map(([, scope = '']) => scope);
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter((scope) => !SCOPES.some((known) => known === scope))).toEqual([]);
});

test('the operations that any credential, or none, may use are named', () => {
  const pathsOf = (rule: string): string[] =>
    ROUTES.filter(({ scope }) => scope === rule).map(({ path }) => path.replace('/v1/', ''));
  const [, any = '', none = ''] = /^- (.*?) take any credential, (.*?) none\.$/m.exec(markdown) ?? [];
  const quoted = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path);
  expect([quoted(any).sort(), quoted(none)]).toEqual([pathsOf('any').sort(), pathsOf('password')]);
});
