/** Handlers of the jobs in `jobs.ts`, and how other jobs open a connection. */
import {
  type Connection,
  readConnection,
  showConnection,
} from '../../../server/domain/connection/connection.ts';
import { parseStoredObject } from '../../../server/domain/json/json.ts';
import { equalBytes } from '../../crypto/primitives/bytes.ts';
import { parseOwn, type ThreadContext, type ThreadHandlers, toJsonBytes } from '../context.ts';
import type { CONNECTION_JOBS } from './jobs.ts';

const KIND = 'connection';

/**
 * A connection with its credentials, for jobs of this thread alone; not opened again while it is the same as that of the job
 * before. Throws an `IntegrityError` for damage and another place.
 */
export function openConnection(
  { sealer, openings }: Pick<ThreadContext, 'openings' | 'sealer'>,
  { aid, id }: { readonly aid: string; readonly id: string },
  record: Uint8Array,
): Connection {
  const last = openings.connection;
  if (last?.aid === aid && last.id === id && equalBytes(last.record, record)) {
    return last.opened;
  }
  const opened = parseOwn<Connection>(sealer.open('record', aid, KIND, [id], record));
  openings.connection = { aid, id, record, opened };
  return opened;
}

/** The handlers of `CONNECTION_JOBS`. */
export const CONNECTION_HANDLERS: ThreadHandlers<typeof CONNECTION_JOBS> = {
  sealConnection(context, { params, previous, body }) {
    const { aid, now } = params;
    const old = previous && openConnection(context, { aid, id: params.id ?? '' }, previous);
    const { id, settings } = readConnection(parseStoredObject(body), { ...params, previous: old });
    const createdAt = old?.createdAt ?? now;
    const connection: Connection = { ...settings, createdAt, updatedAt: now };
    return {
      id,
      origin: `${new URL(settings.baseUrl).origin}/`,
      shown: showConnection(id, connection),
      record: context.sealer.seal('record', aid, KIND, [id], toJsonBytes(connection)),
    };
  },

  describeConnections(context, { aid, connections }) {
    return connections.map(({ id, record }) =>
      showConnection(id, openConnection(context, { aid, id }, record)),
    );
  },
};
