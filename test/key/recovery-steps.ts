/** What the tests of recoveries do with a key, as its owner and its custodians do it. */
import { createReader, type Reader } from '../helpers/age.ts';
import { type AccountClient, type Answer, PASSPHRASE } from '../helpers/clients.ts';

/** A recovery as the API shows it. */
export interface ShownRecovery {
  readonly user: string;
  readonly threshold: number;
  readonly shares: readonly { readonly recipient: string; readonly share: string }[];
}

/** A passphrase for after a loss. */
export const NEW = 'the new passphrase of a recovered key';

/** Custodians with an identity each, made with `age-keygen`. */
export function createCustodians(count: number): Promise<Reader[]> {
  return Promise.all(Array.from({ length: count }, createReader));
}

/** Asks for a recovery. */
export function make(
  account: AccountClient,
  user: string,
  custodians: readonly Pick<Reader, 'recipient'>[],
  threshold: number,
  passphrase = PASSPHRASE,
): Promise<Answer> {
  const recipients = custodians.map(({ recipient }) => recipient);
  return account.send('POST', '/key/recovery', { body: { user, passphrase, recipients, threshold } });
}

/** What `GET /v1/key/recovery` answers. */
export function read(account: AccountClient, user: string): Promise<Answer> {
  return account.send('GET', '/key/recovery', { query: { user } });
}

/** The texts that the custodians get from the shares that the vault has, with `age -d`. */
export async function sharesOf(
  account: AccountClient,
  user: string,
  custodians: readonly Reader[],
): Promise<string[]> {
  const { shares } = (await read(account, user)).as<ShownRecovery>();
  return Promise.all(
    custodians.map(async ({ recipient, open }) => {
      const sealed = shares.find((share) => share.recipient === recipient)?.share ?? '';
      const { code, text } = await open(new TextEncoder().encode(sealed));
      if (code !== 0) {
        throw new Error(`age ended with ${code}`);
      }
      return text;
    }),
  );
}

/** Makes a key with a recovery and gives the shares as the custodians have them. */
export async function recoverable(
  account: AccountClient,
  user: string,
  custodians: readonly Reader[],
  threshold = 2,
): Promise<string[]> {
  await account.key(user);
  const made = await make(account, user, custodians, threshold);
  if (made.status !== 200) {
    throw new Error(made.text);
  }
  return sharesOf(account, user, custodians);
}

/** Presents shares. */
export function recoverWith(
  account: AccountClient,
  user: string,
  shares: readonly string[],
  new_passphrase: string | undefined = NEW,
): Promise<Answer> {
  return account.send('POST', '/key/recover', { body: { user, shares, new_passphrase } });
}

/** Opens an item under a passphrase. */
export function open(
  account: AccountClient,
  user: string,
  token: string,
  passphrase: string,
): Promise<Answer> {
  return account.send('GET', '/vault', { query: { user, token }, passphrase });
}

/** Changes the passphrase of a key. */
export function change(
  account: AccountClient,
  user: string,
  passphrase: string,
  new_passphrase: string,
): Promise<Answer> {
  return account.send('PUT', '/key', { body: { user, passphrase, new_passphrase } });
}
