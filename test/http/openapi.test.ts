import { describe, expect, test } from 'bun:test';
import { API } from '../../server/boot/routes.ts';
import { ERRORS } from '../../server/core/error-table.ts';
import { OPERATION_NAMES } from '../../server/domain/rule/operations.ts';
import { buildOpenApi } from '../../server/http/openapi/document.ts';
import { stubRoutes } from './stub-routes.ts';

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: { readonly 'x-secret'?: boolean };
}

const document = buildOpenApi(API, 'https://vault.test');
const text = JSON.stringify(document);

const operations = Object.values(document.paths).flatMap((path) => Object.values(path));

test('the code of an error is one of the table', () => {
  const error = document.components.schemas['Error'];
  expect(error).toMatchObject({ properties: { code: { enum: Object.keys(ERRORS) } } });
});

test('whatever holds a secret is marked', () => {
  const secret = /passphrase|password|secret|^(?:card_number|account_number|n|number)$/i;
  for (const operation of operations) {
    for (const parameter of operation['parameters'] as readonly Parameter[]) {
      if (secret.test(parameter.name)) {
        expect(parameter.schema['x-secret']).toBe(true);
      }
    }
  }
  for (const [schemaName, schema] of Object.entries(document.components.schemas)) {
    for (const [name, property] of Object.entries(schema['properties'] ?? {})) {
      // Its members are paths.
      if (secret.test(name) && schemaName !== 'InboundSource') {
        expect(property).toMatchObject({ 'x-secret': true });
      }
    }
  }
});

test('aliases and both places of the passphrase are shown', () => {
  const parameters = document.paths['/vault']?.['post']?.['parameters'] ?? [];
  const names = (parameters as readonly Parameter[]).map((parameter) => `${parameter.in}.${parameter.name}`);
  const numbers = ['query.number', 'query.card_number', 'query.account_number', 'query.n'];
  const others = ['query.passphrase', 'header.X-Vault-Passphrase', 'header.Idempotency-Key'];
  expect(names).toEqual(expect.arrayContaining([...numbers, ...others]));
});

test('the second name of a key comes first and is required, and the other is its alias', () => {
  const { parameters = [] } = document.paths['/vault']?.['post'] ?? {};
  expect((parameters as readonly object[]).slice(0, 2)).toMatchObject([
    { name: 'key', required: true },
    { name: 'user', required: false },
  ]);
  const { properties, required } = document.components.schemas['CreateKey'] ?? {};
  expect(Object.keys(Object(properties)).slice(0, 2)).toEqual(['key', 'user']);
  expect(required).toEqual(['key']);
});

test('the marks that only the code needs stay out of it', () => {
  expect(text).not.toContain('patternProperties');
  expect(text).not.toContain('$id');
});

/** All values of a member of this name, wherever it stands. */
function valuesOf(name: string, within: unknown): readonly unknown[] {
  if (typeof within !== 'object' || within === null) {
    return [];
  }
  const deeper = Object.values(within).flatMap((inner) => valuesOf(name, inner));
  return Object.hasOwn(within, name) ? [Reflect.get(within, name), ...deeper] : deeper;
}

describe('code that is generated from it', () => {
  test('compiles every pattern in any language: no lookaround, no reference back, no escape of JavaScript', () => {
    const patterns = valuesOf('pattern', document).filter((pattern) => typeof pattern === 'string');
    expect(patterns).not.toBeEmpty();
    for (const pattern of patterns) {
      expect(pattern).not.toMatch(/\(\?(?!:)|\\[1-9ucpPk]/);
      const repeated = [...pattern.matchAll(/\{(?:\d+,)?(\d+)\}/g)].map(([, most]) => Number(most));
      // RE2 repeats nothing more often.
      expect(Math.max(0, ...repeated)).toBeLessThanOrEqual(1000);
    }
  });

  test('needs no schema for webhooks that no route leads to', () => {
    expect(JSON.stringify(document['webhooks'])).not.toMatch(/schemas\/\w*Webhook"/);
  });

  test('has a name for every reply and body of several kinds', () => {
    for (const schema of valuesOf('schema', document.paths)) {
      expect(schema).not.toHaveProperty('anyOf');
    }
  });

  test('knows which lifetimes, keys of repeats, passphrases and operations are valid', () => {
    const parametersOf = (path: string, method: string) =>
      (document.paths[path]?.[method]?.['parameters'] ?? []) as readonly (Parameter & {
        readonly schema: { readonly pattern?: string };
      })[];
    const patternOf = (path: string, name: string) => {
      const found = parametersOf(path, 'post').find((parameter) => parameter.name === name);
      return new RegExp(found?.schema.pattern ?? 'missing');
    };
    const ttl = patternOf('/capture', 'ttl');
    for (const valid of '0 0s P0T P0T0 PT0S P0D 45m 24h60m60s 1h30m PT10M P1D P1W P1DT2H'.split(' ')) {
      expect(valid).toMatch(ttl);
    }
    for (const invalid of ['', '-1h', '1.5h', '10', 'P', 'PT', 'P1DT', '1h P1D', 'forever']) {
      expect(invalid).not.toMatch(ttl);
    }
    const repeat = patternOf('/vault', 'Idempotency-Key');
    expect('order 4711').toMatch(repeat);
    expect(['', ' order', 'order ', 'a\nb', 'ä'].filter((key) => repeat.test(key))).toEqual([]);
    const passphrase = patternOf('/vault', 'X-Vault-Passphrase');
    expect('p%C3%A4ss+word').toMatch(passphrase);
    expect(['', '50%', 'pä'].filter((text) => passphrase.test(text))).toEqual([]);
    expect(parametersOf('/passphrase', 'get')[0]?.schema).toMatchObject({ minimum: 32, maximum: 4096 });
    expect(document.components.schemas['Operation']).toMatchObject({
      properties: { name: { enum: [...OPERATION_NAMES] } },
    });
  });
});

describe('routes that are used with a secret', () => {
  const stubs = stubRoutes([]);
  const { paths, components } = buildOpenApi({ ...API, routes: stubs }, 'https://vault.test');

  test('name the header of their secret, the only thing that they need', () => {
    const needs = stubs.map(({ method, path }) => {
      const operation = paths[path.slice('/v1'.length)]?.[method.toLowerCase()];
      return [operation?.['operationId'], operation?.['security']];
    });
    expect(Object.fromEntries(needs)).toEqual({
      capture: [{ captureSecret: [] }],
      deleteCapture: [{ basicAuth: [] }, { credential: [] }],
      retrieve: [{ retrieveSecret: [] }],
      listForms: [{ basicAuth: [] }, { credential: [] }],
      showForm: [],
      sendJson: [],
    });
    expect(components['securitySchemes']).toMatchObject({
      captureSecret: { type: 'apiKey', in: 'header', name: 'X-Vault-Capture-Secret' },
      retrieveSecret: { type: 'apiKey', in: 'header', name: 'X-Vault-Retrieve-Secret' },
    });
  });
});
