/** What the reply to a request is shown by, as it travels with jobs. */
import type { Showing } from '../../../server/domain/relay/sight.ts';
import { parseOwn, toJsonBytes } from '../context.ts';

/** Jobs of earlier versions say it in another way: of their replies the status alone is shown. */
const WITHHELD: Showing = { sight: 'named', numbers: [], sent: [], paths: [], secrets: [] };
const ALL: Showing = { ...WITHHELD, sight: 'all' };

/** Empty where the reply is shown as it is. */
export function showingBytes(showing: Showing): Uint8Array {
  const { sight, sent, secrets } = showing;
  return sight === 'all' && sent.length === 0 && secrets.length === 0
    ? new Uint8Array(0)
    : toJsonBytes(showing);
}

export function readShowing(bytes: Uint8Array): Showing {
  return bytes.length === 0 ? ALL : { ...WITHHELD, ...parseOwn<Partial<Showing>>(bytes) };
}
