/** Combinations of settings, and ways to start, that are not allowed. */
import type { SettingName } from './names.ts';
import type { Environment, SettingReader } from './reader.ts';
import { isLoopback } from './values.ts';

/** Two settings that are given together. */
type SettingPair = readonly [cert: SettingName, key: SettingName];

/** Reports the missing half of a pair of certificate and key. An unreadable file has already been reported. */
export function checkTlsPair(
  reader: SettingReader,
  [certName, keyName]: SettingPair,
  read: { readonly cert: boolean; readonly key: boolean },
): void {
  if (read.cert && !reader.isSet(keyName)) {
    reader.report(keyName, `is required with ${certName}`);
  }
  if (read.key && !reader.isSet(certName)) {
    reader.report(certName, `is required with ${keyName}`);
  }
}

/** Reports each address that other machines can reach over plain HTTP. */
export function rejectPlainHttp(
  reader: SettingReader,
  addresses: readonly (readonly [SettingName, string])[],
): void {
  for (const [name, host] of addresses) {
    if (!isLoopback(host)) {
      reader.report(
        name,
        'is not a loopback address: set VAULT_TLS_CERT_FILE and VAULT_TLS_KEY_FILE, or VAULT_ALLOW_PLAIN_HTTP=true behind a proxy that terminates TLS',
      );
    }
  }
}

/** Reports an inspector (bun --inspect, BUN_INSPECT), which could read keys and card data from the process. */
export function rejectInspector(
  reader: SettingReader,
  environment: Environment,
  runtimeArguments: readonly string[],
): void {
  const name = ['BUN_INSPECT', 'BUN_INSPECT_CONNECT_TO', 'BUN_INSPECT_NOTIFY', 'BUN_INSPECT_PRELOAD'].find(
    (key) => environment[key],
  );
  if (name !== undefined) {
    reader.report(name, 'is not allowed in production');
  }
  if (runtimeArguments.some((argument) => /^--inspect/.test(argument))) {
    reader.report('--inspect', 'is not allowed in production');
  }
}
