import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GROUPS } from '../../scripts/sdk-page/outline.ts';
import { captureClient, retrieveClient, Vault, webhooks } from '../../sdk/index.ts';
import { ROUTES } from '../../server/http/routes/table.ts';
import { WIRES } from './wires.ts';

const page = readFileSync(join(import.meta.dir, '../../docs/sdk.md'), 'utf8');
const sections = new Map(
  page.split(/^#{2,3} /m).map((section) => [section.slice(0, section.indexOf('\n')), section] as const),
);
const secret = 'secret';
const clients = {
  ...new Vault({ baseUrl: 'https://vault.test', username: 'shop', password: 'p' }),
  captureClient: captureClient({ url: 'https://vault.test/v1/capture/shop', secret }),
  retrieveClient: retrieveClient({ url: 'https://vault.test/v1/retrieve/shop', secret }),
  webhooks,
};
const calls = Object.entries(clients).flatMap(([group, members]) =>
  Object.keys(members).map((name) => `${group}.${name}`),
);

test('every call has its section, and no section is of a call that there is not', () => {
  expect(calls.length).toBeGreaterThan(60);
  const told = [...sections.keys()].filter((heading) => /^\w+\.\w+$/.test(heading));
  expect(told.sort()).toEqual(calls.toSorted());
});

describe.each(calls)('%s', (name) => {
  const [, signature = '', text = ''] = (sections.get(name) ?? '').split('\n\n').map((part) => part.trim());

  test('begins with what it takes and gives', () => {
    expect(signature).toMatch(/^`[\w.(…)]+(?:<.+>)?\(.*\): .+`$/);
  });

  test('says what it does, with what it is refused, and what it gives', () => {
    expect(text).toMatch(/^[A-Z`]/);
    const section = sections.get(name);
    expect(section).toMatch(/^\*\*(?:Refused\*\* with|Throws\*\*) .*\[/m);
    expect(section).toMatch(/^\*\*(?:Returns|Yields)\*\* /m);
    expect(section).toMatch(/^```ts$/m);
  });
});

test('every row of a table has a description', () => {
  expect(page.split('\n').filter((line) => /\|\s*\|$/.test(line))).toEqual([]);
});

test('no two headings have the same anchor', () => {
  const anchors = [...sections.keys()].map((heading) => heading.toLowerCase().replaceAll(/[^\w -]/g, ''));
  expect(anchors.filter((anchor, at) => anchors.indexOf(anchor) !== at)).toEqual([]);
});

test('the operation that the outline names for a call is the one that it asks for', () => {
  const wrong = GROUPS.flatMap(({ name: group, calls: operations }) =>
    Object.entries(operations).flatMap(([name, operationId]) => {
      const [method = '', path = ''] = WIRES[`${group}.${name}`]?.request.split(/[ ?]/) ?? [];
      const asked = ROUTES.filter(
        (route) =>
          route.method === method && new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
      );
      return asked.some((route) => route.operationId === operationId) || operationId === undefined
        ? []
        : [`${group}.${name}: ${operationId}`];
    }),
  );
  expect(wrong).toEqual([]);
});
