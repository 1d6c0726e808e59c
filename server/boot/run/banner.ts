import { adminUrl, type Config, publicUrl } from '../../config/config.ts';
import { peopleOf } from '../../config/people.ts';
import type { FirstAccount } from '../first-account.ts';

/** Only for the printed example; long enough for a key. */
const PASSPHRASE = 'try-it-out-with-32-characters-ok';
/** A published test number, which staging servers accept. */
const CARD =
  '{"card_number":"4111111111111111","card_holder":"Ada Lovelace","expiry_month":"12","expiry_year":"2030"}';

/** The credentials of the first account, and one command line that creates a key and stores a card with them. */
function introduce({ name, password }: FirstAccount, url: string): string[] {
  return [
    '  First account, shown once:',
    `    name      ${name}`,
    `    password  ${password.expose()}`,
    '',
    'Create a key and store a card:',
    '',
    `  AUTH='${name}:${password.expose()}'; ` +
      `curl -sSu "$AUTH" ${url}/v1/key -d '{"key":"demo","passphrase":"${PASSPHRASE}"}'; echo; ` +
      `curl -sSu "$AUTH" '${url}/v1/vault?key=demo&reference=customer-1' ` +
      `-H 'X-Vault-Passphrase: ${PASSPHRASE}' -d '${CARD}'; echo`,
  ];
}

/**
 * The text that a started server prints: its addresses, the first account's credentials if they were just generated,
 * and an example. The only place that prints a password; it goes to the terminal and never to the log.
 */
export function bannerOf(config: Config, first: FirstAccount | undefined, isShared: boolean): string {
  const url = adminUrl(config);
  const { flaw } = peopleOf(config);
  const lines = [
    '',
    `Cardvault (${config.env}) is ready.`,
    `  API     ${url}/v1`,
    `  Docs    ${url}/docs`,
    `  Guide   ${url}/guide`,
    `  Console ${config.consoleUrl ?? url}/console`,
    ...(config.env === 'staging' ? [`  Forms   ${url}/forms`] : []),
    ...(config.admin === undefined
      ? []
      : [`  Public  ${publicUrl(config)} has capture, retrieval, forms and health alone.`]),
    ...(config.redis.kind === 'embedded'
      ? [`  Data    ${config.dataDir} (back it up, with the master key)`]
      : []),
    ...(config.processes > 1 ? [`  ${config.processes} processes share the port.`] : []),
    ...(isShared
      ? [
          '  Another server of this vault has this port already: both answer there, each with its own settings.',
        ]
      : []),
    ...(flaw === undefined ? [] : [`  Nobody can sign in with a passkey: ${flaw}.`]),
    ...(first === undefined ? [] : introduce(first, url)),
    '',
    'Ctrl-C stops the server. Stored data is kept and available again at the next start.',
  ];
  return `${lines.join('\n')}\n\n`;
}
