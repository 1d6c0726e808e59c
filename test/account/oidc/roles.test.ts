/** `VAULT_OIDC_…`: what a start accepts, and whom a pair of `VAULT_OIDC_ROLES` lets in. */
import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { roleOf } from '../../../server/account/oidc/roles.ts';
import { loadConfig } from '../../../server/config/config.ts';
import { ConfigError } from '../../../server/config/reader.ts';
import { writePrivate } from '../../helpers/config.ts';

const folder = mkdtempSync(join(tmpdir(), 'cv-oidc-'));
afterAll(() => rmSync(folder, { recursive: true }));

const SECRET = 'canary%+4242';
const COMPLETE: Readonly<Record<string, string>> = {
  VAULT_OIDC_ISSUER: 'https://login.example/realms/shop',
  VAULT_OIDC_CLIENT_ID: 'vault',
  VAULT_OIDC_CLIENT_SECRET_FILE: writePrivate(join(folder, 'secret'), `${SECRET}\n`),
  VAULT_OIDC_ROLES: 'groups=staff:shop:admin',
};

function rolesIn(text: string) {
  return loadConfig({ ...COMPLETE, VAULT_OIDC_ROLES: text }).oidc?.roles ?? [];
}

/** The lines that a start would print. */
function complaints(settings: Readonly<Record<string, string | undefined>>): readonly string[] {
  try {
    loadConfig(settings);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) {
      return error.message.split('\n');
    }
    throw error;
  }
}

describe('settings', () => {
  test('are complete together, and the secret is not shown', () => {
    const config = loadConfig(COMPLETE);
    expect(config.oidc).toMatchObject({
      issuer: 'https://login.example/realms/shop',
      clientId: 'vault',
      roles: [{ claim: 'groups', value: 'staff', account: 'shop', role: 'admin' }],
    });
    expect(config.oidc?.clientSecret.expose()).toBe(SECRET);
    expect(JSON.stringify([config, config.effective])).not.toContain('canary');
  });

  test('are none without any', () => {
    expect(loadConfig({}).oidc).toBeUndefined();
  });

  for (const missing of Object.keys(COMPLETE)) {
    test(`are all needed: without ${missing}`, () => {
      const lines = complaints({ ...COMPLETE, [missing]: undefined });
      expect(lines).toHaveLength(1);
      expect(lines[0]).toStartWith(`${missing} is required with VAULT_OIDC_`);
    });
  }

  test('that are alone name all others', () => {
    expect(complaints({ VAULT_OIDC_CLIENT_ID: 'vault' })).toEqual([
      'VAULT_OIDC_ISSUER is required with VAULT_OIDC_CLIENT_ID',
      'VAULT_OIDC_CLIENT_SECRET_FILE is required with VAULT_OIDC_CLIENT_ID',
      'VAULT_OIDC_ROLES is required with VAULT_OIDC_CLIENT_ID',
    ]);
  });

  test('the issuer stays as it is written', () => {
    for (const issuer of [
      'https://login.example',
      'https://login.example/',
      'https://login.example:444/a/',
    ]) {
      expect(loadConfig({ ...COMPLETE, VAULT_OIDC_ISSUER: issuer }).oidc?.issuer).toBe(issuer);
    }
  });

  const bad: readonly (readonly [name: string, value: string, complaint: string])[] = [
    ['VAULT_OIDC_ISSUER', 'http://localhost:1', 'must be an https:// URL without a query or fragment'],
    ['VAULT_OIDC_ISSUER', 'login.example', 'must be an https:// URL without a query or fragment'],
    ['VAULT_OIDC_ISSUER', 'https://login.example?a=b', 'must be an https:// URL without a query or fragment'],
    ['VAULT_OIDC_ISSUER', 'https://ada:x@login.example', 'must not contain a user name or password'],
    [
      'VAULT_OIDC_ISSUER',
      'https://login.example/.well-known/openid-configuration',
      'must be the issuer alone, without /.well-known/openid-configuration',
    ],
    [
      'VAULT_OIDC_CLIENT_ID',
      ' vault',
      'must be 1 to 512 printable ASCII characters, without spaces around it',
    ],
    [
      'VAULT_OIDC_CLIENT_SECRET_FILE',
      writePrivate(join(folder, 'open'), SECRET, 0o644),
      'names a file that other users can read; run chmod 400 on it',
    ],
    [
      'VAULT_OIDC_CLIENT_SECRET_FILE',
      writePrivate(join(folder, 'none'), '\n'),
      'names a file that is not one line of printable ASCII characters',
    ],
    [
      'VAULT_OIDC_CLIENT_SECRET_FILE',
      writePrivate(join(folder, 'two'), `${SECRET}\n${SECRET}\n`),
      'names a file that is not one line of printable ASCII characters',
    ],
    ...[
      'groups',
      'groups=staff',
      'groups=staff:shop',
      'groups=staff:shop:admin:more',
      '=staff:shop:admin',
    ].map((value) => ['VAULT_OIDC_ROLES', `a=b:c:admin,${value}`, malformed('pair 2')] as const),
    ...[
      'groups=:shop:admin',
      'groups=a=b:shop:admin',
      'groups=100%:shop:admin',
      'groups=%ff:shop:admin',
      '',
    ].map((value) => ['VAULT_OIDC_ROLES', `${value},a=b:c:admin`, malformed('pair 1')] as const),
    [
      'VAULT_OIDC_ROLES',
      'groups=staff:shop:admn',
      'has the unknown role admn in pair 1; it must be one of: owner, admin, developer, support, auditor',
    ],
    [
      'VAULT_OIDC_ROLES',
      'groups=staff:shop:canary4242',
      'has the unknown role in pair 1; it must be one of: owner, admin, developer, support, auditor',
    ],
    [
      'VAULT_OIDC_ROLES',
      'groups=staff:my shop:admin',
      'has an account in pair 1 whose name must be 1 to 128 characters from A-Z a-z 0-9 . _ @ -',
    ],
  ];
  for (const [name, value, complaint] of bad) {
    test(`refused: ${name}=${value.replace(folder, '')}`, () => {
      expect(complaints({ ...COMPLETE, [name]: value })).toEqual([`${name} ${complaint}`]);
    });
  }
});

