/** Exports: a file in the age format that is encrypted piece by piece, by whichever thread is free. */
import { bytes, concealed, json, list, local, message, secret, text } from '../codec.ts';
import { defineJob } from '../define.ts';

/** Jobs of exports. */
export const EXPORT_JOBS = {
  /** What a file begins with, and the key of its payload. `invalid_request` names a recipient that is none. */
  beginExport: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({ aid: local<string>(), recipients: list(text) }),
    output: message({ head: bytes, key: concealed(bytes) }),
  }),
  /** The next chunks of the payload, from their number on; what is not the last piece holds whole chunks. */
  sealExport: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({ aid: local<string>(), key: secret, piece: json<ExportPiece>(), text: bytes }),
    output: bytes,
  }),
};

/** Where a piece of an export stands. */
export interface ExportPiece {
  /** The number of its first chunk. */
  readonly chunk: number;
  readonly isLast: boolean;
}
