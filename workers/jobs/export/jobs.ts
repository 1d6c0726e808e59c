/** Exports: a file in the age format that is encrypted piece by piece, by whichever thread is free. */
import { bytes, concealed, json, list, local, message, secret, text } from '../codec.ts';
import { defineJob } from '../define.ts';

export const EXPORT_JOBS = {
  /** Makes the head of a file, and the key of its payload. `invalid_request` names an invalid recipient. */
  beginExport: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({ aid: local<string>(), recipients: list(text) }),
    output: message({ head: bytes, key: concealed(bytes) }),
  }),
  /** Seals the next chunks of the payload, from their number on. Only the last piece may end in a partial chunk. */
  sealExport: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({ aid: local<string>(), key: secret, piece: json<ExportPiece>(), text: bytes }),
    output: bytes,
  }),
};

/** The place of a piece of an export. */
export interface ExportPiece {
  /** The number of its first chunk. */
  readonly chunk: number;
  readonly isLast: boolean;
}