function malformed(place: string): string {
  return `must be claim=value:account:role pairs, comma-separated, with , : = and % in a part percent-encoded: ${place} is not`;
}

describe('pairs', () => {
  test('have four parts, of which each is percent-decoded alone', () => {
    expect(
      rolesIn('https%3A%2F%2Fa.example%2Fgroups=a%2Cb%3Ac%3Dd%25e:shop:owner, email=ada@a.example:b:auditor'),
    ).toEqual([
      { claim: 'https://a.example/groups', value: 'a,b:c=d%e', account: 'shop', role: 'owner' },
      { claim: 'email', value: 'ada@a.example', account: 'b', role: 'auditor' },
    ]);
  });

  test('are decoded once', () => {
    expect(rolesIn('a=%2525:b:owner')[0]?.value).toBe('%25');
  });

  const roles = rolesIn('groups=owners:shop:owner,groups=staff:shop:admin,email=ada@a.example:other:support');
  const rows: readonly (readonly [string, Readonly<Record<string, unknown>>, string | undefined])[] = [
    ['a text', { groups: 'staff' }, 'admin'],
    ['a list', { groups: ['a', 'staff'] }, 'admin'],
    ['several fit: the first pair decides, not the first value', { groups: ['staff', 'owners'] }, 'owner'],
    ['none', {}, undefined],
    ['another', { groups: ['a'] }, undefined],
    ['another case', { groups: ['Staff'] }, undefined],
    ['a space', { groups: ['staff '] }, undefined],
    ['a part', { groups: 'staffing' }, undefined],
    ['a text with commas is no list', { groups: 'a,staff' }, undefined],
    ['a list within a list', { groups: [['staff']] }, undefined],
    ['a member', { groups: { staff: true } }, undefined],
    ['an address that is verified', { email: 'ada@a.example', email_verified: true }, 'support'],
    ['one of another case', { email: 'Ada@a.example', email_verified: true }, undefined],
    ['one that is not verified', { email: 'ada@a.example', email_verified: false }, undefined],
    ['one of which nothing is told', { email: 'ada@a.example' }, undefined],
    ['one that is verified in words', { email: 'ada@a.example', email_verified: 'true' }, undefined],
    ['a list of addresses that is not verified', { email: ['ada@a.example'] }, undefined],
  ];
  for (const [what, claims, role] of rows) {
    test(`${what}: ${role ?? 'no access'}`, () => {
      expect<string | undefined>(roleOf(roles, claims)?.role).toBe(role);
    });
  }

  test('never fit what all objects have', () => {
    expect(roleOf(rolesIn('constructor=x:shop:owner,__proto__=x:shop:owner'), {})).toBeUndefined();
  });
});
