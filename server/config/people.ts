import { isIP } from 'node:net';
import type { PeopleSettings } from '../core/settings.ts';
import { type Config, consoleUrl } from './config.ts';

/** True for the names of the browser's own machine, which browsers trust without HTTPS. */
function isLocalhost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

/** True for a host and those below it. */
function isBelow(host: string, above: string): boolean {
  return host === above || host.endsWith(`.${above}`);
}

/** Why no passkey can belong to the host of the console; undefined if they can. */
function flawOf(consoleUrl: string | undefined, formsUrl: string | undefined): string | undefined {
  if (consoleUrl === undefined) {
    return 'with VAULT_ADMIN_PORT they need VAULT_CONSOLE_URL, the address of the console';
  }
  const { protocol, hostname } = new URL(consoleUrl);
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) {
    return `passkeys belong to a host name, and ${consoleUrl} has an address: set VAULT_CONSOLE_URL to a name, or to http://localhost with the port`;
  }
  if (protocol !== 'https:' && !isLocalhost(hostname)) {
    return `browsers have passkeys over HTTPS and at localhost alone, not at ${consoleUrl}: set VAULT_CONSOLE_URL`;
  }
  if (formsUrl !== undefined && isBelow(new URL(formsUrl).hostname, hostname)) {
    return `the host of VAULT_FORMS_URL is ${hostname} or below it, and scripts of forms could use its passkeys: set VAULT_CONSOLE_URL to another host`;
  }
  return undefined;
}

/** Returns how people sign in. The console is at the public URL by default, which has none where there is a second listener. */
export function peopleOf(config: Config): PeopleSettings {
  const url = consoleUrl(config);
  return {
    consoleUrl: url,
    flaw: flawOf(url, config.formsUrl),
    hasPasswords: config.consolePassword,
  };
}
