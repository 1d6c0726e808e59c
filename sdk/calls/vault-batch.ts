/** Many stored items at once: decrypt, delete, and all of a reference. */

import { inBatches } from '../transport/batches.ts';
import type { ApiCall, CallOptions } from '../transport/call.ts';
import { VaultError } from '../transport/errors.ts';
import { neededPassphrase, needText, textOfData } from '../transport/needed.ts';
import { createTrail, fetchPage, readJson } from '../transport/pages.ts';
import type { Transport } from '../transport/transport.ts';
import type {
  BatchDeleted,
  BatchFailure,
  BatchOpened,
  DecryptItems,
  DeleteItems,
  EraseReference,
  Many,
  StoreMany,
  StoreManyItem,
  TokenInfo,
} from '../transport/types.ts';

const path = ['vault'] as const;

/** Bytes of items to store, and of tokens, that one request may have. */
const STORED_MAX = 8_000_000;
const TOKENS_MAX = 520_000;

/** The JSON text of an object, with one more member of this text. */
function withMember(object: object, name: string, text: string): string {
  const head = JSON.stringify(object).slice(0, -1);
  return `${head}${head === '{' ? '' : ','}"${name}":${text}}`;
}

/** An item to store as JSON; its data may be the exact text, which must end where its object does. */
function textOfItem({ data, ...item }: StoreManyItem): string {
  const text = textOfData(data);
  if (text === data) {
    try {
      JSON.parse(text);
    } catch {
      throw new VaultError('data is no JSON text.');
    }
  }
  return withMember(item, 'data', text);
}

/** Sends items in batches, each with what holds for all of them. */
function sendMany<Result extends object, Item = unknown>(
  transport: Transport,
  { items, ...head }: { readonly items: Many<Item> },
  callOf: () => Omit<ApiCall, 'method' | 'body'>,
  textOf: (item: Item) => string = (item) => JSON.stringify(item ?? null),
  bytesMax = TOKENS_MAX,
): AsyncGenerator<Result | BatchFailure, void, undefined> {
  const source = Object(items);
  if (!(Symbol.iterator in source || Symbol.asyncIterator in source)) {
    throw new VaultError('items is missing, or cannot be iterated over.');
  }
  const send = async (texts: readonly string[]) => {
    const call = {
      ...callOf(),
      method: 'POST',
      body: withMember(head, 'items', `[${texts.join()}]`),
    } as const;
    return (await readJson<{ results: (Result | BatchFailure)[] }>(transport, call)).results;
  };
  return inBatches<Item, Result>(items, textOf, send, bytesMax - 3 * JSON.stringify(head).length);
}

/** The calls of many items; `passphrase` is the default of the client. */
export function createBatchCalls(transport: Transport, passphrase: string | undefined) {
  return {
    storeMany: ({ passphrase: own, ...request }: StoreMany, options?: CallOptions) => {
      const opened = neededPassphrase(own, passphrase);
      return sendMany<TokenInfo, StoreManyItem>(
        transport,
        request,
        () => ({ path: [...path, 'batch'], repeat: 'keyed', passphrase: opened, options }),
        textOfItem,
        STORED_MAX,
      );
    },
    decryptMany: ({ passphrase: own, ...request }: DecryptItems, options?: CallOptions) =>
      sendMany<BatchOpened>(transport, request, () => ({
        path: [...path, 'batch', 'decrypt'],
        repeat: 'always',
        passphrase: neededPassphrase(own, passphrase),
        options,
      })),
    deleteMany: (request: DeleteItems, options?: CallOptions) =>
      sendMany<BatchDeleted>(transport, request, () => ({
        path: [...path, 'batch', 'delete'],
        repeat: 'keyed',
        options,
      })),
    eraseReference: async (
      { key, user, reference }: EraseReference,
      options?: CallOptions,
    ): Promise<number> => {
      needText({ key: key ?? user, reference });
      const query = { key, user, reference, all: true };
      const trail = createTrail();
      let deleted = 0;
      let next_token: string | undefined;
      do {
        const page = await fetchPage<{ deleted: number }>(transport, {
          ...{ method: 'DELETE', path, repeat: 'always', options },
          query: { ...query, next_token },
        });
        deleted += page.data.deleted;
        next_token = trail(page.next_token);
      } while (next_token !== undefined);
      return deleted;
    },
  };
}
