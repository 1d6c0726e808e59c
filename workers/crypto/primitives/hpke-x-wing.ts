/**
 * HPKE (RFC 9180) in Base mode with X-Wing (0x647a, draft-ietf-hpke-pq) and HKDF-SHA256, export-only as that of X25519.
 * Both sides wait for the runtime once for each set-up, not for each key that is exported from it.
 */
import { EXPORT_ONLY, exportSecret, type HpkeAead, type HpkeContext, scheduleKeys } from './hpke.ts';
import { decapsulate, encapsulate } from './x-wing.ts';

/** Its registered id. */
const X_WING_KEM = 0x647a;

/** SetupBaseS (section 5.1.1) for the holder of `publicKey`. Errors as `encapsulate`. */
export async function setupXWingSender(
  publicKey: Uint8Array,
  info: Uint8Array,
): Promise<{ readonly enc: Uint8Array; readonly context: HpkeContext }> {
  const { enc, shared } = await encapsulate(publicKey);
  return { enc, context: scheduleKeys(shared, info, EXPORT_ONLY, X_WING_KEM) };
}

/** SetupBaseR (section 5.1.1) for the holder of `seed`, which is read before the first wait. Errors as `decapsulate`. */
export async function setupXWingReceiver(
  enc: Uint8Array,
  seed: Uint8Array,
  info: Uint8Array,
  aead: HpkeAead = EXPORT_ONLY,
): Promise<HpkeContext> {
  return scheduleKeys(await decapsulate(seed, enc), info, aead, X_WING_KEM);
}

/** Context.Export (section 5.3), as `exportSecret`. */
export function exportXWing(
  exporterSecret: Uint8Array,
  label: Uint8Array,
  length: number,
  aead: HpkeAead = EXPORT_ONLY,
): Uint8Array {
  return exportSecret(exporterSecret, label, length, aead, X_WING_KEM);
}
