import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { captureClient, retrieveClient, Vault, webhooks } from '../../sdk/index.ts';
import { ROUTES } from '../../server/boot/routes.ts';
import { routeErrors } from '../../server/http/route.ts';
import { callNames } from './call-names.ts';
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
const calls = callNames(clients);

test('every call has its section, and no section is of a call that there is not', () => {
  expect(calls.length).toBeGreaterThan(60);
  const told = [...sections.keys()].filter((heading) => /^\w+(?:\.\w+)+$/.test(heading));
  expect(told.sort()).toEqual(calls.toSorted());
});

/** Codes that many calls can be answered with, and that the class of the error has in its comment. */
const COMMON: readonly string[] = [
  'invalid_request duplicate_parameter rate_limited overloaded store_unavailable internal',
  'unauthenticated too_many_failures not_allowed account_suspended unknown_parameter conflicting_parameters',
  'invalid_json json_too_deep body_too_large content_encoding_unsupported',
  'record_rolled_back integrity_failed',
].flatMap((line) => line.split(' '));

test('the class of the error lists what any call can be answered with', () => {
  const [comment = ''] = (sections.get('VaultApiError') ?? '').split('```');
  expect(COMMON.filter((code) => !comment.includes(`(errors.md#${code})`))).toEqual([]);
  const ofAll = ROUTES.map(routeErrors).reduce((all, codes) => all.filter((code) => codes.includes(code)));
  expect(ofAll.filter((code) => !COMMON.includes(code))).toEqual([]);
});

/** Codes for the cookie of a person, which the SDK never sends. */
const OF_SESSIONS = ['cross_site', 'sign_in_again'];
const OF_DATA = ['passphrase_wrong', 'reference_required', 'rule_not_found', 'rule_limit', 'key_changed'];
const OF_LISTS = ['reference_required', 'rule_not_found', 'rule_limit'];
/** Codes of an operation that a call cannot be answered with, since it uses a part of the operation. */
const NEVER: Readonly<Record<string, readonly string[]>> = {
  'vault.decryptAll': ['reference_required', 'token_not_found'],
  'vault.delete': ['cursor_invalid'],
  'vault.eraseReference': ['reference_required', 'token_not_found', 'version_mismatch'],
  'vault.decrypt': ['cursor_invalid', 'key_changed'],
  'vault.decryptText': ['cursor_invalid', 'key_changed'],
  'vault.decryptVersioned': ['cursor_invalid', 'key_changed'],
  'vault.list': OF_DATA,
  'vault.items': OF_DATA,
  'vault.pages': OF_DATA,
  'retrieve.decrypt': ['cursor_invalid'],
  'retrieve.decryptText': ['cursor_invalid'],
  'retrieve.listItems': OF_LISTS,
  'retrieve.itemPages': OF_LISTS,
  'retrieveClient.decrypt': ['cursor_invalid'],
  'retrieveClient.decryptText': ['cursor_invalid'],
  'retrieveClient.list': OF_LISTS,
  'retrieveClient.pages': OF_LISTS,
  'forms.list': ['form_not_found'],
  'rules.list': ['rule_not_found'],
  'certificates.listCsrs': ['csr_not_found'],
  'admin.listPreferences': ['preference_not_found'],
};

function routeOf(request: string) {
  const [method = '', path = ''] = request.split(/[ ?]/);
  const fitting = ROUTES.filter(
    (route) =>
      route.method === method && new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  );
  return fitting.find((route) => route.path === path) ?? fitting[0];
}

test('every call throws what its operation answers', () => {
  // A sender gets the replies of a third party.
  const own = calls.filter((each) => each !== 'webhooks.verify' && each !== 'inbound.sender');
  for (const name of own) {
    const route = routeOf(WIRES[name]?.request ?? '');
    const left = new Set([...COMMON, ...OF_SESSIONS, ...(NEVER[name] ?? [])]);
    if (route === undefined) {
      throw new Error(`${name} has no route`);
    }
    const codes = routeErrors(route).filter((code) => !left.has(code));
    const [, thrown = ''] = /^\*\*Throws\*\* (.*(?:\n.+)*)/m.exec(sections.get(name) ?? '') ?? [];
    const told = [...thrown.matchAll(/errors\.md#(\w+)/g)].map(([, code = '']) => code);
    expect([name, told.sort()]).toEqual([name, codes.toSorted()]);
  }
});
