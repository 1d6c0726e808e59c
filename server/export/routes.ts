import { objectOf } from '../http/audit.ts';
import { defineRoute } from '../http/route.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import { NO_QUERY } from '../schema/common.ts';
import type { Exports } from './exports.ts';
import { ExportFile, ExportRequest } from './schema.ts';

interface Needs {
  readonly exports: Exports;
}

const BYTES = 'application/octet-stream';

/** Returns the name of the file: that of the key, without characters that some systems forbid or hide. */
function fileNameOf(user: string): string {
  return `${user.replaceAll(':', '_').replace(/^[.-]/, '_')}.age`;
}

const exportItems = defineRoute({
  method: 'POST',
  path: '/v1/vault/export',
  operationId: 'exportItems',
  scope: 'vault:export',
  noun: 'vault',
  summary: 'Export the items of a key',
  description:
    'Streams all items of a key, or those that the filters match, as one file that only the recipients can open, with `age -d`. It holds a JSON line for each item (`token`, `reference`, `stored_at`, `metadata`, `data`) and a last line with `count` and `sha256`, the SHA-256 of all bytes before that line in hex. A file without that line is incomplete: its connection was aborted, and `age` rejects it. Needs an account, or a credential, that sees numbers unmasked. Each item is logged, and counts as a decryption.',
  auth: 'basic',
  query: NO_QUERY,
  passphrase: 'required',
  body: { kind: 'json', schema: ExportRequest, bytesMax: BODY_BYTES.short },
  response: ExportFile,
  file: BYTES,
  errors: ['passphrase_wrong', 'key_not_found', 'key_changed'],
  meter: ['decrypt'],
  idempotent: false,
  audit: { action: 'vault.export', of: 'all', object: ({ body }) => objectOf('key', body.user) },
  handle: async ({ ctx, body, passphrase }, services: Needs) => ({
    stream: await services.exports.exportItems(ctx, { ...body, passphrase }),
    headers: {
      'Content-Type': BYTES,
      'Content-Disposition': `attachment; filename="${fileNameOf(body.user)}"`,
    },
  }),
});

export const EXPORT_ROUTES = [exportItems];
