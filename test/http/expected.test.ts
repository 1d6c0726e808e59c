/** Whatever a request has that does not fit, the refusal says what was expected of it, and never what it was. */
import { describe, expect, test } from 'bun:test';
import { Kind, type TSchema } from '@sinclair/typebox';
import { ROUTES } from '../../server/boot/routes.ts';
import { ERRORS } from '../../server/core/error-table.ts';
import { OPERATOR_SCOPE } from '../../server/core/scopes.ts';
import type { RouteShape } from '../../server/http/route.ts';
import { ALIASES, QUERY_KIND } from '../../server/schema/kinds.ts';
import { type Answer, createClient, OF_CONSOLE, samplePath } from './client.ts';
import { OPERATOR_AUTHORIZATION, PERSON_AUTHORIZATION } from './stub-parts.ts';

const CANARY = '4929123412341234';
const client = createClient();

/** Texts that do not fit a parameter; none where any text does. */
function unfitTexts(schema: TSchema): readonly string[] {
  if (ALIASES in schema) {
    // Of several names the first that fits is taken.
    return [];
  }
  const length: unknown = schema['maxLength'];
  const tooLong = typeof length === 'number' ? [CANARY.repeat(Math.ceil((length + 1) / CANARY.length))] : [];
  switch (schema[QUERY_KIND] ?? schema[Kind]) {
    case 'list':
      return [`,${CANARY}`];
    case 'limit':
      return [`x${CANARY}`, '0'];
    case 'Integer':
      return [`x${CANARY}`, ...bounds(schema)];
    case 'String':
      return schema['pattern'] === undefined && schema['format'] === undefined
        ? tooLong
        : [...tooLong, `\u0000${CANARY}`.repeat(300)];
    default:
      return [`x${CANARY}`];
  }
}

function bounds({ minimum, maximum }: TSchema): readonly string[] {
  return [
    ...(typeof minimum === 'number' ? [String(minimum - 1)] : []),
    ...(typeof maximum === 'number' ? [String(maximum + 1)] : []),
  ];
}

/** A value of another type than those that a schema takes. */
function unfitValue(schema: TSchema): unknown {
  const kinds: readonly unknown[] = [schema, ...(schema['anyOf'] ?? [])].map((each: TSchema) => each[Kind]);
  return ['Object', 'Record', 'Array', 'Unsafe'].some((kind) => kinds.includes(kind)) ? CANARY : [[CANARY]];
}

/** What a route cannot do without, as its documentation has it. */
function needed(schema: TSchema): Record<string, unknown> {
  const all: readonly string[] = schema['required'] ?? [];
  const names = all.filter((name) => schema['properties'][name].default === undefined);
  return Object.fromEntries(names.map((name) => [name, schema['properties'][name].examples?.[0] ?? 'u1']));
}

function expectRefused(answer: Answer, field: string): void {
  const { error, code, field: told } = answer.error;
  expect([answer.status, code, told]).toEqual([400, 'invalid_request', field]);
  expect(error).not.toBe(ERRORS.invalid_request.text);
  expect(error).toMatch(/^`[^`]+` (?:must|is missing|may)/);
  expect(error).not.toContain('API reference');
  expect(answer.text).not.toContain(CANARY);
}

interface Case {
  readonly route: RouteShape;
  readonly name: string;
  readonly schema: TSchema;
}

const PARAMETERS: readonly Case[] = ROUTES.flatMap((route) =>
  Object.entries(route.query.properties).map(([name, schema]) => ({ route, name, schema })),
);
const MEMBERS: readonly Case[] = ROUTES.flatMap((route) =>
  route.body.kind === 'json'
    ? Object.entries<TSchema>(route.body.schema['properties'] ?? {}).map(([name, schema]) => ({
        route,
        name,
        schema,
      }))
    : [],
);

function titled(cases: readonly Case[]) {
  return cases.map((each) => [`${each.route.operationId} ${each.name}`, each] as const);
}

test('there are many', () => {
  expect(PARAMETERS.flatMap(({ schema }) => unfitTexts(schema)).length).toBeGreaterThan(60);
  expect(MEMBERS.length).toBeGreaterThan(20);
});

describe('a parameter', () => {
  test.each(titled(PARAMETERS))('%s', async (_, { route, name, schema }) => {
    for (const text of unfitTexts(schema)) {
      const query = new URLSearchParams({ ...(needed(route.query) as Record<string, string>), [name]: text });
      const init = route.scope === 'person' ? { headers: { authorization: PERSON_AUTHORIZATION } } : {};
      const answer = await client.send(route.method, `${samplePath(route.path)}?${query}`, init);
      expectRefused(answer, `query.${name}`);
    }
  });
});

describe('a member of a body', () => {
  test.each(titled(MEMBERS))('%s', async (_, { route, name, schema }) => {
    const all = route.body.kind === 'json' ? needed(route.body.schema) : {};
    const body = JSON.stringify({ ...all, [name]: unfitValue(schema) });
    // Where a route takes none, the header is not looked at.
    const headers = {
      'x-vault-passphrase': 'a-passphrase',
      ...(route.scope === OPERATOR_SCOPE && { authorization: OPERATOR_AUTHORIZATION }),
      ...(route.scope === 'person' && { authorization: PERSON_AUTHORIZATION }),
      ...(route.auth === 'console' && OF_CONSOLE),
    };
    const answer = await client.send(route.method, samplePath(route.path), { body, headers });
    expectRefused(answer, `body.${name}`);
  });
});

describe('a list of items', () => {
  test.each(['/v1/vault/batch/decrypt', '/v1/vault/batch/delete'])(
    'of %s has a least and a greatest length',
    async (path) => {
      for (const items of [[], Array.from({ length: 1_001 }, () => ({ token: 'a' })), CANARY]) {
        const headers = { 'x-vault-passphrase': 'a-passphrase' };
        const answer = await client.send('POST', path, {
          body: JSON.stringify({ user: 'u1', items }),
          headers,
        });
        expectRefused(answer, 'body.items');
        expect(answer.error.error).toBe('`items` must be a list of 1 to 1000 entries.');
      }
    },
  );
});
