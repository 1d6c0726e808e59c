/** Where people can sign in, by the settings of an installation. */
import { describe, expect, test } from 'bun:test';
import { loadConfig } from '../server/config/config.ts';
import { peopleOf } from '../server/config/people.ts';

const PLAIN = { VAULT_ALLOW_PLAIN_HTTP: 'true' };

describe('passkeys belong to the host of the console', () => {
  test.each([
    [{ VAULT_PUBLIC_URL: 'https://vault.example' }, 'https://vault.example'],
    [{ VAULT_PUBLIC_URL: 'https://vault.example:8443' }, 'https://vault.example:8443'],
    [
      { VAULT_PUBLIC_URL: 'https://api.example', VAULT_CONSOLE_URL: 'https://console.example' },
      'https://console.example',
    ],
    [{ VAULT_CONSOLE_URL: 'http://localhost:8080' }, 'http://localhost:8080'],
    [{ VAULT_HOST: 'localhost', VAULT_PORT: '9000' }, 'http://localhost:9000'],
    [{ VAULT_HOST: '0.0.0.0', ...PLAIN }, 'http://localhost:8080'],
    [{ VAULT_ADMIN_PORT: '9000', VAULT_CONSOLE_URL: 'https://admin.example' }, 'https://admin.example'],
    [
      { VAULT_CONSOLE_URL: 'https://vault.example', VAULT_FORMS_URL: 'https://forms.example' },
      'https://vault.example',
    ],
    [
      { VAULT_CONSOLE_URL: 'https://a.vault.example', VAULT_FORMS_URL: 'https://b.vault.example' },
      'https://a.vault.example',
    ],
    [
      { VAULT_CONSOLE_URL: 'https://ault.example', VAULT_FORMS_URL: 'https://vault.example' },
      'https://ault.example',
    ],
  ])('%p: %s', (settings, consoleUrl) => {
    expect(peopleOf(loadConfig(settings))).toEqual({ consoleUrl, flaw: undefined, hasPasswords: true });
  });
});

describe('nobody can sign in', () => {
  test.each([
    [{}, 'http://127.0.0.1:8080', /has an address/],
    [{ VAULT_PUBLIC_URL: 'https://192.0.2.1' }, 'https://192.0.2.1', /has an address/],
    [{ VAULT_CONSOLE_URL: 'https://[2001:db8::1]' }, 'https://[2001:db8::1]', /has an address/],
    [{ VAULT_CONSOLE_URL: 'https://0x7f.1' }, 'https://127.0.0.1', /has an address/],
    [{ VAULT_PUBLIC_URL: 'http://vault.example' }, 'http://vault.example', /over HTTPS/],
    [{ VAULT_CONSOLE_URL: 'http://localhost.example' }, 'http://localhost.example', /over HTTPS/],
    [{ VAULT_ADMIN_PORT: '9000' }, undefined, /with VAULT_ADMIN_PORT they need VAULT_CONSOLE_URL/],
    [{ VAULT_ADMIN_PORT: '9000', VAULT_PUBLIC_URL: 'https://vault.example' }, undefined, /VAULT_CONSOLE_URL/],
    [
      { VAULT_PUBLIC_URL: 'https://vault.example', VAULT_FORMS_URL: 'https://forms.vault.example' },
      'https://vault.example',
      /VAULT_FORMS_URL is vault\.example or below it/,
    ],
    [
      {
        VAULT_CONSOLE_URL: 'https://vault.example',
        VAULT_FORMS_URL: 'https://vault.example:8443',
        VAULT_PUBLIC_URL: 'https://api.example',
      },
      'https://vault.example',
      /VAULT_FORMS_URL/,
    ],
  ])('with %p, and the start says why', (settings, consoleUrl, flaw) => {
    const people = peopleOf(loadConfig(settings));
    expect(people.consoleUrl).toBe(consoleUrl as never);
    expect(people.flaw).toMatch(flaw);
  });
});

test('passwords can be kept out of browsers', () => {
  expect(peopleOf(loadConfig({ VAULT_CONSOLE_PASSWORD: 'false' })).hasPasswords).toBe(false);
});
