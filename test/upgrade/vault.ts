/** A vault of an earlier version as a folder, and what was put into it. */
import { createAccountClient } from '../helpers/clients.ts';
import { handleOf, OWNER, portOf, type Settings, spawnServer } from '../helpers/server-process.ts';

/** What the folder holds, so far as a caller must know it. All secrets are of this folder alone. */
export interface Facts {
  readonly token: string;
  readonly luhn: string;
  readonly captured: string;
  readonly capture: { readonly url: string; readonly secret: string };
  readonly retrieve: { readonly url: string; readonly secret: string };
  readonly csr: string;
}

/** The item with a reference, one whose token looks like a card's number, and what was captured. */
export const STORED = { card_number: '4111111111111111', holder: 'Ada', big: '1.10' } as const;
export const REFERENCE = 'order 7';
export const LUHN = { account_number: '5555555555554444' } as const;
export const CAPTURED = { card_number: '378282246310005', year: '2031' } as const;
export const RULE = [
  { name: 'substr', input_field: 'year', output_field: 'short', arguments: { start: -2 } },
] as const;

/** Settings under which nothing of the folder expires. */
const SETTINGS: Settings = { VAULT_AUDIT_RETENTION: '0' };

/** Starts a server on a folder; `stop` resolves with its exit code. */
export async function openFolder(data: string) {
  const printed: string[] = [];
  const server = spawnServer({ ...SETTINGS, VAULT_DATA_DIR: data }, data);
  const port = await portOf(server, printed);
  const handle = handleOf(async () => port);
  return {
    handle,
    client: createAccountClient(handle, OWNER),
    printed,
    stop: () => {
      server.kill('SIGTERM');
      return server.exited;
    },
  };
}
