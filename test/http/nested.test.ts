/** Whatever stands wrong in a body, however deep, the error names its whole place. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Kind, type TSchema } from '@sinclair/typebox';
import { ROUTES } from '../../server/boot/routes.ts';
import { OPERATOR_SCOPE } from '../../server/core/scopes.ts';
import type { RouteShape } from '../../server/http/route.ts';
import { EACH } from '../../server/schema/kinds.ts';
import { type AccountClient, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { operatorClient } from '../helpers/credentials.ts';
import { type PersonClient, person } from '../helpers/people.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { OF_CONSOLE } from './client.ts';

const CANARY = '4929123412341234';
const UNKNOWN = 'no_such_member';

let vault: TestVault;
let account: AccountClient;
let operator: AccountClient;
let member: PersonClient;

beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  operator = await operatorClient(vault);
  member = await person(vault, account, 'owner');
  await account.key('customers-2026');
  for (const kind of ['retrieve', 'capture']) {
    const query = { form_id: `u1-${kind}` };
    expect((await account.send('POST', `/${kind}/iframe`, { query, body: {} })).outcome).toBe('200');
  }
});
afterAll(() => vault.close());

interface BatchResult {
  readonly field?: string;
}

/** A body with one fault, and the place of it. */
interface Fault {
  readonly value: unknown;
  readonly place: string;
}

function optionsOf(schema: TSchema): readonly TSchema[] {
  const options: readonly TSchema[] = schema['anyOf'] ?? [schema];
  return schema['anyOf'] === undefined ? options : options.flatMap(optionsOf);
}

/** A value that fits a schema, as far as its examples do. */
function fitting(schema: TSchema): unknown {
  const [option = schema] = optionsOf(schema);
  const example: unknown = schema['examples']?.[0] ?? option['examples']?.[0] ?? schema['default'];
  if (example !== undefined) {
    return example;
  }
  switch (option[Kind]) {
    case 'Array':
      return [fitting(option['items'])];
    case 'Boolean':
      return true;
    case 'Integer':
      return option['minimum'] ?? 1;
    case 'Literal':
      return option['const'];
    case 'Object':
      return membersOf(option);
    default:
      return 'u1';
  }
}

/** The members that an object must have. */
function membersOf(schema: TSchema): Record<string, unknown> {
  const names: readonly string[] = schema['required'] ?? [];
  return Object.fromEntries(names.map((name) => [name, fitting(schema['properties'][name])]));
}

/** What stands below a schema: its schema, its place, and a value around it. */
interface Child {
  readonly schema: TSchema;
  readonly place: string;
  readonly around: (value: unknown) => unknown;
}

function childrenOf(option: TSchema, place: string): readonly Child[] {
  switch (option[Kind]) {
    case 'Object':
      return Object.entries<TSchema>(option['properties']).map(([name, schema]) => ({
        ...{ schema, place: `${place}.${name}` },
        around: (value) => ({ ...membersOf(option), [name]: value }),
      }));
    case 'Record':
      // A header, an object with one member, is named as a whole.
      return Object.values<TSchema>(option['maxProperties'] === 1 ? {} : option['patternProperties']).map(
        (schema) => ({ schema, place: `${place}.Name_1`, around: (value) => ({ Name_1: value }) }),
      );
    case 'Array': {
      const schema: TSchema = option[EACH] ?? option['items'];
      return [{ schema, place: `${place}[1]`, around: (value) => [fitting(schema), value] }];
    }
    default:
      return [];
  }
}

/** Everything that can stand wrong below a place: values of another kind, and members that are not known. */
function* faultsOf(schema: TSchema, place: string): Generator<Fault> {
  for (const option of optionsOf(schema)) {
    if (option[Kind] === 'Object' && option['additionalProperties'] !== true) {
      yield { value: { ...membersOf(option), [UNKNOWN]: 1 }, place: `${place}.${UNKNOWN}` };
    }
    for (const child of childrenOf(option, place)) {
      for (const { value, place: at } of below(child.schema, child.place)) {
        yield { value: child.around(value), place: at };
      }
    }
  }
}

function* below(schema: TSchema, place: string): Generator<Fault> {
  const kinds = optionsOf(schema).map((option) => option[Kind]);
  const isList =
    !kinds.includes('String') && ['Object', 'Record', 'Array'].some((kind) => kinds.includes(kind));
  if (!kinds.includes('Any')) {
    yield { value: isList ? CANARY : [[CANARY]], place };
  }
  yield* faultsOf(schema, place);
}

/** Bodies that are stored as they come, or are no objects; a connection is replaced by the body that made it. */
const OTHERS =
  /^\/v1\/(?:vault(?:\/update)?|capture\/\{unique_id\}|relay\/.*|proxy\/cert|preferences|connection\/\{id\})$/;
const CASES = ROUTES.flatMap((route) =>
  route.body.kind === 'none' || OTHERS.test(route.path)
    ? []
    : [[route.operationId, route, route.body.schema] as const],
);
/** Members beside the operations of a rule are ignored: a rule can be sent back as it was returned. */
const IGNORED = 'createRule body.no_such_member';

function needed({ query }: RouteShape): Query {
  const isNeeded = ([name, schema]: readonly [string, TSchema]): boolean =>
    schema['default'] === undefined && (query.required ?? []).includes(name);
  const parameters = Object.entries<TSchema>(query.properties).filter(isNeeded);
  return Object.fromEntries(parameters.map(([name, schema]) => [name, String(fitting(schema))]));
}

describe('a wrong member is named whole', () => {
  test.each(CASES)('in the body of %s', async (name, route, schema) => {
    const found: (readonly [string, string | undefined])[] = [];
    const kind = route.path.split('/')[2] ?? '';
    const path = route.path.slice('/v1'.length).replaceAll(/\{\w+\}/g, `u1-${kind}`);
    for (const { value, place } of faultsOf(schema, 'body')) {
      const caller = route.scope === OPERATOR_SCOPE ? operator : route.scope === 'person' ? member : account;
      const answer = await caller.send(route.method, path, {
        query: { ...needed(route), ...('user' in route.query.properties ? { user: 'customers-2026' } : {}) },
        passphrase: PASSPHRASE,
        body: value,
        ...(route.auth === 'console' && { headers: OF_CONSOLE }),
      });
      expect(answer.text).not.toContain(CANARY);
      // Of a batch, a wrong item alone has failed.
      const [, failed] =
        answer.outcome === '200' ? ((answer.json as { results?: BatchResult[] }).results ?? []) : [];
      if ((failed?.field ?? answer.field) !== place && `${name} ${place}` !== IGNORED) {
        found.push([place, `${answer.outcome} ${answer.field} ${answer.text}`]);
      }
    }
    expect(found).toEqual([]);
  });
});
