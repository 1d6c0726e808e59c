/** The four bytes that every record begins with: version, type, suite, flags. */
import { IntegrityError } from '../primitives/bytes.ts';

const VERSION = 0x01;
/** AES-256-GCM, HMAC- and HKDF-SHA-256, X25519. 0x02 is kept for the hybrid with ML-KEM-768. */
const SUITE = 0x01;
const FLAGS = 0x00;

export const HEADER_BYTES = 4;

/** Type bytes of the records; `docs/crypto.md` has a table for each. */
export const TYPE = {
  vaultKey: 0x10,
  ownedEnvelope: 0x11,
  sealedEnvelope: 0x12,
  content: 0x13,
  captureWrap: 0x14,
  retrieveWrap: 0x15,
  service: 0x20,
  renewedLog: 0x21,
  warm: 0x30,
} as const;

export type RecordType = (typeof TYPE)[keyof typeof TYPE];

/** Writes the header of a new record at its start. */
export function writeHeader(out: Uint8Array, type: RecordType): void {
  out[0] = VERSION;
  out[1] = type;
  out[2] = SUITE;
  out[3] = FLAGS;
}

/** Refuses, with `IntegrityError` and before any cryptography, a record of another kind or too short. */
export function checkHeader(record: Uint8Array, type: RecordType, bytesMin: number): void {
  const known = record[0] === VERSION && record[1] === type && record[2] === SUITE && record[3] === FLAGS;
  if (!known || record.length < bytesMin) {
    throw new IntegrityError();
  }
}
