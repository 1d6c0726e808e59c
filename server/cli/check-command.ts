import { X509Certificate } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { peopleOf } from '../config/people.ts';
import { DAY_MS } from '../core/clock.ts';
import { certificatesIn } from '../core/pem.ts';
import { defineCommand } from './command.ts';

/** A certificate that ends earlier is a warning. */
const SOON_MS = 30 * DAY_MS;

/** The certificates of settings that a start reads, in PEM; of several in one file, each. */
function certificatesOf({ tls, redisTls, proxyCa }: Config) {
  const files = [
    ['VAULT_TLS_CERT_FILE', tls?.cert],
    ['VAULT_REDIS_CERT_FILE', redisTls?.client?.cert],
    ['VAULT_REDIS_CA_FILE', redisTls?.ca],
    ['VAULT_PROXY_CA_FILE', proxyCa],
  ] as const;
  return files.flatMap(([setting, pem = '']) =>
    certificatesIn(pem).map((block) => ({ setting, end: new X509Certificate(block).validToDate })),
  );
}

/** A line for each certificate that has ended, or ends within 30 days. */
function warningsOf(config: Config, now: number): readonly string[] {
  return certificatesOf(config)
    .filter(({ end }) => end.getTime() < now + SOON_MS)
    .map(({ setting, end }) => {
      const verb = end.getTime() < now ? 'expired' : 'expires';
      return `warning: ${setting} names a certificate that ${verb} on ${end.toISOString().slice(0, 10)}`;
    });
}

/** A line if people cannot sign in at an address that the operator has set. */
function flawsOf(config: Config): readonly string[] {
  const { flaw } = peopleOf(config);
  const isSet = (config.consoleUrl ?? config.publicUrl ?? config.admin) !== undefined;
  return flaw === undefined || !isSet ? [] : [`warning: nobody can sign in with a passkey: ${flaw}`];
}

/**
 * `vault check`. Before it runs, the command line has read the settings, and has ended with a line for each error. Nothing is
 * opened or created.
 */
export const checkCommand = defineCommand({
  words: ['check'],
  options: {},
  summary:
    'Reads the settings and their files as a start does, and prints a line for each error (exit code 1) or warning; opens and changes nothing.',
  opens: 'config',
  async run(_call, config) {
    const warnings = [...warningsOf(config, Date.now()), ...flawsOf(config)];
    const verdict = `The settings are complete (${config.env}).`;
    return { data: { ok: true, warnings }, shown: [...warnings, verdict].join('\n') };
  },
});
