/** What pages say of themselves and of errors; `examples.long.ts` runs their examples. */
import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROUTES } from '../../server/boot/routes.ts';
import { isErrorCode, VaultError } from '../../server/core/errors.ts';
import { routeErrors } from '../../server/http/route.ts';
import { inWordsOf } from './guide.ts';
import { ALL_PAGES } from './pages.ts';

const ROOT = join(import.meta.dir, '..', '..');

describe('what a guide says is printed', () => {
  const says = (expected: string, printed: string): boolean => inWordsOf(expected, printed) === expected;
  test.each([
    ['{"a":1,\n "b":2}', '{"a":1,"b":2}', true],
    ['{"token":"…","b":2}', '{"token":"9f","b":2}\n', true],
    ['{"a":1}', '{"a":2}', false],
    ['{"a":1}', '{"a":1}{"b":2}', false],
    ['{"token":"…"}', '{"token":"9f","b":2}', false],
    ['{"token":"…"}', '{"token":""}', false],
    ['a.c', 'abc', false],
  ])('%j for %j: %p', (expected, printed, same) => {
    expect(says(expected, printed)).toBe(same);
  });
});

/** The operations of a guide. */
const OPERATIONS: Readonly<Record<string, readonly string[]>> = {
  keys: ['createKey', 'listKeys', 'changePassphrase', 'deleteKey', 'generatePassphrase'],
  items: ['storeItem', 'readItems', 'updateItem', 'deleteItem', 'readLog', 'checkLuhn'],
  export: ['exportItems'],
  capture: ['capture'],
  inbound: ['inboundPost'],
  retrieve: ['retrieve'],
  proxy: ['proxyPost', 'proxyGet', 'requestNetworkToken'],
  forms: ['createForm', 'listForms', 'showForm', 'replaceForm', 'deleteForm'],
  jobs: ['listJobs', 'readJob', 'redeliverJobs', 'redeliverJob', 'cancelJob'],
  platforms: [
    ...['createAccount', 'listAccounts', 'readAccount', 'changeAccount', 'deleteAccount'],
    ...['replaceAccountPassword', 'suspendAccount', 'resumeAccount'],
  ],
  people: [
    ...['createPerson', 'listPeople', 'readPerson', 'changePerson', 'deletePerson', 'invitePerson'],
    ...['deletePasskey', 'acceptInvitation', 'signIn', 'beginPasskey', 'addPasskey'],
    ...['beginPassphrase', 'keepPassphrase', 'listKeptPassphrases', 'forgetPassphrase'],
  ],
  'least-privilege': [
    'createCredential',
    'listCredentials',
    'readCredential',
    'rollCredential',
    'deleteCredential',
  ],
};

describe.each(Object.entries(OPERATIONS))('the errors that the guide %s lists', (name, operations) => {
  const markdown = readFileSync(join(ROOT, 'docs', 'guides', `${name}.md`), 'utf8');
  const known = ROUTES.filter((route) => operations.includes(route.operationId)).flatMap(routeErrors);
  const listed = [...markdown.matchAll(/^\| (\d{3}) \| (.*?) \|/gm)].flatMap(([, status, codes = '']) =>
    [...codes.matchAll(/`(\w+)`/g)].map(([, code = '']) => [Number(status), code] as const),
  );

  test.each(listed)('%d %s', (status, code) => {
    const found = known.find((each) => each === code);
    expect(found && new VaultError(found).status).toBe(status);
  });

  test('are all but faults of the service and of form', () => {
    const codes = new Set<string>([...listed.map(([, code]) => code), 'content_encoding_unsupported']);
    // No program sends the cookie of a person.
    const ofPrograms = known.filter((code) => code !== 'cross_site');
    expect([...new Set(ofPrograms)].filter((code) => !codes.has(code)).sort()).toEqual([
      'duplicate_parameter',
      'integrity_failed',
      'internal',
      ...(known.includes('record_rolled_back') ? (['record_rolled_back'] as const) : []),
    ]);
  });
});

test('the codes that the guide of webhooks explains are codes', () => {
  const markdown = readFileSync(join(ROOT, 'docs', 'guides', 'webhooks.md'), 'utf8');
  const explained = /^## Unknown outcomes$(.*?)^## /ms.exec(markdown)?.[1] ?? '';
  const codes = [...explained.matchAll(/^\| (`.*?) \|/gm)].flatMap(
    ([, cell = '']) => cell.match(/\w+/g) ?? [],
  );
  expect(codes).toContain('outcome_unknown');
  expect(codes.filter((code) => code !== 'code' && !isErrorCode(code))).toEqual([]);
});

/** A vault key under its other name, in a query, a body, the SDK or a command. */
const OTHER_NAME =
  /[?&]user=|-d '\{"user"|^\s*(?:const )?user(?: =|:) '|\bvault [a-z ]+ .*--user |X-Vault-User: /m;

test.each(ALL_PAGES)('%s names vault keys by `key` in requests', (page) => {
  expect(OTHER_NAME.exec(readFileSync(join(ROOT, page), 'utf8'))?.[0]).toBeUndefined();
});
