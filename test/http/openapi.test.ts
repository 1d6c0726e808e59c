import { expect, test } from 'bun:test';
import { ERRORS } from '../../server/errors.ts';
import { buildOpenApi } from '../../server/openapi.ts';
import { ROUTES } from '../../server/routes/table.ts';

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: { readonly 'x-secret'?: boolean };
}

const document = buildOpenApi(ROUTES, 'https://vault.test');
const text = JSON.stringify(document);

const operations = Object.values(document.paths).flatMap((path) => Object.values(path));

test('every reference leads somewhere', () => {
  for (const [, place = ''] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const target = place.split('/').reduce<unknown>((at, step) => Reflect.get(Object(at), step), document);
    expect(target).toBeDefined();
  }
});

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
  for (const schema of Object.values(document.components.schemas)) {
    for (const [name, property] of Object.entries(schema['properties'] ?? {})) {
      if (secret.test(name)) {
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

test('the marks that only the code needs stay out of it', () => {
  expect(text).not.toContain('patternProperties');
  expect(text).not.toContain('$id');
});
