import { beginAgeFile, sealChunks } from '../../crypto/record/age-file.ts';
import type { ThreadHandlers } from '../context.ts';
import type { EXPORT_JOBS } from './jobs.ts';

export const EXPORT_HANDLERS: ThreadHandlers<typeof EXPORT_JOBS> = {
  beginExport: (_, { recipients }) => beginAgeFile(recipients),

  sealExport: (_, { key, piece: { chunk, isLast }, text }) => sealChunks(key, chunk, text, isLast),
};
